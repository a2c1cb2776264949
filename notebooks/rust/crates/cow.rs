//! What `to_mut` does, step by step; a misprint that shows a number as an address.
use std::backtrace::Backtrace;
use std::borrow::Cow;
use std::hint::black_box;
use std::process::ExitCode;
use std::{env, ptr, sync::Mutex};

use zero_copy::{counting, ended};

// part: abs_all
/// Makes all numbers positive, and copies them only if one is not.
fn abs_all(numbers: &mut Cow<[i32]>) {
    for i in 0..numbers.len() {
        if numbers[i] < 0 {
            numbers.to_mut()[i] = -numbers[i]; // copies at the first one only
        }
    }
}

// part: tests
/// Where the second number lies, before and after. Nothing to change: the same place.
fn not_copied() -> [*const i32; 2] {
    let numbers = [0, 1, 2];
    let mut cow = Cow::from(&numbers[..]);
    let before = &cow[1] as *const i32;
    abs_all(&mut cow);
    [before, &cow[1] as *const i32]
}

/// One to change, and another place.
fn copied() -> [*const i32; 2] {
    let numbers = [1, -1, 0];
    let mut cow = Cow::from(&numbers[..]);
    let before = &cow[1] as *const i32;
    abs_all(&mut cow);
    assert!(numbers == [1, -1, 0], "the lender's numbers were changed");
    [before, &cow[1] as *const i32]
}

// part: misprint
/// As it was printed: `*&slice[1]` is the number itself, and THAT is cast. So the two
/// "addresses" of a test are equal or not as the numbers are, wherever these lie.
#[allow(clippy::deref_addrof)] // clippy, cargo's critic, would notice
fn misprinted(slice: &[i32]) -> *const i32 {
    *&slice[1] as *const i32
}

/// As it was meant.
fn meant(slice: &[i32]) -> *const i32 {
    &slice[1] as *const i32
}

/// Copied, and nothing changed: the misprint says "the same place" of two places.
fn misled() {
    let numbers = [3, 7, 5];
    let copy = numbers.to_vec();
    type Place = fn(&[i32]) -> *const i32;
    for (name, place) in [("misprinted", misprinted as Place), ("meant", meant)] {
        let (lent, copied) = (place(&numbers), place(&copy));
        println!("{name}\tlent\t{lent:p}");
        println!("{name}\tcopied\t{copied:p}");
        println!("{name}\tsays the same place\t{}", (lent == copied) as u8);
    }
}

// part: chain
/// The four ways in, each leaving the work to the next: what is taken from the heap,
/// and whether the numbers lie somewhere else afterwards.
fn chain(numbers: &[i32]) {
    link("to_mut", numbers, |lent| {
        let mut cow = Cow::Borrowed(lent);
        cow.to_mut();
        cow.into_owned() // it is owned: nothing is copied here
    });
    link("to_mut, then to_vec", numbers, |lent| {
        // Two copies. Without black_box, the compiler leaves one of them out.
        black_box(Cow::Borrowed(lent).to_mut()).to_vec()
    });
    link("to_owned", numbers, <[i32]>::to_owned);
    link("to_vec", numbers, <[i32]>::to_vec);
    link("copy_nonoverlapping", numbers, |lent| {
        let mut vec = Vec::with_capacity(lent.len());
        // SAFETY: there is room for all of them, just made, so it cannot overlap; and
        // they are written before set_len says that they are there.
        unsafe {
            ptr::copy_nonoverlapping(lent.as_ptr(), vec.as_mut_ptr(), lent.len());
            vec.set_len(lent.len());
        }
        vec
    });
}

fn link(name: &str, lent: &[i32], copy: fn(&[i32]) -> Vec<i32>) {
    let (vec, heap) = counting::during(|| copy(lent));
    assert!(vec == lent, "{name}: the copy differs");
    let elsewhere = vec.as_ptr() != lent.as_ptr();
    println!("{name}\tallocations\t{}", heap.times);
    println!("{name}\tallocated\t{}", heap.total);
    println!("{name}\tat another address\t{}", elsewhere as u8);
}

// part: callers
/// A value whose clones are counted, and note their callers. (Numbers are not cloned
/// one by one: for a type that is Copy, the last link is copy_nonoverlapping, memcpy
/// in C.)
struct Watched;
static SEEN: Mutex<Vec<Backtrace>> = Mutex::new(Vec::new());

impl Clone for Watched {
    fn clone(&self) -> Watched {
        SEEN.lock().unwrap().push(Backtrace::force_capture());
        Watched
    }
}

/// How often one value is cloned, and for the last time the names on the call stack,
/// from the clone outwards.
fn callers(section: &str, copy: fn(&[Watched])) {
    copy(&[Watched]);
    let clones: Vec<_> = SEEN.lock().unwrap().drain(..).collect();
    println!("clones\t{section}\t{}", clones.len());
    let seen = clones.last().unwrap().to_string();
    let frames = seen.lines().filter(|line| line.contains(": ")); // "4: to_owned<…>"
    let known = ["clone", "to_vec_in", "to_vec", "to_owned", "to_mut"];
    let name_of = |frame: &str| known.into_iter().find(|name| frame.contains(name));
    let mut names: Vec<_> = frames.filter_map(name_of).collect();
    names.dedup();
    for (depth, name) in names.into_iter().enumerate() {
        println!("{section}\t{depth}\t{name}");
    }
}

// part: main
fn all() {
    let tests = [("not copied", not_copied()), ("copied", copied())];
    for (name, [before, after]) in tests {
        println!("{name}\tbefore\t{before:p}");
        println!("{name}\tafter\t{after:p}");
        println!("{name}\tsays the same place\t{}", (before == after) as u8);
    }
    misled();
    chain(&vec![7; 1 << 20]);
    callers("called from", |lent| {
        Cow::Borrowed(lent).to_mut();
    });
    callers("called from, then to_vec", |lent| {
        black_box(Cow::Borrowed(lent).to_mut()).to_vec();
    });
    callers("called from an iterator", |lent| {
        lent.iter().cloned().for_each(drop);
    });
}
// end

fn main() -> ExitCode {
    if env::args().len() > 2 {
        return ended(Err("usage: cow [FOLDER] (where it puts nothing)".into()));
    }
    all();
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_negative_is_not_copied() {
        let [before, after] = super::not_copied();
        assert_eq!(before, after);
    }

    #[test]
    fn a_negative_number_is_copied() {
        let [before, after] = super::copied();
        assert_ne!(before, after);
    }
}
