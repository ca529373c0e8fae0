//! The `chorus` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: as the sandbox's helper nothing of the daemon may be set up.
    if let Some(code) = chorus::exec::helper::main(std::env::args_os()) {
        return code;
    }
    // Likewise as a worker, which does one piece of work and ends.
    if let Some(code) = chorus::tools::worker::main(std::env::args_os()) {
        return code;
    }
    chorus::cli::main()
}
