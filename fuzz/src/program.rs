//! Programs of questions: any that bytes make, over any window, interpreted and compiled.

use weir_compile::arbitrary_program;

use crate::bits::Bits;

/// The first bytes say how long the program is and how many records a run does; behind the program comes the
/// window.
pub fn run(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let (len, records) = (usize::from(bits.u8()) * 2, u64::from(bits.u8()) + 1);
    let rest = bits.0;
    let (program, window) = rest.split_at(len.min(rest.len()));
    let Ok(program) = arbitrary_program::from_bytes(program) else {
        return;
    };
    if let Err(difference) = arbitrary_program::compare(program, window, records) {
        panic!("{difference}");
    }
}
