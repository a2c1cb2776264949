//! How long the functions of this very program are, from its own symbols (ELF).
use std::{env, fs};

/// Bytes of all functions whose name contains `part`, and how many those are. None if
/// the program's file has no symbols, or is not an ELF of 64 bits (macOS, Windows).
pub fn functions(part: &str) -> Option<(usize, usize)> {
    let file = fs::read(env::current_exe().ok()?).ok()?;
    let number = |at: usize, size: usize| {
        let mut eight = [0; 8];
        eight[..size].copy_from_slice(file.get(at..at + size)?);
        Some(u64::from_le_bytes(eight) as usize)
    };
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (first, wide, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    let mut sections = (0..count).map(|i| first + i * wide);
    let symbols = sections.find(|at| number(at + 4, 4) == Some(2))?; // SHT_SYMTAB
    let (start, size) = (number(symbols + 0x18, 8)?, number(symbols + 0x20, 8)?);
    let names = number(first + wide * number(symbols + 0x28, 4)? + 0x18, 8)?;
    let (mut bytes, mut found) = (0, 0);
    for at in (start..start + size).step_by(24) {
        let name = file.get(names + number(at, 4)?..)?;
        let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next()?);
        if number(at + 4, 1)? & 0xf == 2 && name.contains(part) {
            // STT_FUNC
            bytes += number(at + 16, 8)?;
            found += 1;
        }
    }
    Some((bytes, found))
}
