//! The git program that agents' commands use, and the tokens of the hosts they push to.

use std::process::{Command, Stdio};

use super::check::Check;
use crate::config::{Config, Env};

pub(super) fn checks(env: &Env, config: &Config) -> Vec<Check> {
    let hosts = config.git.hosts.iter();
    let forges = config.forges.iter();
    let named = hosts
        .map(|(host, access)| (host, access.token_env.as_ref()))
        .chain(forges.map(|(host, forge)| (host, forge.token_env.as_ref())));
    let tokens = named.filter_map(|(host, variable)| token(env, host, variable?));
    std::iter::once(program()).chain(tokens).collect()
}

fn program() -> Check {
    let output = Command::new("git")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Check::ok(
            "git",
            String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        ),
        Ok(_) | Err(_) => Check::warning(
            "git",
            "there is no git program: agents' own git tools work, their commands cannot use it",
            "install it: sudo apt-get install git",
        ),
    }
}

/// Returns a failed check, unless the token of `host` is set.
fn token(env: &Env, host: &str, variable: &str) -> Option<Check> {
    let seen = match env.secret(variable) {
        Ok(Some(_)) => return None,
        Ok(None) => format!("{host}: {variable} is not set, so agents cannot push there"),
        Err(error) => format!("{host}: {error}"),
    };
    Some(Check::failure(
        "git",
        seen,
        format!(
            "put the token into {variable}, a file named by {variable}_FILE, or systemd's credentials"
        ),
    ))
}
