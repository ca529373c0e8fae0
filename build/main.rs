//! Tells a release which commit it was built from, and has it linked to take less memory; has programs for development linked to
//! start soon.

// What it prints is for cargo.
#![allow(clippy::print_stdout)]

mod commit;
mod link;

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=CHORUS_COMMIT");
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let of_checkout = || release.then(commit::of_checkout).flatten();
    if let Some(commit) = commit::given().or_else(of_checkout) {
        println!("cargo::rustc-env=CHORUS_COMMIT={commit}");
    }
    if release {
        link::compactly();
    } else {
        link::to_one_place();
    }
}
