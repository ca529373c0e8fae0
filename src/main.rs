//! The `chorus` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: nothing of the daemon may be set up in the sandbox's helper.
    if let Some(code) = chorus::exec::helper::main(std::env::args_os()) {
        return code;
    }
    // Likewise before anything else: a worker does one piece of work and exits.
    if let Some(code) = chorus::tools::worker::main(std::env::args_os()) {
        return code;
    }
    chorus::cli::main()
}
