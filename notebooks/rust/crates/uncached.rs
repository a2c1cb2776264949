//! A cache of parsed files without a yoke. It does NOT compile: read why.
use std::collections::HashMap;
use std::fs::File;

use memmap2::Mmap;

// part: uncached
/// A view of the bytes of a mapping, which has to live as long, 'a.
struct Document<'a> {
    title: &'a [u8],
}

fn open<'a>(cache: &mut HashMap<String, Document<'a>>, path: &str) {
    let mapping = unsafe { Mmap::map(&File::open(path).unwrap()).unwrap() };
    cache.insert(path.into(), Document { title: &mapping[..4] });
} // here the mapping ends, and the cache goes on
// end

fn main() {
    let mut cache = HashMap::new();
    open(&mut cache, "document");
    println!("{:?}", cache["document"].title);
}
