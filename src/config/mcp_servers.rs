//! The entries of `mcpServers` in `config.json`.

use std::collections::BTreeMap;
use std::path::Path;

use chorus_mcp::{Entry, Place, is_server_name};
use serde_json::Value;

use super::check::why_unreadable;
use super::keys::{Config, ProgramMemory};

impl Config {
    /// Returns the servers of `mcpServers` by name. The file was checked when it was read, so none is left out.
    pub fn mcp_entries(&self) -> BTreeMap<String, Entry> {
        let read = |(name, value): (&String, &Value)| {
            Some((name.clone(), Entry::read(value, Place::Operator).ok()?))
        };
        self.mcp_servers.iter().filter_map(read).collect()
    }

    /// Returns why no confined program may read `folder`, if so; `home` is Chorus's own.
    pub fn why_unreadable(folder: &Path, home: &Path) -> Option<String> {
        why_unreadable(folder, Some(home))
    }

    /// Checks every entry. `home` is the folder of the file.
    ///
    /// # Errors
    ///
    /// Fails with the keys that lead to the first mistake, and the reason.
    pub(super) fn check_mcp_servers(
        &self,
        home: Option<&Path>,
    ) -> Result<(), (Vec<String>, String)> {
        for (name, value) in &self.mcp_servers {
            let at = |key: &str, reason: String| {
                let keys = ["mcpServers", name, key].map(str::to_owned).to_vec();
                (keys, format!("`mcpServers`: {name}: {reason}"))
            };
            if !is_server_name(name) {
                let rule = "a name has lower-case letters, digits and hyphens, at most 31";
                return Err(at("", rule.to_owned()));
            }
            let entry = Entry::read(value, Place::Operator);
            let entry = entry.map_err(|error| {
                let key = error.key.split('.').next_back().unwrap_or_default();
                at(key, error.to_string())
            })?;
            for folder in &entry.chorus.read {
                if let Some(reason) = why_unreadable(Path::new(folder), home) {
                    return Err(at("read", format!("`chorus.read`: {folder}: {reason}")));
                }
            }
            if let Some(memory) = &entry.chorus.memory
                && let Err(reason) = memory_of(memory)
            {
                return Err(at("memory", format!("`chorus.memory`: {reason}")));
            }
        }
        Ok(())
    }
}

/// Reads an entry's `chorus.memory`.
///
/// # Errors
///
/// Fails if it is not a size, or out of range.
pub fn memory_of(text: &str) -> Result<ProgramMemory, serde_json::Error> {
    serde_json::from_value(Value::String(text.to_owned()))
}
