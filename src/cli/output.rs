//! The output of commands.
//!
//! `println!` panics if its reader is gone or the disk is full, and a command that is about to move a home into its
//! place would be aborted. Here the work continues, and the end reports that output was lost.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Context as _;
use parking_lot::Mutex;
use serde::Serialize;

use crate::text;

/// The first error of writing to standard output.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints to standard output, as `print!` does.
macro_rules! print_text {
    ($($text:tt)*) => { $crate::cli::output::print(&mut std::io::stdout(), format_args!($($text)*)) };
}

/// Prints a line to standard output, as `println!` does.
macro_rules! print_line {
    () => { $crate::cli::output::print_text!("\n") };
    ($($text:tt)*) => { $crate::cli::output::print_text!("{}\n", format_args!($($text)*)) };
}

pub(super) use {print_line, print_text};

/// Writes `text` to `out`, which is standard output, unless it failed before.
pub(super) fn print(out: &mut impl Write, text: Arguments<'_>) {
    let mut failed = FAILED.lock();
    if failed.is_none() {
        *failed = out.write_fmt(text).err();
    }
}

/// Prints a value as JSON, escaped so that texts of people and models can neither hide nor move a terminal's cursor.
///
/// # Errors
///
/// Fails if it is not JSON.
pub(super) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(value).context("writing JSON")?;
    print_line!("{}", text::visible_json(&json));
    Ok(())
}

/// Prints a message for people on standard error, which may lead nowhere.
pub(super) fn tell(text: Arguments<'_>) {
    let _ = io::stderr().write_fmt(text);
}

/// Returns the exit code of a command that did its work: a failure if not everything could be printed. A reader who
/// left early does not count.
pub(super) fn end() -> ExitCode {
    let failed = FAILED.lock().take().or_else(|| io::stdout().flush().err());
    match failed.filter(|error| error.kind() != ErrorKind::BrokenPipe) {
        None => ExitCode::SUCCESS,
        Some(error) => {
            tell(format_args!("chorus: failed to print: {error}\n"));
            ExitCode::FAILURE
        }
    }
}
