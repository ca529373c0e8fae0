//! The worker process: the program when the daemon starts it to do one piece of work.

use std::ffi::OsString;
use std::process::ExitCode;

use super::builtin;
use crate::exec::{WorkFailure, serve};

/// Runs as a worker if the arguments request it; `None` means that this is an ordinary start.
///
/// Call it in `main` before anything of the daemon is set up.
pub fn main(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    serve(arguments, |name, job, bytes| {
        let known = builtin::WORK.iter().find(|(known, _)| *known == name);
        match known {
            Some((_, run)) => run(job, bytes),
            None => Err(WorkFailure::Failed(format!("there is no work `{name}`"))),
        }
    })
}
