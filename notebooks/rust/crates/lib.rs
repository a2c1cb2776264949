//! What the programs share: the heap that keeps count, and how a program ends.
#[path = "../counting.rs"]
pub mod counting;

pub mod elf;

use std::fmt::Display;
use std::process::ExitCode;

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
