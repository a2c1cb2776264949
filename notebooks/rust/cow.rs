//! Cow, "clone on write": borrowed until somebody wants to write, then owned.
mod counting;

use std::borrow::Cow;
use std::mem::size_of;

// part: abs_all
/// Makes all numbers positive, and copies them only if one is not.
fn abs_all(numbers: &mut Cow<[i32]>) {
    if numbers.iter().any(|n| *n < 0) {
        for n in numbers.to_mut() {
            *n = n.abs(); // *n: the number that n points to
        }
    }
}

// part: address
/// Where the second number lies.
fn address(numbers: &[i32]) -> *const i32 {
    &numbers[1] as *const i32
}

// part: show
/// Lends `numbers` to a Cow, lets `change` have it, prints what became of both.
fn show(section: &str, numbers: &[i32], change: fn(&mut Cow<[i32]>)) {
    let before = numbers.to_vec();
    let mut cow = Cow::Borrowed(numbers);
    println!("{section}\taddress before\t{:p}", address(&cow));
    let ((), heap) = counting::during(|| change(&mut cow));
    println!("{section}\taddress after\t{:p}", address(&cow));
    let is = match cow {
        Cow::Borrowed(_) => "Borrowed",
        Cow::Owned(_) => "Owned",
    };
    println!("{section}\tis\t{is}");
    println!("{section}\tallocated\t{}", heap.total);
    assert!(numbers == before, "the source was changed");
}

// part: to_mut
/// Asks for a value that may be written, and writes nothing: copied all the same.
fn nothing_written(numbers: &mut Cow<[i32]>) {
    numbers.to_mut();
}

// part: words
/// The 8-byte words that a Cow<str> itself consists of; its text lies elsewhere.
fn words(section: &str, cow: &Cow<str>) {
    let count = size_of::<Cow<str>>() / 8; // 3 today, 4 in older compilers
    let first = cow as *const Cow<str> as *const usize;
    for i in 0..count {
        // SAFETY: i < count, so the word lies within the Cow. But of 4 words, a
        // borrowed Cow leaves one unset, and reading that isn't allowed: it works
        // only by chance, with the recorded compilers. (Of 3 words, all are set.)
        let word = unsafe { first.add(i).read_volatile() };
        println!("{section}\tword {i}\t{word:#x}");
    }
    println!("{section}\ttext at\t{:p}", cow.as_ptr());
}

// part: main
fn main() {
    println!("size_of\t&str\t{}", size_of::<&str>());
    println!("size_of\tString\t{}", size_of::<String>());
    println!("size_of\tCow<str>\t{}", size_of::<Cow<str>>());
    println!("size_of\tCow<[i32]>\t{}", size_of::<Cow<[i32]>>());
    println!("size_of\tOption<Cow<str>>\t{}", size_of::<Option<Cow<str>>>());

    show("abs_all, no negative", &[3, 1, 4, 1, 5], abs_all);
    show("abs_all, one negative", &[3, 1, -4, 1, 5], abs_all);
    show("to_mut, nothing written", &[3, 1, 4, 1, 5], nothing_written);

    let mut roomy = String::with_capacity(16); // so that length and capacity differ
    roomy.push_str("beef");
    words("words: borrowed beef", &Cow::Borrowed("beef"));
    words("words: owned beef", &Cow::Owned(roomy));
    words("words: owned, empty", &Cow::Owned(String::new()));
}
// end
