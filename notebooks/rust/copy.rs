//! Copy a file in four ways, and count what each takes from the heap.
//! usage: copy FOLDER    (one that exists, is empty, and has room for 128 MiB)
mod counting;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::{raw::c_int, unix::io::AsRawFd};
use std::{env, path::Path, ptr, slice, time::Instant};

const MIB: usize = 1 << 20;

// part: read_to_end
/// `?` after a call: if it failed, this function ends here and hands the error on.
fn read_to_end(from: &Path, to: &Path) -> io::Result<()> {
    let mut bytes = Vec::new(); // nothing on the heap yet
    // Lent for writing; room for all bytes at once, as the file's size is known.
    File::open(from)?.read_to_end(&mut bytes)?;
    File::create(to)?.write_all(&bytes) // &: lent for reading
} // no close(): where an owner's scope ends, files close and bytes are freed

// part: chunks
fn chunks(from: &Path, to: &Path) -> io::Result<()> {
    let (mut source, mut copy) = (File::open(from)?, File::create(to)?);
    let mut buffer = vec![0; MIB];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(()), // the end of the file
            n => copy.write_all(&buffer[..n])?,
        }
    }
}

// part: io_copy
/// On Linux the library asks the kernel to copy: copy_file_range(2). No buffer here.
fn io_copy(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut File::create(to)?)?;
    Ok(())
}

// part: mapping
extern "C" {
    fn mmap(at: *mut u8, n: usize, prot: c_int, how: c_int, fd: c_int, from: i64)
        -> *mut u8;
    fn munmap(at: *mut u8, n: usize) -> c_int;
}
const PROT_READ: c_int = 1;
const MAP_PRIVATE: c_int = 2;

fn mapping(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let n = source.metadata()?.len() as usize;
    // unsafe: the compiler cannot check what C does; the programmer answers for it.
    let fd = source.as_raw_fd();
    let at = unsafe { mmap(ptr::null_mut(), n, PROT_READ, MAP_PRIVATE, fd, 0) };
    if at as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: n bytes are mapped at `at`, and nobody cuts the file short, or changes
    // it, meanwhile.
    let bytes = unsafe { slice::from_raw_parts(at, n) };
    let written = File::create(to)?.write_all(bytes);
    unsafe { munmap(at, n) };
    written
}

// part: main
fn main() -> io::Result<()> {
    let folder = env::args().nth(1).expect("usage: copy FOLDER");
    let folder = Path::new(&folder);
    must_be_empty(folder)?;
    let (source, copy) = (folder.join("source"), folder.join("copy"));
    make(&source, 64 * MIB)?;
    let bytes = fs::read(&source)?; // what every copy must be equal to
    let (_, line) = counting::during(|| println!("file\tbytes\t{}", bytes.len()));
    println!("first line\tpeak heap\t{}", line.peak);

    let ways: [(&str, fn(&Path, &Path) -> io::Result<()>); 4] = [
        ("read_to_end", read_to_end),
        ("chunk loop", chunks),
        ("io::copy", io_copy),
        ("mapping", mapping),
    ];
    for (name, way) in ways {
        let start = Instant::now();
        // || is lambda:
        let (result, heap) = counting::during(|| way(&source, &copy));
        result?;
        println!("{name}\tseconds\t{:.6}", start.elapsed().as_secs_f64());
        println!("{name}\tpeak heap\t{}", heap.peak);
        println!("{name}\tallocations\t{}", heap.times);
        assert!(fs::read(&copy)? == bytes, "{name}: the copy differs");
        fs::remove_file(&copy)?;
    }
    fs::remove_file(&source)
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

/// A file of pseudo-random bytes (xorshift), so that no zeros can be skipped.
fn make(path: &Path, size: usize) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    let mut chunk = vec![0; MIB];
    for _ in 0..size / MIB {
        for eight in chunk.chunks_exact_mut(8) {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            eight.copy_from_slice(&word.to_le_bytes());
        }
        file.write_all(&chunk)?;
    }
    Ok(())
}
