//! `strace` around the daemon: it makes system calls fail, or ends or halts the program at them, so that no line of the
//! program is there for that.
//!
//! Where it is missing the tests say so and do nothing; `.ci/run` installs it.

use std::path::Path;
use std::process::Command;

/// Whether it is installed; a test that is not run for want of it says so.
pub fn is_there() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        println!("not run: strace is missing (apt-get install strace)");
    }
    found
}

/// What the program is run by, to have `injection` done to its system calls `calls`, such as `fsync,rename`. What it
/// sees goes to `log`. The program stays our own child: the tracer is put aside.
pub fn injecting(calls: &str, injection: &str, log: &Path) -> Vec<String> {
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
