//! What the program costs: every figure of performance, on this machine, in one run, with a null bot beside.
//!
//! `cargo bench` builds the program optimised, runs this and prints the table. It is no test: nothing fails because
//! it is slow. How to read it: `docs/maintaining.md`.
//!
//! ```text
//! this process ─┬▶ Discord (loopback) ◀── chorus run      one stage
//!               ├▶ model   (loopback) ◀──┘
//!               ├▶ Discord (loopback) ◀── null bot        the other stage
//!               └▶ model   (loopback) ◀──┘
//! ```
//!
//! The null bot is the same serenity client answering with a constant: it keeps nothing, so what stands beside its
//! figure is what serenity, the model's client and the machine cost by themselves. Both are measured in turn, block by
//! block, so that what else the machine does meets both.
// A server is one large literal.
#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, clippy::print_stdout)]

mod bots;
mod discord;
mod figures;
mod home;
mod looking;
mod machine;
mod model;
mod null_bot;
mod people;
mod places;
mod roles;
mod runs;
mod sizes;
mod stage;
mod table;

use std::path::PathBuf;

/// The word that makes this program the null bot.
const NULL_BOT: &str = "null-bot";

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(NULL_BOT) => runtime().block_on(null_bot::run()),
        // `cargo bench` hands over `--bench`; any other word picks the rows whose name contains it.
        first => {
            let only = first
                .map(str::to_owned)
                .into_iter()
                .chain(arguments)
                .find(|word| !word.starts_with("--"));
            runtime().block_on(figures::all(only.unwrap_or_default().as_str()));
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

/// Homes are made here: on the disk that the build is on, for a file system in memory has no fsync.
fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}
