//! A view and the owner of its bytes as one, by the yoke crate: of bytes on the heap,
//! and of a mapped file; and a cache of such files.
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::{mem::size_of, process::ExitCode, rc::Rc, str::from_utf8};

use memmap2::Mmap;
use stable_deref_trait::StableDeref;
use yoke::Yoke;
use zero_copy::{about, counting, ended, words, Own};

// part: text
/// 'static is a stand-in: `get` lends a &'a Cow<'a, str>, where 'a is the time for
/// which the yoke is lent.
type Text = Yoke<Cow<'static, str>, Rc<[u8]>>;

fn text(bytes: Rc<[u8]>) -> Result<Text, String> {
    Yoke::try_attach_to_cart(bytes, |bytes| from_utf8(bytes).map(Cow::Borrowed))
        .map_err(about("the cart"))
}

// part: mapped
/// Mmap itself promises nothing, so a type of ours holds it, and promises.
struct MappedFile(Mmap);

impl Deref for MappedFile {
    type Target = [u8]; // *file is the bytes
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: the kernel chose the address, and moving the Mmap moves only the words that
// hold it. Nobody here asks for the bytes to write, to remap or to unmap them.
unsafe impl StableDeref for MappedFile {}

// part: document
/// What was parsed from a mapped file. No 'a in its name, so it can be kept anywhere.
struct Document(Yoke<Cow<'static, str>, MappedFile>);

impl Document {
    /// Opens, maps and "parses" it: the title is the first line.
    fn open(path: &Path) -> Result<Document, String> {
        let file = File::open(path).map_err(about(path.display()))?;
        // SAFETY: nobody cuts the file short, or changes it, while it is mapped.
        let mapping = unsafe { Mmap::map(&file) }.map_err(about(path.display()))?;
        Yoke::try_attach_to_cart(MappedFile(mapping), |bytes| {
            let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            from_utf8(line).map(Cow::Borrowed)
        })
        .map(Document)
        .map_err(about(path.display()))
    }

    fn title(&self) -> &str {
        self.0.get()
    }
}

// part: cache
#[derive(Default)]
struct Cache(HashMap<PathBuf, Rc<Document>>);

impl Cache {
    fn get(&mut self, path: &Path) -> Result<Rc<Document>, String> {
        if !self.0.contains_key(path) {
            self.0.insert(path.into(), Rc::new(Document::open(path)?));
        }
        Ok(self.0[path].clone()) // copies an address, counts one more owner
    }

    fn evict(&mut self, path: &Path) {
        self.0.remove(path);
    }
}

fn caching(path: &Path) -> Result<(), String> {
    let mut cache = Cache::default();
    println!("mappings of the file\tbefore\t{}", mappings(path));
    let (first, second) = (cache.get(path)?, cache.get(path)?);
    println!("mappings of the file\tlent twice\t{}", mappings(path));
    println!("mapped title\tlies in the mapping\t{}", in_mapping(&first) as u8);
    let same = first.title().as_ptr() == second.title().as_ptr();
    println!("mapped title\tone address\t{}", same as u8);
    cache.evict(path);
    fs::remove_file(path).map_err(about(path.display()))?;
    println!("mappings of the file\tevicted and deleted\t{}", mappings(path));
    drop(first);
    println!("mapped title\tread after that\t{}", second.title());
    drop(second);
    println!("mappings of the file\tlast one dropped\t{}", mappings(path));
    Ok(())
}

fn in_mapping(one: &Document) -> bool {
    one.0.backing_cart().as_ptr_range().contains(&one.title().as_ptr())
}

// part: changed
/// The view is a Cow, so it can be changed. From then on it owns its text. The cart
/// is kept, but not used any more.
fn changes() -> Result<(), String> {
    let cart: Rc<[u8]> = Rc::from(&b"beef"[..]);
    let mut one = text(cart.clone())?;
    println!("text\tcart at\t{:p}", cart.as_ptr());
    println!("text\tlent at\t{:p}", one.get().as_ptr());
    let boxed = Box::new(one);
    println!("text\tmoved, at\t{:p}", boxed.get().as_ptr());
    one = *boxed;
    let other = one.clone();
    println!("owners of the cart\twith two yokes\t{}", Rc::strong_count(&cart));
    let shout = |cow: &mut Cow<str>| cow.to_mut().make_ascii_uppercase();
    let ((), heap) = counting::during(|| one.with_mut(shout));
    println!("text\tchanged, at\t{:p}", one.get().as_ptr());
    println!("text\tallocated\t{}", heap.total);
    println!("text\treads\t{}", one.get());
    println!("text\tits clone reads\t{}", other.get());
    drop((one, other));
    println!("owners of the cart\twith none\t{}", Rc::strong_count(&cart));
    Ok(())
}

// part: main
fn all(folder: &Path) -> Result<(), String> {
    let own = Own::within(folder)?;
    let path = own.0.join("document");
    fs::write(&path, "zero copy\nmeasured\n").map_err(about(path.display()))?;
    println!("size_of\tCow<str>\t{}", size_of::<Cow<str>>());
    println!("size_of\tRc<[u8]>\t{}", size_of::<Rc<[u8]>>());
    println!("size_of\tYoke\t{}", size_of::<Text>());
    changes()?;
    caching(&path)
}
// end

/// How often the file is mapped into this process, as Linux tells.
fn mappings(path: &Path) -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter(|line| line.contains(&*path.to_string_lossy())).count()
}

fn main() -> ExitCode {
    ended(words().and_then(|words| match &words[..] {
        [folder] => all(Path::new(folder)),
        _ => Err("usage: yoke FOLDER".into()),
    }))
}
