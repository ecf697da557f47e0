//! Whether the processor has wider vectors than every x86-64.
//!
//! A usual build for x86-64 knows vectors of 16 octets only, and compares keys of more than 32 octets by a call. Where
//! the processor has AVX2 and BMI, an entry of a segment is found by a function that is compiled for them, and compares
//! up to 64 octets of a key in place. Blocks are searched without: there the call of the function costs more than it
//! saves.

use core::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Returns whether the processor has AVX2, BMI1 and BMI2.
#[inline(always)]
pub(crate) fn is_wide() -> bool {
    STATE.load(Ordering::Relaxed) == YES || look()
}

#[cold]
#[inline(never)]
fn look() -> bool {
    if STATE.load(Ordering::Relaxed) == NO {
        return false;
    }
    let is_wide = std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2");
    STATE.store(if is_wide { YES } else { NO }, Ordering::Relaxed);
    is_wide
}
