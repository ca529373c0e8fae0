//! Questions on a terminal, one line each. Nothing is redrawn, so that a screen reader and a plain console read them
//! alike.

use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use crate::cli::output::{print_line, print_text};

/// The user ended the questions.
#[derive(Debug, thiserror::Error)]
#[error("stopped: your answers are saved; run `chorus init` again to continue")]
pub(super) struct Stopped;

/// Asks for one line; an empty one means `default`.
pub(super) fn line(question: &str, default: Option<&str>) -> anyhow::Result<String> {
    match default {
        Some(default) => print_text!("{question} [{default}]: "),
        None => print_text!("{question}: "),
    }
    io::stdout().flush()?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        print_line!();
        return Err(Stopped.into());
    }
    let line = line.trim();
    Ok(if line.is_empty() {
        default.unwrap_or_default().to_owned()
    } else {
        line.to_owned()
    })
}

pub(super) fn yes(question: &str) -> anyhow::Result<bool> {
    let answer = line(&format!("{question} (y/n)"), Some("y"))?;
    Ok(answer.to_ascii_lowercase().starts_with('y'))
}

/// Lets the person choose one of these by its number.
pub(super) fn choose(question: &str, offered: &[String]) -> anyhow::Result<usize> {
    for (at, one) in offered.iter().enumerate() {
        print_line!("  {}  {one}", at + 1);
    }
    loop {
        let answer = line(question, Some("1"))?;
        match answer.parse::<usize>() {
            Ok(number) if (1..=offered.len()).contains(&number) => return Ok(number - 1),
            Ok(_) | Err(_) => print_line!("Write a number from 1 to {}.", offered.len()),
        }
    }
}

/// Asks for a secret; only its length is shown.
pub(super) fn secret(question: &str) -> anyhow::Result<String> {
    // First of all, so that text typed ahead is not shown either.
    let hidden = Hidden::begin();
    print_text!("{question} (hidden): ");
    io::stdout().flush()?;
    let typed = typed(io::stdin().lock());
    drop(hidden);
    print_line!();
    let secret = typed?.trim().to_owned();
    if !secret.is_empty() {
        print_line!("  {} characters", secret.chars().count());
    }
    Ok(secret)
}

const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];

/// Reads a line key by key from a terminal that neither shows nor edits the input.
fn typed(keys: impl BufRead) -> anyhow::Result<String> {
    let mut typed = Vec::new();
    for key in keys.bytes() {
        match key? {
            b'\n' | b'\r' => return Ok(String::from_utf8_lossy(&typed).into_owned()),
            INTERRUPT | END => return Err(Stopped.into()),
            key if BACKSPACE.contains(&key) => {
                typed.pop();
            }
            key => typed.push(key),
        }
    }
    Err(Stopped.into())
}

/// A terminal that does not show the input until this is dropped. Ctrl-C is read as a key meanwhile: a signal would
/// leave the terminal as it is.
struct Hidden(Option<String>);

impl Hidden {
    fn begin() -> Self {
        let before = stty(&["-g"]);
        if before.is_some() {
            stty(&["-echo", "-icanon", "-isig", "min", "1"]);
        }
        Self(before)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            stty(&[before]);
        }
    }
}

/// Changes the terminal's settings; if that does not work, the input is visible.
fn stty(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("stty");
    command.args(arguments).stdin(Stdio::inherit());
    let output = command.stderr(Stdio::null()).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}

/// Waits this long for Enter.
pub(super) fn enter_within(time: Duration) -> anyhow::Result<bool> {
    let stdin = io::stdin();
    let time = time.try_into()?;
    let ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&time))?;
    if ready == 0 {
        return Ok(false);
    }
    line("", None).map(|_| true)
}
