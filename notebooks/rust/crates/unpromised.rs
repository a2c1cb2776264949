//! A yoke over a mapping that promised nothing. It does NOT compile: read why.
use memmap2::Mmap;
use yoke::Yoke;

// part: unpromised
fn attach(mapping: Mmap) -> Yoke<&'static [u8], Mmap> {
    Yoke::attach_to_cart(mapping, |bytes| &bytes[..4])
}
// end

fn main() {
    let _ = attach;
}
