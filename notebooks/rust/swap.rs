//! Threads answer from a mapped model while another thread replaces it ten times.
//! usage: swap FOLDER    (one that exists and is empty)
use std::fs::{self, File};
use std::os::{raw::c_int, unix::io::AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, RwLock};
use std::{env, io, mem, ptr, slice, thread};

const SIZE: usize = 1 << 18;
const SWAPS: u8 = 10;
const THREADS: usize = 2;
static MAPPED: AtomicUsize = AtomicUsize::new(0); // models mapped now

// part: model
/// A mapped file. All its bytes are the same: the number of its version.
struct Model {
    at: *const u8,
}

impl Model {
    fn version(&self) -> u8 {
        self.bytes()[0]
    }

    fn is_torn(&self) -> bool {
        self.bytes().iter().any(|byte| *byte != self.version())
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: SIZE bytes are mapped as long as the model is there, and `publish`
        // never writes to a file that has its name already.
        unsafe { slice::from_raw_parts(self.at, SIZE) }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { munmap(self.at, SIZE) };
        MAPPED.fetch_sub(1, SeqCst);
    }
}

// part: answers
/// Answers until it is over. Each answer ends on the version that it began on.
fn answers(current: &RwLock<Arc<Model>>, over: &AtomicBool) -> (usize, usize) {
    let (mut answered, mut torn) = (0, 0);
    loop {
        let model = Arc::clone(&current.read().unwrap()); // the lock ends here
        torn += model.is_torn() as usize;
        answered += 1;
        if over.load(SeqCst) {
            return (answered, torn);
        }
    } // here `model` ends: one owner less, and the last one unmaps it
}

// part: swap
fn swap(current: &RwLock<Arc<Model>>, folder: &Path, version: u8) -> io::Result<()> {
    let new = Arc::new(open(&publish(folder, version)?)?); // slow, and nobody waits
    let old = mem::replace(&mut *current.write().unwrap(), new); // one address
    drop(old); // unmapped here, unless somebody still answers from it
    Ok(())
}

// part: publish
/// Writes beside, syncs, renames, and syncs the folder.
fn publish(folder: &Path, version: u8) -> io::Result<PathBuf> {
    let (beside, name) = (folder.join("model.new"), folder.join("model"));
    fs::write(&beside, vec![version; SIZE])?;
    File::open(&beside)?.sync_all()?;
    fs::rename(&beside, &name)?;
    File::open(folder)?.sync_all()?;
    Ok(name)
}

// part: main
fn main() -> io::Result<()> {
    let folder = env::args().nth(1).expect("usage: swap FOLDER");
    let folder = Path::new(&folder);
    must_be_empty(folder)?;
    let current = RwLock::new(Arc::new(open(&publish(folder, 0)?)?));
    let slow = Arc::clone(&current.read().unwrap()); // a request that takes long
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        let work = || answers(&current, &over);
        let workers: Vec<_> = (0..THREADS).map(|_| threads.spawn(work)).collect();
        let swapped = (1..=SWAPS).try_for_each(|it| swap(&current, folder, it));
        over.store(true, SeqCst);
        for (number, worker) in workers.into_iter().enumerate() {
            let (answered, torn) = worker.join().unwrap();
            println!("thread {}\tanswers\t{answered}", number + 1);
            println!("thread {}\ttorn\t{torn}", number + 1);
        }
        swapped
    })?;
    let now = current.read().unwrap().version();
    println!("after the swaps\tcurrent version\t{now}");
    println!("after the swaps\tversion of the slow request\t{}", slow.version());
    println!("after the swaps\towners of that version\t{}", Arc::strong_count(&slow));
    println!("models mapped\tduring the slow request\t{}", MAPPED.load(SeqCst));
    drop(slow);
    println!("models mapped\twhen that has ended\t{}", MAPPED.load(SeqCst));
    fs::remove_file(folder.join("model"))
}
// end

/// Nobody's files are overwritten or deleted here.
fn must_be_empty(folder: &Path) -> io::Result<()> {
    match fs::read_dir(folder)?.next() {
        None => Ok(()),
        Some(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} has files in it; name an empty folder", folder.display()),
        )),
    }
}

extern "C" {
    fn mmap(at: *mut u8, n: usize, prot: c_int, how: c_int, fd: c_int, from: i64)
        -> *mut u8;
    fn munmap(at: *const u8, n: usize) -> c_int;
}
const PROT_READ: c_int = 1;
const MAP_PRIVATE: c_int = 2;

// SAFETY: a model is only read, whichever thread has it.
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

fn open(path: &Path) -> io::Result<Model> {
    let file = File::open(path)?;
    let fd = file.as_raw_fd();
    let at = unsafe { mmap(ptr::null_mut(), SIZE, PROT_READ, MAP_PRIVATE, fd, 0) };
    if at as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    MAPPED.fetch_add(1, SeqCst);
    Ok(Model { at })
}
