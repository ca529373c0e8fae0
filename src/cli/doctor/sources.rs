//! Shows where each secret and each address comes from, and who else may read the files with secrets.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use super::check::Check;
use crate::config::{ADDRESSES, Config, Env, Paths, SECRETS};

/// Returns where each secret and each address comes from.
pub(super) fn checks(env: &Env, config: &Config) -> Vec<Check> {
    let names = names(config).into_iter();
    let mut checks: Vec<Check> = names.filter_map(|name| secret(env, name)).collect();
    checks.extend(ADDRESSES.iter().filter_map(|name| address(env, name)));
    checks.extend(configured(env, config));
    checks
}

/// Returns the variables that hold secrets.
fn names(config: &Config) -> Vec<&str> {
    let named: BTreeSet<&str> = config.secret_names().collect();
    let named = named.into_iter().filter(|name| !SECRETS.contains(name));
    SECRETS.into_iter().chain(named).collect()
}

/// Returns where a secret comes from; `None` if it is not set.
fn secret(env: &Env, name: &str) -> Option<Check> {
    match env.secret_source(name) {
        Ok(source) => Some(Check::ok("secrets", format!("{name}: from {}", source?))),
        Err(error) => Some(Check::failure(
            "secrets",
            error.to_string(),
            "let this user read that file, or name another one",
        )),
    }
}

/// Returns where the address of a variable comes from; `None` if it is not set.
fn address(env: &Env, name: &str) -> Option<Check> {
    let (origin, address) = (env.origin(name)?, shown(env.text(name)?));
    let seen = format!("{name}: {address}, from {origin}");
    Some(Check::ok("addresses", seen))
}

/// Returns the addresses that `config.json` sets, which take precedence over those of variables.
fn configured(env: &Env, config: &Config) -> Vec<Check> {
    let providers = config.providers.iter().filter_map(|(name, provider)| {
        let address = provider.base_url.as_deref()?;
        Some(format!("provider {name}: {}", shown(address)))
    });
    let forges = config.forges.iter();
    let forges = forges.map(|(host, forge)| format!("forge {host}: {}", shown(&forge.base_url)));
    let file = env.paths.config();
    providers
        .chain(forges)
        .map(|seen| Check::ok("addresses", format!("{seen}, from {}", file.display())))
        .collect()
}

/// Returns the files with secrets and conversations that others may read.
pub(super) fn open_to_others(env: &Env, config: &Config) -> Vec<Check> {
    // A file that cannot be read has a line of its own.
    let files = names(config)
        .into_iter()
        .filter_map(|name| env.files_open_to_others([name]).ok());
    let files: BTreeSet<_> = files.flatten().collect();
    files
        .into_iter()
        .map(|file| {
            Check::warning(
                "environment",
                format!(
                    "{} can be read by others of this machine, with the secrets in it",
                    file.display()
                ),
                format!("chmod 600 {}", file.display()),
            )
        })
        .chain(database(&env.paths))
        .collect()
}

/// Checks whether others may read the conversations, which may contain anything.
fn database(paths: &Paths) -> Option<Check> {
    let folder = paths.database().parent()?.to_owned();
    let file = paths.database();
    let is_open = |path: &std::path::Path| {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o007 != 0)
    };
    (is_open(&folder) && is_open(&file)).then(|| {
        Check::warning(
            "database",
            format!(
                "{} can be read by others of this machine, with all conversations",
                file.display()
            ),
            format!("chmod 700 {}", folder.display()),
        )
    })
}

/// Returns an address without the user name and password that it may contain.
fn shown(address: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(address) else {
        return address.to_owned();
    };
    if url.username().is_empty() && url.password().is_none() {
        return address.to_owned();
    }
    // Only an address without a host has no place for them.
    let _ = url.set_password(None);
    let _ = url.set_username("…");
    url.to_string()
}
