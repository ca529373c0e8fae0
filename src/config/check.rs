//! Checks that the types of the keys cannot make: names that must exist, patterns that must compile.

use std::path::{Path, PathBuf};

use super::env::without_dots;
use super::folders::{self, FolderRefusal};
use super::keys::Config;
use super::problem::Problem;
use crate::permission::{ProfileError, Profiles};
use crate::text;

/// A mistake in a configuration with correct syntax and types.
pub(super) struct Mistake {
    /// The keys that lead to it.
    keys: Vec<String>,
    reason: String,
}

impl Config {
    /// Returns the built-in profiles and those of this configuration.
    ///
    /// # Errors
    ///
    /// Never fails for a configuration that was read from a file: reading refuses invalid profiles.
    pub fn permission_profiles(&self) -> Result<Profiles, ProfileError> {
        let named = self
            .profiles
            .iter()
            .map(|(name, profile)| (name.as_str(), profile));
        Profiles::with(named).map_err(|(_, error)| error)
    }

    /// Returns the environment variables that this configuration expects to hold secrets.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        let keys = self
            .providers
            .values()
            .filter_map(|provider| provider.api_key_env.as_deref());
        let tokens = self
            .git
            .hosts
            .values()
            .filter_map(|host| host.token_env.as_deref());
        let forges = self
            .forges
            .values()
            .filter_map(|forge| forge.token_env.as_deref());
        keys.chain(tokens).chain(forges)
    }
}

/// Folders with data that agents must not see: secrets of the system, homes, other services' data.
const TOO_WIDE: [&str; 14] = [
    "/", "/home", "/root", "/etc", "/proc", "/sys", "/dev", "/run", "/var", "/var/lib", "/var/log",
    "/boot", "/tmp", "/var/tmp",
];

impl Config {
    /// Returns the first folder of `sandbox_read` that agents' commands must not read, and why; `home` is Chorus's own.
    pub fn unreadable_folder(&self, home: Option<&Path>) -> Option<(&Path, String)> {
        self.sandbox_read
            .iter()
            .find_map(|folder| Some((folder.as_path(), why_unreadable(folder, home)?)))
    }
}

impl Config {
    /// Returns the first of `folders` that no agent may be bound to, and why; `home` is Chorus's own.
    pub fn refused_folder(&self, home: Option<&Path>) -> Option<(&Path, FolderRefusal)> {
        folders::refused_root(&self.folders, home.filter(|home| home.is_absolute()))
    }

    /// Returns a sentence about each of `folders` that is not a folder, or has a link in its path.
    pub fn folder_warnings(&self) -> Vec<String> {
        let warning = |root: &PathBuf| match std::fs::canonicalize(root) {
            Ok(real) if real != *root => Some(format!(
                "`folders`: {} leads to {} by a symbolic link; agents can be bound only by the latter path",
                root.display(),
                real.display()
            )),
            Ok(real) if !real.is_dir() => {
                Some(format!("`folders`: {} is not a folder", root.display()))
            }
            Ok(_) => None,
            Err(error) => Some(format!("`folders`: {}: {error}", root.display())),
        };
        self.folders.iter().filter_map(warning).collect()
    }
}

/// Checks the folder as it is written and as it resolves: a link to `/` is `/`.
pub(super) fn why_unreadable(folder: &Path, home: Option<&Path>) -> Option<String> {
    if !folder.is_absolute() {
        return Some("write the whole path, from / on".to_owned());
    }
    let found = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| without_dots(path));
    let home = home.filter(|home| home.is_absolute());
    let homes: Vec<PathBuf> = home
        .into_iter()
        .flat_map(|home| [without_dots(home), found(home)])
        .collect();
    for path in [without_dots(folder), found(folder)] {
        let is_persons_home = path.parent() == Some(Path::new("/home"));
        if is_persons_home || TOO_WIDE.iter().any(|wide| path == Path::new(wide)) {
            return Some(
                "agents' commands could read files that are not meant for them, such as keys: name the folders below it that they need"
                    .to_owned(),
            );
        }
        let is_at_home = |home: &PathBuf| home.starts_with(&path) || path.starts_with(home);
        if let Some(home) = homes.iter().find(|home| is_at_home(home)) {
            return Some(format!(
                "Chorus's own home {} is in there, or around it, with the database and all agents: name folders outside of it",
                home.display()
            ));
        }
    }
    None
}

/// Returns the first mistake, if there is one. `home` is the folder of the file.
pub(super) fn mistake(config: &Config, home: Option<&Path>) -> Option<Mistake> {
    let found = |keys: &[&str], reason: String| {
        Some(Mistake {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            reason,
        })
    };
    let named = config
        .profiles
        .iter()
        .map(|(name, profile)| (name.as_str(), profile));
    let profiles = match Profiles::with(named) {
        Ok(profiles) => profiles,
        Err((name, error)) => {
            return found(&["profiles", &name], format!("profile `{name}`: {error}"));
        }
    };
    if let Err(error) = profiles.has(&config.default_permissions) {
        return found(
            &["default_permissions"],
            format!("`default_permissions`: {error}"),
        );
    }
    for (role, granted) in &config.permission_grants.0 {
        for name in granted {
            if let Err(error) = profiles.has(name) {
                let role = role.to_string();
                return found(
                    &["permission_grants", &role],
                    format!("role {role} may grant `{name}`: {error}"),
                );
            }
        }
    }
    if let Some((folder, reason)) = config.unreadable_folder(home) {
        let folder = folder.display().to_string();
        return found(
            &["sandbox_read", &folder],
            format!("`sandbox_read`: {folder}: {reason}"),
        );
    }
    if let Some((folder, reason)) = config.refused_folder(home) {
        let folder = folder.display().to_string();
        return found(
            &["folders", &folder],
            format!("`folders`: {}: {reason}", text::one_line(&folder, 200)),
        );
    }
    if config.budgets.user_day.is_some_and(|usd| usd.get() <= 0.0) {
        return found(
            &["budgets", "user_day"],
            "`budgets.user_day` must be more than 0; leave it out for no limit".to_owned(),
        );
    }
    if let Err((keys, reason)) = config.check_mcp_servers(home) {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        return found(&keys, reason);
    }
    if let Err((keys, reason)) = config.check_agent_servers(home) {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        return found(&keys, reason);
    }
    if let Some(zone) = &config.timezone
        && let Err(error) = chorus_schedule::Zone::named(zone)
    {
        return found(&["timezone"], format!("`timezone`: {error}"));
    }
    for (name, provider) in &config.providers {
        if let Some(url) = &provider.base_url
            && !is_address(url)
        {
            return found(
                &["providers", name, "base_url"],
                format!(
                    "{url:?} is not an address: write one such as \"http://127.0.0.1:11434/v1\""
                ),
            );
        }
    }
    for (host, forge) in &config.forges {
        if !is_address(&forge.base_url) {
            return found(
                &["forges", host, "base_url"],
                format!(
                    "{:?} is not an address: write one such as \"https://{host}/api/v4\"",
                    forge.base_url
                ),
            );
        }
    }
    None
}

fn is_address(url: &str) -> bool {
    reqwest::Url::parse(url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

impl Mistake {
    /// Finds the place in `text`: each key in turn, after the previous one.
    pub(super) fn at(self, text: &str, path: &Path) -> Problem {
        let mut at = 0;
        for key in &self.keys {
            let quoted = serde_json::Value::from(key.as_str()).to_string();
            let Some(found) = text[at..].find(&quoted) else {
                break;
            };
            at += found + quoted.len();
        }
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Problem {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.len() - line_start + 1,
            reason: self.reason,
        }
    }
}
