//! What the programs share: the heap that keeps count, and how a program ends.
#[path = "../counting.rs"]
pub mod counting;

pub mod elf;

use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::{env, fs};

/// 0, or the message on standard error and 2.
pub fn ended(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// An error with what it is about: "/tmp/x: No such file or directory (os error 2)".
pub fn about<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |why| format!("{what}: {why}")
}

/// The words behind the program's name.
pub fn words() -> Result<Vec<String>, String> {
    let text = |word: OsString| word.into_string().map_err(|it| format!("{it:?} is not UTF-8"));
    env::args_os().skip(1).map(text).collect()
}

/// A folder that nobody else uses. It goes with this value, also after a failure.
pub struct Own(pub PathBuf);

impl Own {
    pub fn within(folder: &Path) -> Result<Own, String> {
        let path = folder.join(format!("zero-copy-{}", process::id()));
        fs::create_dir(&path).map_err(about(path.display()))?;
        Ok(Own(path))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
