//! Tells a release which commit it was built from, for `/status` and `/ping`.
//!
//! Builds for development do without: each commit would have the whole program compiled again.

// What it prints is for cargo.
#![allow(clippy::print_stdout)]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CHORUS_COMMIT");
    if let Some(commit) = given().or_else(of_release) {
        println!("cargo::rustc-env=CHORUS_COMMIT={commit}");
    }
}

/// What whoever builds a package says.
fn given() -> Option<String> {
    let commit = std::env::var("CHORUS_COMMIT").ok()?;
    (!commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .then_some(commit)
}

/// What git says of a release; none without git.
fn of_release() -> Option<String> {
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if !is_release {
        return None;
    }
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
