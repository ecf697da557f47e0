//! How does stock zlib compress?
//!
//! Raw deflate and inflate with every parameter of `deflateInit2`, each message flushed as in RFC 7692, section 7.2.1,
//! and the bytes that zlib allocates counted by its own hooks. Tests and benchmarks of `weir-ws` compare with this.
//! `weir ws` depends on it as well: the CPU times of settings, strategies and other codecs are measured with it.
//! `weir-ws` itself does not: its sizes are computed without zlib.
//!
//! ```
//! let mut deflate = weir_zlib::Deflate::new(6, 15, 8, 0).expect("these are zlib's defaults");
//! let mut out = Vec::new();
//! deflate.message(b"Hello", &mut out);
//! assert_eq!(out, [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]);
//! ```
//!
//! The feature `zlib-ng` adds a deflater of zlib-ng, which is built with CMake.
//!
//! It deliberately has no code for WebSocket frames or negotiation.

#[cfg(feature = "zlib-ng")]
mod next_generation;

#[cfg(feature = "zlib-ng")]
pub use next_generation::NextGeneration;

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use libz_sys as z;

/// zlib's version, such as `1.3.1`.
#[must_use]
pub fn version() -> String {
    // SAFETY: zlib gives a pointer to a constant string that ends with a zero.
    unsafe { CStr::from_ptr(z::zlibVersion()) }
        .to_string_lossy()
        .into_owned()
}

/// Bytes and calls of one stream's allocations, as zlib requested them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// Bytes that are allocated now.
    pub bytes: usize,
    /// Allocations since the stream began.
    pub calls: usize,
}

const HEADER: usize = 16;

/// zlib's allocation hook: counts into the [`Allocated`] that `opaque` points to.
///
/// # Safety
/// `opaque` points to an [`Allocated`] that no one else uses during the call.
unsafe extern "C" fn allocate(opaque: *mut c_void, items: c_uint, size: c_uint) -> *mut c_void {
    let Some(bytes) = (items as usize).checked_mul(size as usize) else {
        return ptr::null_mut();
    };
    let Ok(layout) = Layout::from_size_align(bytes + HEADER, HEADER) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout is not empty, since HEADER is not.
    let base = unsafe { alloc(layout) };
    if base.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the allocation begins with HEADER bytes for its length, aligned to HEADER.
    unsafe { base.cast::<usize>().write(bytes) };
    // SAFETY: as the caller promises.
    let count = unsafe { &mut *opaque.cast::<Allocated>() };
    count.bytes += bytes;
    count.calls += 1;
    // SAFETY: HEADER bytes lie before what zlib may use.
    unsafe { base.add(HEADER) }.cast()
}

/// zlib's hook to give memory back.
///
/// # Safety
/// `opaque` as for [`allocate`]; `address` came from it and was not freed.
unsafe extern "C" fn free(opaque: *mut c_void, address: *mut c_void) {
    // SAFETY: the allocation began HEADER bytes before.
    let base = unsafe { address.cast::<u8>().sub(HEADER) };
    // SAFETY: its length was written there.
    let bytes = unsafe { base.cast::<usize>().read() };
    // SAFETY: as the caller promises.
    unsafe { (*opaque.cast::<Allocated>()).bytes -= bytes };
    if let Ok(layout) = Layout::from_size_align(bytes + HEADER, HEADER) {
        // SAFETY: allocated with this very layout.
        unsafe { dealloc(base, layout) };
    }
}

/// A stream on the heap: zlib keeps a pointer to it, so it must not move.
struct ZStream {
    stream: Box<z::z_stream>,
    allocated: *mut Allocated,
}

impl ZStream {
    fn new() -> Self {
        let allocated = Box::into_raw(Box::new(Allocated::default()));
        let mut stream = Box::new(MaybeUninit::<z::z_stream>::zeroed());
        let raw = stream.as_mut_ptr();
        // SAFETY: the fields are written through a raw pointer into the allocation; the two
        // functions are all that zero would not be allowed for.
        let stream = unsafe {
            (&raw mut (*raw).zalloc).write(allocate);
            (&raw mut (*raw).zfree).write(free);
            (&raw mut (*raw).opaque).write(allocated.cast());
            Box::from_raw(Box::into_raw(stream).cast::<z::z_stream>())
        };
        Self { stream, allocated }
    }

    fn allocated(&self) -> Allocated {
        // SAFETY: valid until this is dropped, and zlib writes to it only during its calls.
        unsafe { *self.allocated }
    }
}

impl Drop for ZStream {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw in `new`; the stream was ended before.
        drop(unsafe { Box::from_raw(self.allocated) });
    }
}

/// A raw deflate stream.
pub struct Deflate {
    inner: ZStream,
}

impl Deflate {
    /// Begins a stream; `None` when zlib refuses the parameters (window bits 8, for one).
    ///
    /// `strategy` is zlib's number: 0 default, 1 filtered, 2 Huffman only, 3 RLE, 4 fixed.
    #[must_use]
    pub fn new(level: u8, window_bits: u8, mem_level: u8, strategy: u8) -> Option<Self> {
        let mut inner = ZStream::new();
        // SAFETY: the stream is initialised and will not move.
        let code = unsafe {
            z::deflateInit2_(
                &mut *inner.stream,
                c_int::from(level),
                z::Z_DEFLATED,
                -c_int::from(window_bits),
                c_int::from(mem_level),
                c_int::from(strategy),
                z::zlibVersion(),
                size_of::<z::z_stream>() as c_int,
            )
        };
        (code == z::Z_OK).then_some(Self { inner })
    }

