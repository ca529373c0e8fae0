//! The `chorus` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = chorus::exec::helper::main(std::env::args_os()) {
        return code;
    }
    chorus::cli::main()
}
