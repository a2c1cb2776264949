//! The naive yoke. It does NOT compile, and that is its use: read why.

// part: naive
struct Naive<'a> {
    view: &'a [u8], // lives as long as the bytes it shows, 'a
    cart: Vec<u8>,  // … which lie in the same struct: how long is 'a?
}

fn attach<'a>(cart: Vec<u8>) -> Naive<'a> {
    let view = &cart[100..200];
    Naive { view, cart } // moves the owner away while its bytes are lent
}
// end

fn main() {
    let naive = attach(vec![7; 1000]);
    println!("{} of {}", naive.view.len(), naive.cart.len());
}
