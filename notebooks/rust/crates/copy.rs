//! Copy a file as the published program did, with Tokio and memmap2, and count what
//! each way takes from the heap.
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::process::{Command, ExitCode};
use std::{any::Any, env, path::Path, time::Instant};

use memmap2::Mmap;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::runtime::{Builder, Runtime};
use zero_copy::{about, counting, ended, words, Own};

const USAGE: &str = "usage: copy FOLDER               (it must have room for 128 MiB)
       copy WAY FROM TO [WORKERS]  (one way, for what its process takes)
ways: read_to_end, tokio, tokio-1MiB, memmap2, io-copy, loop-64KiB, loop-1MiB";
const COMPARED: [&str; 6] =
    ["read_to_end", "tokio", "tokio-1MiB", "memmap2", "io-copy", "loop-1MiB"];
const MIB: usize = 1 << 20;

// part: held
/// What a way still holds when the copy is done: it is counted first, then dropped.
#[allow(dead_code)] // held, and never looked at
enum Held {
    Bytes(Vec<u8>),
    Mapping(Mmap),
    Tokio(Runtime, Box<dyn Any>), // the event loop; its two files, with their buffers
}

// part: read_to_end
fn read_to_end(from: &Path, to: &Path) -> io::Result<Held> {
    let mut bytes = Vec::new();
    File::open(from)?.read_to_end(&mut bytes)?;
    File::create(to)?.write_all(&bytes)?;
    Ok(Held::Bytes(bytes))
}

// part: tokio
/// `async fn` and `.await` as in Python. Tokio gives file calls to a pool of threads.
async fn by_tokio(
    from: &Path, to: &Path, buffer: Option<usize>,
) -> io::Result<Box<dyn Any>> {
    let mut source = tokio::fs::File::open(from).await?;
    let mut copy = tokio::fs::File::create(to).await?;
    if let Some(size) = buffer {
        let mut source = BufReader::with_capacity(size, source);
        tokio::io::copy_buf(&mut source, &mut copy).await?;
        copy.flush().await?; // the last write may still be under way
        return Ok(Box::new((source, copy)));
    }
    tokio::io::copy(&mut source, &mut copy).await?; // 8 KiB at a time
    copy.flush().await?;
    Ok(Box::new((source, copy)))
}

/// What #[tokio::main] puts into a program. (That takes as many workers as there are
/// processor cores.)
fn on_tokio(
    from: &Path, to: &Path, buffer: Option<usize>, workers: usize,
) -> io::Result<Held> {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(workers).enable_all().build()?;
    let files = runtime.block_on(by_tokio(from, to, buffer))?;
    Ok(Held::Tokio(runtime, files))
}

// part: memmap2
fn by_memmap2(from: &Path, to: &Path) -> io::Result<Held> {
    // SAFETY: nobody cuts the file short, or changes it, while it is mapped.
    let mapping = unsafe { Mmap::map(&File::open(from)?)? };
    File::create(to)?.write_all(&mapping)?; // an Mmap can be read like a &[u8]
    Ok(Held::Mapping(mapping))
}

// part: others
fn io_copy(from: &Path, to: &Path) -> io::Result<Held> {
    io::copy(&mut File::open(from)?, &mut File::create(to)?)?;
    Ok(Held::Bytes(Vec::new())) // nothing
}

fn chunks(from: &Path, to: &Path, size: usize) -> io::Result<Held> {
    let (mut source, mut copy) = (File::open(from)?, File::create(to)?);
    let mut buffer = vec![0; size];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(Held::Bytes(buffer)),
            n => copy.write_all(&buffer[..n])?,
        }
    }
}

// part: ways
fn copied(
    way: &str, from: &Path, to: &Path, workers: usize,
) -> Result<Held, String> {
    let done = match way {
        "read_to_end" => read_to_end(from, to),
        "tokio" => on_tokio(from, to, None, workers),
        "tokio-1MiB" => on_tokio(from, to, Some(MIB), workers),
        "memmap2" => by_memmap2(from, to),
        "io-copy" => io_copy(from, to),
        "loop-64KiB" => chunks(from, to, 64 << 10),
        "loop-1MiB" => chunks(from, to, MIB),
        _ => return Err(format!("there is no way {way:?}\n{USAGE}")),
    };
    let paths = (from.display(), to.display());
    done.map_err(|why| format!("{way}, {} to {}: {why}", paths.0, paths.1))
}

// part: first print
/// The published 1,024: what the first line that is printed takes from the heap.
fn prints() {
    let before = counting::live();
    println!("first print\tlive before\t{before}");
    let first = counting::live();
    println!("first print\tlive after\t{first}");
    let second = counting::live();
    println!("first print\ttaken by the first\t{}", first - before);
    println!("first print\ttaken by the second\t{}", second - first);
}

