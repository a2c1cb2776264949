//! A heap that keeps count: it passes every request on to the system's allocator, and
//! writes down how many bytes are in use. `mod counting;` in a program is all it takes.
#![allow(dead_code)] // no program asks for every count

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0); // bytes in use now
static PEAK: AtomicUsize = AtomicUsize::new(0); // the most there were at one moment
static TOTAL: AtomicUsize = AtomicUsize::new(0); // all that were ever asked for
static TIMES: AtomicUsize = AtomicUsize::new(0); // how often
static GROWN: AtomicUsize = AtomicUsize::new(0); // how often by realloc
static MOVED: AtomicUsize = AtomicUsize::new(0); // … which answered with another address
static BOTH: AtomicUsize = AtomicUsize::new(0); // PEAK, if realloc held old and new at once

// part: counting
fn count(size: usize) {
    TOTAL.fetch_add(size, Relaxed);
    TIMES.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(live, Relaxed);
    BOTH.fetch_max(live, Relaxed);
}

/// For `realloc`: the old block goes before the new one comes, never both at once.
fn recount(old: usize, new: usize) {
    BOTH.fetch_max(live() + new, Relaxed);
    GROWN.fetch_add(1, Relaxed);
    LIVE.fetch_sub(old, Relaxed);
    count(new);
}

// part: allocator
struct Counting;

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

    /// The system grows the block where it is, or moves it.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        recount(layout.size(), size);
        let now = System.realloc(at, layout, size);
        MOVED.fetch_add((now != at) as usize, Relaxed);
        now
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

/// What one function took from the heap: bytes at its peak, bytes in all, requests; how
/// many of those made a block larger or smaller, and moved it; and the peak of a heap
/// that never grows in place. `before` was in use before, and is not counted.
pub struct Taken {
    pub before: usize,
    pub peak: usize,
    pub total: usize,
    pub times: usize,
    pub grown: usize,
    pub moved: usize,
    pub both: usize,
}

/// Calls `work` and counts.
pub fn during<T>(work: impl FnOnce() -> T) -> (T, Taken) {
    let before = live();
    let counts = || [&TOTAL, &TIMES, &GROWN, &MOVED].map(|count| count.load(Relaxed));
    let [total, times, grown, moved] = counts();
    PEAK.store(before, Relaxed);
    BOTH.store(before, Relaxed);
    let result = work();
    let now = counts();
    let taken = Taken {
        before,
        peak: PEAK.load(Relaxed) - before,
        total: now[0] - total,
        times: now[1] - times,
        grown: now[2] - grown,
        moved: now[3] - moved,
        both: BOTH.load(Relaxed) - before,
    };
    (result, taken)
}
