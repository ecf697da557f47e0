//! Measures time and memory, and makes keys.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with a count of malloc's bytes: the block and its header.
pub(crate) struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Counts without a locked instruction, of which two would take longer than a small block from malloc: one thread
/// allocates while anything is measured.
fn add(bytes: usize) {
    BYTES.store(BYTES.load(Relaxed).wrapping_add(bytes), Relaxed);
}

fn real(pointer: *mut u8) -> usize {
    // SAFETY: the pointer has just come from malloc, or is about to go back.
    unsafe { libc::malloc_usable_size(pointer.cast()) + 8 }
}

// SAFETY: every call is passed to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            add(real(pointer));
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if !pointer.is_null() {
            add(real(pointer));
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(real(pointer).wrapping_neg());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let before = real(pointer);
        // SAFETY: as the caller promises.
        let new = unsafe { System.realloc(pointer, layout, size) };
        if !new.is_null() {
            add(real(new).wrapping_sub(before));
        }
        new
    }
}

/// Returns the number of bytes in malloc's blocks, their headers included.
pub(crate) fn bytes() -> usize {
    BYTES.load(Relaxed)
}

/// Returns the nanoseconds of processor time that this thread has used.
pub(crate) fn cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes to the place that is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns a key of the seed's kind: two IPv6-mapped addresses, ports, protocol. `number` below 2^32 makes it unique;
/// the rest is as uniform as in a network.
pub(crate) fn key(number: u64) -> [u8; 38] {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 38];
    key[10..12].copy_from_slice(&[0xff; 2]);
    key[12] = 10;
    key[13..16].copy_from_slice(&(number as u32 >> 8).to_be_bytes()[1..]);
    key[26..28].copy_from_slice(&[0xff; 2]);
    key[28..32].copy_from_slice(&[192, 168, (mixed >> 32) as u8, number as u8]);
    key[32..34].copy_from_slice(&((mixed >> 40) as u16 | 1024).to_be_bytes());
    key[34..36].copy_from_slice(&443_u16.to_be_bytes());
    key[36] = 6;
    key
}

/// A generator of numbers in an order that no cache predicts.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}
