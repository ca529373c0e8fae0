//! Starts the `chorus` program in an environment of its own.

use std::path::Path;
use std::process::{Command, Output};

/// The program with these arguments and nothing in its environment but a home.
pub(crate) fn chorus(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chorus"));
    command
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("CHORUS_HOME", home)
        .current_dir(home);
    command
}

/// What it wrote, and its exit code.
pub(crate) struct Seen {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs it to its end.
pub(crate) fn seen(command: &mut Command) -> Seen {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Seen {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}