// part: realloc
/// A Vec that grows, as read_to_end's does where a file's size is not known: it asks
/// for twice the room each time. `realloc` grows a block where it is, or moves it.
fn grows() {
    let (_bytes, heap) = counting::during(|| {
        let mut bytes: Vec<u8> = Vec::new();
        for _ in 0..64 {
            bytes.extend_from_slice(&[7; MIB]);
        }
        bytes
    });
    let live = counting::live() - heap.before;
    println!("realloc\tasked for more\t{}", heap.grown);
    println!("realloc\tanother address\t{}", heap.moved);
    println!("realloc\tlive bytes\t{live}");
    println!("realloc\tpeak heap\t{}", heap.peak);
    println!("realloc\tpeak if old and new counted\t{}", heap.both);
}

// part: workers
/// The published 172,952: what Tokio holds when the copy is done, by number of
/// workers. Each in a process of its own: later event loops of one find things made.
fn workers(from: &Path, to: &Path) -> Result<(), String> {
    let this = env::current_exe().map_err(about("this program"))?;
    for count in ["1", "2", "4", "8", "12", "16"] {
        let mut child = Command::new(&this);
        let child = child.arg("tokio").args([from, to]).arg(count).output();
        let child = child.map_err(about("a child"))?;
        let told = String::from_utf8_lossy(&child.stdout);
        let found = |line| str::strip_prefix(line, "tokio\tlive at the end\t");
        let live = told.lines().find_map(found);
        let live = live.ok_or_else(|| String::from_utf8_lossy(&child.stderr))?;
        println!("live by workers\t{count}\t{live}");
    }
    Ok(())
}

// part: sweep
/// One chunk size after another, to a file that keeps nothing.
fn sweep(from: &Path) -> Result<(), String> {
    for kib in [4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10] {
        let start = Instant::now();
        on_tokio(from, Path::new("/dev/null"), Some(kib << 10), 2)
            .map_err(about(format!("tokio, {kib} KiB to /dev/null")))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("seconds by chunk\t{}\t{seconds:.6}", kib << 10);
    }
    Ok(())
}

// part: main
fn all(folder: &Path) -> Result<(), String> {
    let own = Own::within(folder)?;
    let (source, copy) = (own.0.join("source"), own.0.join("copy"));
    make(&source, 64 * MIB).map_err(about(source.display()))?;
    let bytes = fs::read(&source).map_err(about(source.display()))?;
    prints(); // the first thing that this program prints
    println!("file\tbytes\t{}", bytes.len());
    for way in COMPARED {
        let (before, start) = (counting::live(), Instant::now());
        let (held, heap) = counting::during(|| copied(way, &source, &copy, 2));
        let (held, seconds) = (held?, start.elapsed().as_secs_f64());
        println!("{way}\tlive at the end\t{}", counting::live() - before);
        println!("{way}\tpeak heap\t{}", heap.peak);
        println!("{way}\tallocations\t{}", heap.times);
        println!("{way}\tseconds\t{seconds:.6}");
        drop(held);
        if fs::read(&copy).map_err(about(copy.display()))? != bytes {
            return Err(format!("{way}: the copy differs"));
        }
    }
    grows();
    workers(&source, &copy)?;
    sweep(&source)
}
// end

/// One way, and what the process has taken when the copy has just ended.
fn alone(way: &str, from: &Path, to: &Path, workers: usize) -> Result<(), String> {
    if same_file(from, to) {
        return Err(format!("{}: a copy onto itself", from.display()));
    }
    let (held, heap) = counting::during(|| copied(way, from, to, workers));
    let (held, live) = (held?, counting::live());
    // Linux only:
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    println!("{way}\tlive at the end\t{live}");
    println!("{way}\tpeak heap\t{}", heap.peak + heap.before);
    for (name, field) in [("anonymous", "RssAnon:"), ("file-backed", "RssFile:")] {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kib = line.and_then(|text| text.trim().strip_suffix(" kB"));
        if let Some(Ok(kib)) = kib.map(|text| text.parse::<u64>()) {
            println!("{way}\t{name}\t{}", kib << 10);
        }
    }
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split(' ');
    if let Some(faults) = fields.nth(8) {
        println!("{way}\tminor faults\t{faults}");
    }
    drop(held);
    Ok(())
}

/// By any of its names: opening the copy would empty the source.
fn same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn main() -> ExitCode {
    ended(words().and_then(|words| one_of(&words)))
}

fn one_of(words: &[String]) -> Result<(), String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [folder] => all(Path::new(folder)),
        [way, from, to] => alone(way, Path::new(from), Path::new(to), 2),
        [way, from, to, workers] => match workers.parse() {
            Ok(count @ 1..=1024) => alone(way, Path::new(from), Path::new(to), count),
            _ => Err(format!("WORKERS is {workers:?}; it must be 1 to 1024")),
        },
        _ => Err(USAGE.into()),
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
