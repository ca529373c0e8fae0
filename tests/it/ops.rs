//! Running it: start, stop, signals, what systemd is told, what can be measured, what is refused.

mod certificates;
mod doctor;
mod early;
mod installed;
mod life;
mod limits;
pub(crate) mod metrics;
mod mounted;
mod otlp;
mod overview;
mod packages;
mod planted;
mod refused;
mod reload;
mod saved;
mod secrets;
mod systemd;
mod watchdog;

use std::process::Stdio;

use tokio::process::Command;

use crate::cli::program::Seen;
use crate::world::{Setup, Way, World};

/// A world whose daemon is the program, with `more` in its environment.
fn program(more: Vec<(&'static str, String)>) -> Setup {
    Setup {
        way: Way::Program,
        env: more,
        ..Setup::default()
    }
}

/// A command of the program in the environment of this world's daemon.
fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chorus"));
    command
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(world.variables())
        .current_dir(world.home())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs it to its end. The world goes on meanwhile.
async fn seen(command: &mut Command) -> Seen {
    let output = command.output().await.unwrap();
    Seen {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
