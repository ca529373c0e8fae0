//! The `chorus` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    chorus::cli::main()
}
