//! Which commit the program is built from, for `/status` and `/ping`.

use std::env;
use std::process::Command;

/// What whoever builds a package says.
pub(crate) fn given() -> Option<String> {
    let commit = env::var("CHORUS_COMMIT").ok()?;
    (!commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .then_some(commit)
}

/// What git says of this checkout; none without git. Each commit then has the whole program compiled again.
pub(crate) fn of_checkout() -> Option<String> {
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", path]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
