//! One call, decided by the compiler or while the program runs: what lies in memory,
//! and what it costs.
use std::mem::{forget, size_of, transmute};
use std::{ptr, slice, time::Instant};

// part: trait
/// A trait says what a type can do, as typing.Protocol does.
trait Backend {
    fn infer(&self, x: f64) -> f64;
}

struct Scale { factor: f64 }
struct Affine { factor: f64, offset: f64 }
struct Square;

impl Backend for Scale {
    fn infer(&self, x: f64) -> f64 {
        self.factor * x
    }
}
impl Backend for Affine {
    fn infer(&self, x: f64) -> f64 {
        self.factor * x + self.offset
    }
}
impl Backend for Square {
    fn infer(&self, x: f64) -> f64 {
        x * x
    }
}

// part: not inlined
#[inline(never)] // the compiler may not put its code where the call stands
fn far(scale: &Scale, x: f64) -> f64 {
    scale.infer(x)
}

// part: enum
/// One of three, known at compile time: as large as the largest, and a tag. No table,
/// no pointer; but the processor has to guess where `match` will go.
enum Any {
    Scale(Scale),
    Affine(Affine),
    Square(Square),
}
impl Backend for Any {
    fn infer(&self, x: f64) -> f64 {
        match self {
            Any::Scale(one) => one.infer(x),
            Any::Affine(one) => one.infer(x),
            Any::Square(one) => one.infer(x),
        }
    }
}

// part: vtable
/// A `&dyn Backend` is two words: the value's address, and the address of a table
/// for the value's type and this trait. The order of the table's words is today's
/// compiler's; the language promises none. (drop is 0 where there is nothing to do;
/// older compilers put an empty function there.)
fn vtable(section: &str, backend: &dyn Backend) {
    // SAFETY: two words (the compiler checks it), and any word is a valid address.
    let [_value, table]: [*const usize; 2] = unsafe { transmute(backend) };
    // SAFETY: one trait with one method, so the table has these four words.
    let words = unsafe { slice::from_raw_parts(table, 4) };
    println!("{section}\tdrop\t{:#x}", words[0]);
    println!("{section}\tsize\t{}", words[1]);
    println!("{section}\talign\t{}", words[2]);
    println!("{section}\tinfer\t{:#x}", words[3]);
}

// part: function pointer
/// A function that is known only while the program runs, and no table.
type Infer = fn(&Scale, f64) -> f64;

// part: by hand
/// `backend.infer(x)` as the compiler makes it: call what stands in the fourth word.
fn by_hand(backend: &dyn Backend, x: f64) -> f64 {
    type Code = fn(*const usize, f64) -> f64; // it takes the value's address, and x
    // SAFETY: two words, as above; the second points at four, and the last is infer.
    let [value, table]: [*const usize; 2] = unsafe { transmute(backend) };
    let infer = unsafe { *table.add(3).cast::<Code>() };
    infer(value, x)
}

// part: ns
const N: usize = 60_000; // more turns than a processor can learn by heart
const ROUNDS: usize = 15;

/// Nanoseconds a call, when each of `backends` is called once: the best round's.
fn ns<T>(name: &str, backends: Vec<T>, call: impl Fn(&T, f64) -> f64) {
    let (backends, mut results) = (hidden(backends), vec![0.0; N]);
    let mut least = f64::INFINITY;
    for round in 0..ROUNDS {
        let (x, start) = (hidden(round as f64), Instant::now());
        for (result, backend) in results.iter_mut().zip(&backends) {
            *result = call(backend, x);
        }
        least = least.min(start.elapsed().as_secs_f64());
        results = hidden(results);
    }
    println!("ns per call\t{name}\t{:.3}", least / N as f64 * 1e9);
}

/// The value back, but the compiler no longer knows that it is the same, so it can
/// compute nothing beforehand (from 1.66 on this is std::hint::black_box).
fn hidden<T>(value: T) -> T {
    // SAFETY: one copy is returned and the other forgotten, so one owner is left.
    let same = unsafe { ptr::read_volatile(&value) };
    forget(value);
    same
}

// part: main
fn main() {
    let scale = Scale { factor: 3.0 };
    let affine = Affine { factor: 3.0, offset: 1.0 };
    println!("size_of\t&Scale\t{}", size_of::<&Scale>());
    println!("size_of\t&dyn Backend\t{}", size_of::<&dyn Backend>());
    println!("size_of\tBox<dyn Backend>\t{}", size_of::<Box<dyn Backend>>());
    println!("size_of\tScale\t{}", size_of::<Scale>());
    println!("size_of\tAffine\t{}", size_of::<Affine>());
    vtable("vtable of Scale", &scale);
    vtable("vtable of Affine", &affine);
    let hidden_scale: &dyn Backend = hidden(&scale);
    let hidden_affine: &dyn Backend = hidden(&affine);
    println!("infer(10)\tScale\t{}", scale.infer(10.0));
    println!("infer(10)\tScale, by hand\t{}", by_hand(hidden_scale, 10.0));
    println!("infer(10)\tAffine\t{}", affine.infer(10.0));
    println!("infer(10)\tAffine, by hand\t{}", by_hand(hidden_affine, 10.0));

    let sorted: Vec<usize> = (0..N).map(|i| i * 3 / N).collect();
    // Shuffled before the values are made, so that these lie one after another:
    // what differs from `sorted` is the order of the types and nothing else.
    let shuffled = shuffle(sorted.clone());
    let scales = || (0..N).map(|_| Scale { factor: 3.0 }).collect::<Vec<_>>();
    let boxes = |order: &[usize]| order.iter().map(boxed).collect::<Vec<_>>();
    let enums = |order: &[usize]| order.iter().map(any).collect::<Vec<_>>();
    let through_box = |one: &Box<dyn Backend>, x: f64| one.infer(x);

    ns("static (inlined)", scales(), Scale::infer);
    ns("static (not inlined)", scales(), far);
    let lent = scales();
    let pairs = lent.iter().map(|one| (one, Scale::infer as Infer)).collect();
    ns("function pointer", pairs, |(one, infer), x| infer(one, x));
    let lent = lent.iter().map(|one| one as &dyn Backend).collect();
    ns("&dyn", lent, |one, x| one.infer(x));
    ns("Box<dyn> (one type)", boxes(&[0; N]), through_box);
    ns("Box<dyn> (sorted)", boxes(&sorted), through_box);
    ns("Box<dyn> (shuffled)", boxes(&shuffled), through_box);
    ns("enum (sorted)", enums(&sorted), Any::infer);
    ns("enum (shuffled)", enums(&shuffled), Any::infer);
}
// end

fn boxed(kind: &usize) -> Box<dyn Backend> {
    match any(kind) {
        Any::Scale(one) => Box::new(one),
        Any::Affine(one) => Box::new(one),
        Any::Square(one) => Box::new(one),
    }
}

fn any(kind: &usize) -> Any {
    match kind {
        0 => Any::Scale(Scale { factor: 3.0 }),
        1 => Any::Affine(Affine { factor: 3.0, offset: 1.0 }),
        _ => Any::Square(Square),
    }
}

/// Fisher and Yates's shuffle, with xorshift for chance.
fn shuffle(mut order: Vec<usize>) -> Vec<usize> {
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    for i in (1..order.len()).rev() {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        order.swap(i, (word % (i as u64 + 1)) as usize);
    }
    order
}
