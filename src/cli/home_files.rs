//! Files that subcommands write into a home: secrets into `.env`, keys into `config.json`. A file is written completely
//! or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::fchown;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};

/// The owner of a file that root writes for another user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Owner {
    pub(super) fn takes(self, file: &File) -> io::Result<()> {
        fchown(file, Some(self.user), Some(self.group))
    }
}

/// Writes `text` to `path` completely or not at all; only one user can read it.
pub(super) fn replace(path: &Path, text: &str, owner: Option<Owner>) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        // Only its owner can read a temporary file.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        if let Some(owner) = owner {
            owner.takes(file.as_file())?;
        }
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().with_context(|| format!("writing {}", path.display()))
}

/// Sets a variable in a `.env`, replacing one of the same name.
pub(super) fn keep_in_dotenv(path: &Path, variable: &str, value: &str) -> anyhow::Result<()> {
    let before = text_of(path)?.unwrap_or_default();
    let is_other = |line: &&str| {
        let line = line.trim_start();
        let name = line.strip_prefix("export ").unwrap_or(line);
        !name
            .strip_prefix(variable)
            .is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let mut text: String = before
        .lines()
        .filter(is_other)
        .map(|line| format!("{line}\n"))
        .collect();
    text.push_str(&format!("{variable}='{value}'\n"));
    replace(path, &text, None)
}

/// Changes keys of `config.json` and keeps all others.
pub(super) fn change_config(
    path: &Path,
    owner: Option<Owner>,
    change: impl FnOnce(&mut Map<String, Value>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut keys: Map<String, Value> = match text_of(path)? {
        Some(text) => serde_json::from_str(&text)
            .with_context(|| format!("{} is not JSON", path.display()))?,
        None => Map::new(),
    };
    change(&mut keys)?;
    replace(path, &format!("{:#}\n", Value::Object(keys)), owner)
}

/// Adds a model server to `providers`, unless it is already there.
pub(super) fn name_provider(
    keys: &mut Map<String, Value>,
    name: &str,
    provider: Value,
) -> anyhow::Result<()> {
    let providers = keys
        .entry("providers")
        .or_insert_with(|| Value::Object(Map::new()));
    let providers = providers
        .as_object_mut()
        .context("`providers` in config.json is not an object")?;
    providers.entry(name).or_insert(provider);
    Ok(())
}

/// Returns the content of a file, or `None` if there is no such file.
pub(super) fn text_of(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}