    /// Resets the stream, as without context takeover.
    pub fn reset(&mut self) {
        // SAFETY: a stream that `new` began.
        unsafe { z::deflateReset(&mut *self.inner.stream) };
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
        self.flush(message, out);
        let end = out.len() - 4;
        debug_assert_eq!(out[end..], [0, 0, 0xff, 0xff]);
        out.truncate(end);
    }

    /// Appends what `data` becomes up to a sync flush, with the flush's four bytes.
    ///
    /// # Panics
    /// When `data` is longer than 4 GiB.
    pub fn flush(&mut self, data: &[u8], out: &mut Vec<u8>) {
        let stream = &mut *self.inner.stream;
        stream.next_in = data.as_ptr().cast_mut();
        stream.avail_in = c_uint::try_from(data.len()).expect("a message is shorter than 4 GiB");
        out.reserve(data.len() / 2 + 64);
        loop {
            let room = out.spare_capacity_mut();
            let given = room.len().min(1 << 30);
            stream.next_out = room.as_mut_ptr().cast();
            stream.avail_out = given as c_uint;
            // SAFETY: both buffers are as long as the stream's fields have it; the stream came from deflateInit2.
            let code = unsafe { z::deflate(stream, z::Z_SYNC_FLUSH) };
            let written = given - stream.avail_out as usize;
            // SAFETY: zlib wrote that many bytes into the spare capacity.
            unsafe { out.set_len(out.len() + written) };
            assert!(
                code == z::Z_OK || code == z::Z_BUF_ERROR,
                "zlib says {code}"
            );
            if stream.avail_out > 0 {
                return;
            }
            out.reserve(out.len().max(64));
        }
    }

    /// The memory that zlib has allocated for the stream.
    #[must_use]
    pub fn allocated(&self) -> Allocated {
        self.inner.allocated()
    }
}

impl Drop for Deflate {
    fn drop(&mut self) {
        // SAFETY: a stream that `new` began.
        unsafe { z::deflateEnd(&mut *self.inner.stream) };
    }
}

/// A raw inflate stream.
pub struct Inflate {
    inner: ZStream,
}

impl Inflate {
    /// Begins a stream; `None` when zlib refuses the window.
    #[must_use]
    pub fn new(window_bits: u8) -> Option<Self> {
        let mut inner = ZStream::new();
        // SAFETY: the stream is initialised and will not move.
        let code = unsafe {
            z::inflateInit2_(
                &mut *inner.stream,
                -c_int::from(window_bits),
                z::zlibVersion(),
                size_of::<z::z_stream>() as c_int,
            )
        };
        (code == z::Z_OK).then_some(Self { inner })
    }

    /// Appends what `data` inflates to; false when zlib calls it damaged.
    ///
    /// # Panics
    /// When `data` is longer than 4 GiB.
    pub fn feed(&mut self, data: &[u8], out: &mut Vec<u8>) -> bool {
        let stream = &mut *self.inner.stream;
        stream.next_in = data.as_ptr().cast_mut();
        stream.avail_in = c_uint::try_from(data.len()).expect("a message is shorter than 4 GiB");
        loop {
            out.reserve(data.len() * 3 + 64);
            let room = out.spare_capacity_mut();
            let given = room.len().min(1 << 30);
            stream.next_out = room.as_mut_ptr().cast();
            stream.avail_out = given as c_uint;
            // SAFETY: both buffers are as long as the stream's fields have it; the stream came from inflateInit2.
            let code = unsafe { z::inflate(stream, z::Z_SYNC_FLUSH) };
            let written = given - stream.avail_out as usize;
            // SAFETY: zlib wrote that many bytes into the spare capacity.
            unsafe { out.set_len(out.len() + written) };
            match code {
                z::Z_OK | z::Z_BUF_ERROR if stream.avail_out > 0 => return true,
                z::Z_OK | z::Z_BUF_ERROR => {}
                z::Z_STREAM_END => return true,
                _ => return false,
            }
        }
    }

    /// The memory that zlib has allocated for the stream.
    #[must_use]
    pub fn allocated(&self) -> Allocated {
        self.inner.allocated()
    }
}

impl Drop for Inflate {
    fn drop(&mut self) {
        // SAFETY: a stream that `new` began.
        unsafe { z::inflateEnd(&mut *self.inner.stream) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_is_given_back_and_round_trips() {
        let mut deflate = Deflate::new(9, 11, 4, 0).expect("zlib takes 11/4");
        assert!(
            Deflate::new(6, 8, 8, 0).is_none(),
            "zlib refuses a raw window of 256 bytes"
        );
        let before = deflate.allocated();
        assert!(before.bytes > 8192 && before.calls == 5, "{before:?}");
        let mut wire = Vec::new();
        let mut back = Vec::new();
        let mut inflate = Inflate::new(11).expect("zlib takes 11");
        for message in [&b"one message"[..], b"another message", &[7; 5000]] {
            wire.clear();
            back.clear();
            deflate.message(message, &mut wire);
            wire.extend([0, 0, 0xff, 0xff]);
            assert!(inflate.feed(&wire, &mut back));
            assert_eq!(back, message);
        }
        assert_eq!(
            deflate.allocated(),
            before,
            "deflate allocates only at its start"
        );
    }
}
