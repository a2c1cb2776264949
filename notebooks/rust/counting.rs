//! A heap that keeps count: it passes every request on to the system's allocator, and
//! writes down how many bytes are in use. `mod counting;` in a program is all it takes.
#![allow(dead_code)] // no program asks for every count

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0); // bytes in use now
static PEAK: AtomicUsize = AtomicUsize::new(0); // the most there were at one moment
static TOTAL: AtomicUsize = AtomicUsize::new(0); // all that were ever asked for
static TIMES: AtomicUsize = AtomicUsize::new(0); // how often

// part: counting
struct Counting;

fn count(size: usize) {
    TOTAL.fetch_add(size, Relaxed);
    TIMES.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(live, Relaxed);
}

#[global_allocator] // every Box, Vec and String of the program asks this one
static HEAP: Counting = Counting;

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        System.alloc(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        System.alloc_zeroed(layout)
    }

    /// Grown where it is, or moved by the system: never counted old and new at once.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        count(size);
        System.realloc(at, layout, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        System.dealloc(at, layout)
    }
}
// end

/// Bytes in use now.
pub fn live() -> usize {
    LIVE.load(Relaxed)
}

/// What one function took from the heap: bytes at its peak, bytes in all, requests.
pub struct Taken {
    pub peak: usize,
    pub total: usize,
    pub times: usize,
}

/// Calls `work` and counts; what was in use before does not count.
pub fn during<T>(work: impl FnOnce() -> T) -> (T, Taken) {
    let (live, total, times) = (live(), TOTAL.load(Relaxed), TIMES.load(Relaxed));
    PEAK.store(live, Relaxed);
    let result = work();
    let taken = Taken {
        peak: PEAK.load(Relaxed) - live,
        total: TOTAL.load(Relaxed) - total,
        times: TIMES.load(Relaxed) - times,
    };
    (result, taken)
}
