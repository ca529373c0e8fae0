//! `strace` around the daemon: it makes system calls fail, or ends or halts the program at them, so that no line of the
//! program is there for that.
//!
//! Where it is missing they are [`not_run`].

use std::path::Path;
use std::process::Command;

use crate::not_run::{Missing, not_run};

/// Whether it is installed; a test that is not run for want of it says so.
pub(crate) fn is_there() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        not_run(&Missing::Program("strace", "strace"));
    }
    found
}

/// Whether it is installed and can tell which files the daemon's calls are about: the daemon hides its memory, and the
/// kernel then shows its open files to nobody but root.
pub(crate) fn sees_files() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        not_run(&Missing::Machine(
            "only root sees the files of a process that hides its memory",
        ));
    }
    is_root && is_there()
}

/// What the program is run by, to have `injection` done to its system calls `calls`, such as `fsync,rename`. What it
/// sees goes to `log`. The program stays our own child: the tracer is put aside.
pub(crate) fn injecting(calls: &str, injection: &str, log: &Path) -> Vec<String> {
    let (trace, inject) = (
        format!("trace={calls}"),
        format!("inject={calls}:{injection}"),
    );
    let log = log.to_str().unwrap();
    [
        "strace", "-D", "-f", "-qq", "-y", "-s0", "-o", log, "-e", &trace, "-e", &inject,
    ]
    .map(str::to_owned)
    .to_vec()
}
