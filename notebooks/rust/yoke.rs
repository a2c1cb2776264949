//! A yoke made by hand: a view and the cart that owns its bytes, moved about as one.
mod counting;

use std::mem::{size_of, transmute};
use std::rc::Rc;

// part: yoke
/// `view` shows bytes of `cart`. Its lifetime is written 'static, "as long as the
/// program": a white lie, and so nobody but `get` hands it out.
#[derive(Clone)] // a clone copies the view's two words, and counts one more owner
struct Yoke {
    view: &'static [u8],
    cart: Rc<Vec<u8>>, // freed with its last owner, like a Python object
}

// part: attach
impl Yoke {
    /// `choose` gets the cart's bytes and returns a part of them: as it must work for
    /// every lifetime 'a, no other local bytes live long enough.
    fn attach(
        cart: Rc<Vec<u8>>,
        choose: impl for<'a> FnOnce(&'a [u8]) -> &'a [u8],
    ) -> Yoke {
        let view = choose(&cart);
        // SAFETY: the Rc lies beside the view and keeps the bytes; moving it moves no
        // byte of the Vec; and no function here hands the Vec out for writing.
        let view = unsafe { transmute::<&[u8], &'static [u8]>(view) };
        Yoke { view, cart }
    }

    /// The view, lent for as long as the yoke is: here the lie ends.
    fn get<'a>(&'a self) -> &'a [u8] {
        self.view
    }
}

// part: move
/// Takes the yoke (it is no longer the caller's) and gives it back.
fn through(yoke: Yoke) -> Yoke {
    yoke
}

fn moves() {
    let yoke = Yoke::attach(Rc::new(vec![7; 1000]), |bytes| &bytes[100..200]);
    println!("move\tyoke before\t{:p}", &yoke);
    println!("move\tview before\t{:p}", yoke.get().as_ptr());
    let boxed = Box::new(yoke); // onto the heap; the name `yoke` is used up
    println!("move\tyoke in a Box\t{:p}", boxed);
    println!("move\tview in a Box\t{:p}", boxed.get().as_ptr());
    let mut shelf = vec![*boxed];
    println!("move\tyoke in a Vec\t{:p}", &shelf[0]);
    println!("move\tview in a Vec\t{:p}", shelf[0].get().as_ptr());
    let yoke = through(shelf.remove(0));
    println!("move\tview through a function\t{:p}", yoke.get().as_ptr());
    assert!(yoke.get() == [7; 100], "the bytes changed on the way");
}

// part: drop
fn drops() {
    let before = counting::live();
    let first = Yoke::attach(Rc::new(vec![7; 1 << 20]), |bytes| &bytes[100..200]);
    println!("drop\tone yoke\t{}", counting::live() - before);
    println!("Rc count\tone yoke\t{}", Rc::strong_count(&first.cart));
    let last = first.clone();
    println!("drop\tand its clone\t{}", counting::live() - before);
    println!("Rc count\tand its clone\t{}", Rc::strong_count(&last.cart));
    drop(first); // `del first`, but for certain and now
    println!("drop\tfirst dropped\t{}", counting::live() - before);
    println!("Rc count\tfirst dropped\t{}", Rc::strong_count(&last.cart));
    drop(last);
    println!("drop\tlast dropped\t{}", counting::live() - before);
}

// part: main
fn main() {
    println!("size_of\t&[u8]\t{}", size_of::<&[u8]>());
    println!("size_of\tRc<Vec<u8>>\t{}", size_of::<Rc<Vec<u8>>>());
    println!("size_of\tYoke\t{}", size_of::<Yoke>());
    moves();
    drops();
}
// end
