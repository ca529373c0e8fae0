//! Removes secrets from the daemon's environment, where every program of the same user could read them.
//!
//! The kernel shows a process's initial environment in `/proc` for as long as the process lives. So a daemon that
//! received a secret that way executes itself again, as the same process, with a clean environment. The secrets travel
//! through a pipe on standard input, which is empty once they are read.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::exec::harden_self;
use anyhow::Context;

/// Set for the process that finds the secrets on its standard input.
const MARK: &str = "CHORUS_SECRETS_ON_STDIN";

/// Endings of the names of variables that hold secrets.
const SECRET_ENDINGS: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// A write of more than a pipe's buffer would wait for a reader; secrets are far smaller.
const PIPE_CAPACITY: usize = 65_536;

/// Returns the variables this process was started with, including secrets. Its environment no longer has the secrets.
///
/// # Errors
///
/// Fails if the program cannot be executed again.
pub(super) fn variables() -> anyhow::Result<HashMap<String, String>> {
    // No process may read our memory either, or find it in a core dump.
    harden_self().context("hiding the process's memory")?;
    let mut variables: HashMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    if variables.remove(MARK).is_some() {
        variables.extend(received()?);
        return Ok(variables);
    }
    let secrets: HashMap<&String, &String> = variables
        .iter()
        .filter(|(name, _)| is_secret(name))
        .collect();
    if secrets.is_empty() {
        return Ok(variables);
    }
    Err(start_over(&secrets))
}

fn is_secret(name: &str) -> bool {
    SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Becomes the same program with a clean environment; returns only if that failed.
fn start_over(secrets: &HashMap<&String, &String>) -> anyhow::Error {
    let start = || -> anyhow::Result<std::io::Error> {
        let parcel = serde_json::to_vec(secrets)?;
        anyhow::ensure!(
            parcel.len() < PIPE_CAPACITY,
            "the environment's secrets are too long"
        );
        let (reader, mut writer) = std::io::pipe()?;
        writer.write_all(&parcel)?;
        drop(writer);
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_default();
        let mut command = Command::new(program());
        command
            .arg0(name)
            .args(arguments)
            .env(MARK, "1")
            .stdin(Stdio::from(reader));
        for name in secrets.keys() {
            command.env_remove(name);
        }
        Ok(command.exec())
    };
    match start() {
        Ok(error) => anyhow::Error::new(error),
        Err(error) => error,
    }
    .context("starting over with a clean environment")
}

/// Returns this very program, even if its file was replaced meanwhile.
fn program() -> &'static Path {
    Path::new("/proc/self/exe")
}

fn received() -> anyhow::Result<HashMap<String, String>> {
    let mut parcel = Vec::new();
    std::io::stdin()
        .read_to_end(&mut parcel)
        .context("reading the secrets handed over")?;
    serde_json::from_slice(&parcel).context("reading the secrets handed over")
}
