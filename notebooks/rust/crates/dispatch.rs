//! A table for each type and trait; and how long the code of a generic function is
//! for 1, 4 and 16 types, beside one function that takes a trait object.
use std::hint::black_box;
use std::mem::{size_of, transmute_copy};
use std::{env, process::ExitCode};

use zero_copy::{elf, ended};

// part: traits
trait Backend {
    fn infer(&self, x: f64) -> f64;
}
trait Describe {
    fn weights(&self) -> usize;
    fn name(&self) -> String;
}

/// A type for each N, with code of its own: the compiler makes Power<1>, Power<2>, …
struct Power<const N: i32>;

impl<const N: i32> Backend for Power<N> {
    fn infer(&self, x: f64) -> f64 {
        x.powi(N) + N as f64
    }
}
impl<const N: i32> Describe for Power<N> {
    fn weights(&self) -> usize {
        N as usize
    }
    fn name(&self) -> String {
        format!("power {N}")
    }
}

// part: tables
/// The second word of a fat pointer: where its table lies.
fn table_of<T: ?Sized>(object: &T) -> *const usize {
    assert_eq!(size_of::<&T>(), size_of::<[*const usize; 2]>());
    // SAFETY: it is two words, as was just checked.
    let [_value, table]: [*const usize; 2] = unsafe { transmute_copy(&object) };
    table
}

fn tables() {
    let (one, again, two) = (Power::<1>, Power::<1>, Power::<2>);
    let (backend, describe) = (table_of::<dyn Backend>, table_of::<dyn Describe>);
    println!("table of\tPower<1> as Backend\t{:p}", backend(&one));
    println!("table of\tanother Power<1> as Backend\t{:p}", backend(&again));
    println!("table of\tPower<2> as Backend\t{:p}", backend(&two));
    println!("table of\tPower<1> as Describe\t{:p}", describe(&one));
    println!("table of\tPower<2> as Describe\t{:p}", describe(&two));
    for object in [&one as &dyn Describe, &two] {
        assert_eq!(object.name(), format!("power {}", object.weights()));
    }
}

// part: functions
/// The first three are compiled for each type that they are called with, the last is
/// compiled once. (Each of the three adds a number of its own, or the compiler would
/// see that two are the same, and keep one of them.)
#[inline(never)]
fn generic_over_1<B: Backend>(backend: &B, numbers: &[f64]) -> f64 {
    sum_of_squares(backend, numbers) + 1.0
}
#[inline(never)]
fn generic_over_4<B: Backend>(backend: &B, numbers: &[f64]) -> f64 {
    sum_of_squares(backend, numbers) + 4.0
}
#[inline(never)]
fn generic_over_16<B: Backend>(backend: &B, numbers: &[f64]) -> f64 {
    sum_of_squares(backend, numbers) + 16.0
}
#[inline(never)]
fn through_dyn(backend: &dyn Backend, numbers: &[f64]) -> f64 {
    sum_of_squares(backend, numbers) + 16.0
}

#[inline(always)] // its code is part of each of the four
fn sum_of_squares<B: Backend + ?Sized>(backend: &B, numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| backend.infer(*x)).map(|y| y * y).sum()
}

// part: code
macro_rules! each {
    ($function:ident, $numbers:expr, $($n:literal)*) => {
        [$($function(&Power::<$n>, $numbers)),*].iter().sum::<f64>()
    };
}

fn code() {
    let numbers: Vec<f64> = black_box((0..100).map(|i| i as f64 / 100.0).collect());
    black_box(each!(generic_over_1, &numbers, 1));
    let some = each!(generic_over_4, &numbers, 1 2 3 4);
    let all =
        each!(generic_over_16, &numbers, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    let same = each!(through_dyn, &numbers, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    assert!(all == same && black_box(some) < all, "static and dynamic disagree");
    let four = ["generic_over_1", "generic_over_4", "generic_over_16", "through_dyn"];
    for name in four {
        let part = format!("{}{name}", name.len()); // as it stands in a symbol's name
        if let Some((bytes, copies)) = elf::functions(&part) {
            println!("{name}\tcopies\t{copies}");
            println!("{name}\tcode\t{bytes}");
        }
    }
}

// part: main
fn all() {
    tables();
    code();
}
// end

fn main() -> ExitCode {
    if env::args().len() > 2 {
        return ended(Err("usage: dispatch [FOLDER] (where it puts nothing)".into()));
    }
    all();
    ExitCode::SUCCESS
}
