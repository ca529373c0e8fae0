//! The hosts and forges that agents may reach by git, from the configuration, with their tokens.

use std::collections::BTreeMap;

use super::options::DaemonError;
use crate::config::{Config, Env, Secret};
use crate::tools::{ForgeAccess, GitAccess, HostAccess};

/// Reads the tokens that the configuration names.
///
/// # Errors
///
/// Fails if a file that should contain one cannot be read.
pub(super) fn access(config: &Config, env: &Env) -> Result<GitAccess, DaemonError> {
    let mut hosts = BTreeMap::new();
    for (name, host) in &config.git.hosts {
        let access = HostAccess {
            username: host.username.clone(),
            token: secret(env, host.token_env.as_deref())?,
        };
        hosts.insert(name.clone(), access);
    }
    let mut forges = BTreeMap::new();
    for (name, forge) in &config.forges {
        let access = ForgeAccess {
            kind: forge.kind,
            base_url: forge.base_url.trim_end_matches('/').to_owned(),
            token: secret(env, forge.token_env.as_deref())?,
        };
        forges.insert(name.clone(), access);
    }
    Ok(GitAccess {
        hosts,
        forges,
        ..GitAccess::default()
    })
}

/// Returns the token in the variable that the configuration names, if it names one.
fn secret(env: &Env, variable: Option<&str>) -> Result<Option<Secret>, DaemonError> {
    match variable {
        Some(variable) => Ok(env.secret(variable)?),
        None => Ok(None),
    }
}
