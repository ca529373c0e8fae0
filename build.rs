//! Tells a release which commit it was built from, for `/status` and `/ping`.

// What it prints is for cargo.
#![allow(clippy::print_stdout)]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // They are part of the program, by a macro.
    println!("cargo::rerun-if-changed=migrations");
    println!("cargo::rerun-if-env-changed=CHORUS_COMMIT");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let of_checkout = || is_release.then(commit_of_checkout).flatten();
    if let Some(commit) = given_commit().or_else(of_checkout) {
        println!("cargo::rustc-env=CHORUS_COMMIT={commit}");
    }
}

/// Returns the commit that the builder of a package names.
fn given_commit() -> Option<String> {
    let commit = env::var("CHORUS_COMMIT").ok()?;
    (!commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .then_some(commit)
}

/// Returns the commit that git names for this checkout, or `None` without git.
fn commit_of_checkout() -> Option<String> {
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
