//! zlib-ng, the rewrite for today's processors, through its own interface.

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;

use libz_ng_sys as ng;

use crate::{Allocated, allocate, free};

/// A raw deflate stream of zlib-ng.
///
/// ```
/// let mut deflate = weir_zlib::NextGeneration::new(6, 15, 8).expect("these are the defaults");
/// let mut out = Vec::new();
/// deflate.message(b"Hello", &mut out);
/// assert_eq!(out, [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]);
/// ```
pub struct NextGeneration {
    /// The stream is on the heap: zlib-ng keeps a pointer to it, so it must not move.
    stream: Box<ng::z_stream>,
    allocated: *mut Allocated,
}

impl NextGeneration {
    /// Begins a stream; `None` when zlib-ng refuses the parameters.
    #[must_use]
    pub fn new(level: u8, window_bits: u8, mem_level: u8) -> Option<Self> {
        let allocated = Box::into_raw(Box::new(Allocated::default()));
        let mut stream = Box::new(MaybeUninit::<ng::z_stream>::zeroed());
        let raw = stream.as_mut_ptr();
        // SAFETY: the fields are written through a raw pointer into the allocation; the two functions
        // are all that zero would not be allowed for.
        let mut stream = unsafe {
            (&raw mut (*raw).zalloc).write(allocate);
            (&raw mut (*raw).zfree).write(free);
            (&raw mut (*raw).opaque).write(allocated.cast());
            Box::from_raw(Box::into_raw(stream).cast::<ng::z_stream>())
        };
        // SAFETY: the stream is initialised and will not move.
        let code = unsafe {
            ng::zng_deflateInit2(
                &mut *stream,
                c_int::from(level),
                ng::Z_DEFLATED,
                -c_int::from(window_bits),
                c_int::from(mem_level),
                ng::Z_DEFAULT_STRATEGY,
            )
        };
        // The value is dropped after a failure: ending a stream that did not begin has no effect.
        let deflate = Self { stream, allocated };
        (code == ng::Z_OK).then_some(deflate)
    }

    /// The version, such as `2.3.3`.
    #[must_use]
    pub fn version() -> String {
        // SAFETY: zlib-ng gives a pointer to a constant string that ends with a zero.
        unsafe { CStr::from_ptr(ng::zlibVersion()) }
            .to_string_lossy()
            .into_owned()
    }

    /// Resets the stream, as without context takeover.
    pub fn reset(&mut self) {
        // SAFETY: a stream that `new` began.
        unsafe { ng::deflateReset(&mut *self.stream) };
    }

    /// Appends one compressed message to `out`, without its last four bytes. An empty message is
    /// one zero byte and leaves the stream alone (RFC 7692 section 7.2.3.6).
    ///
    /// # Panics
    /// When the message is longer than 4 GiB.
    pub fn message(&mut self, message: &[u8], out: &mut Vec<u8>) {
        if message.is_empty() {
            out.push(0);
            return;
        }
        let stream = &mut *self.stream;
        stream.next_in = message.as_ptr().cast_mut();
        stream.avail_in = u32::try_from(message.len()).expect("a message is shorter than 4 GiB");
        out.reserve(message.len() / 2 + 64);
        loop {
            let room = out.spare_capacity_mut();
            let given = room.len().min(1 << 30);
            stream.next_out = room.as_mut_ptr().cast();
            stream.avail_out = given as u32;
            // SAFETY: both buffers are as long as the stream's fields have it; the stream came from zng_deflateInit2.
            let code = unsafe { ng::deflate(stream, ng::Z_SYNC_FLUSH) };
            let written = given - stream.avail_out as usize;
            // SAFETY: zlib-ng wrote that many bytes into the spare capacity.
            unsafe { out.set_len(out.len() + written) };
            assert!(
                code == ng::Z_OK || code == ng::Z_BUF_ERROR,
                "zlib-ng says {code}"
            );
            if stream.avail_out > 0 {
                break;
            }
            out.reserve(out.len().max(64));
        }
        let end = out.len() - 4;
        debug_assert_eq!(out[end..], [0, 0, 0xff, 0xff]);
        out.truncate(end);
    }

    /// The memory that zlib-ng has allocated for the stream.
    #[must_use]
    pub fn allocated(&self) -> Allocated {
        // SAFETY: valid until this is dropped, and zlib-ng writes to it only during its calls.
        unsafe { *self.allocated }
    }
}

impl Drop for NextGeneration {
    fn drop(&mut self) {
        // SAFETY: a stream that `new` initialised; its state is null where it did not begin.
        unsafe { ng::deflateEnd(&mut *self.stream) };
        // SAFETY: made by Box::into_raw in `new`.
        drop(unsafe { Box::from_raw(self.allocated) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inflate;

    #[test]
    fn zlib_inflates_what_it_writes_and_its_memory_is_counted() {
        assert!(NextGeneration::new(99, 15, 8).is_none());
        assert!(NextGeneration::version().starts_with("2."));
        for (level, window_bits, mem_level) in [(1, 15, 8), (6, 12, 5), (9, 9, 1)] {
            let mut deflate = NextGeneration::new(level, window_bits, mem_level).expect("legal");
            let before = deflate.allocated();
            assert!(before.bytes > 1 << window_bits, "{before:?}");
            let mut inflate = Inflate::new(15).expect("zlib takes 15");
            let message = b"{\"type\":\"message\",\"text\":\"hello\"}";
            let mut sizes = Vec::new();
            for message in [&message[..], message, b"", &[7; 5000]] {
                let (mut wire, mut back) = (Vec::new(), Vec::new());
                deflate.message(message, &mut wire);
                sizes.push(wire.len());
                wire.extend([0, 0, 0xff, 0xff]);
                assert!(inflate.feed(&wire, &mut back));
                assert_eq!(back, message);
            }
            assert!(sizes[1] < sizes[0] / 2, "the window is kept: {sizes:?}");
            assert_eq!(
                deflate.allocated(),
                before,
                "it allocates only at its start"
            );
        }
    }
}
