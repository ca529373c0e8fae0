//! Chooses the models that get their own command: those of the catalog that are available, and those of local servers.

use super::Models;
use crate::llm::catalog::{Catalog, Shortcut, without_date};
use crate::llm::target::Target;

/// Most local models that get a command. A server lists a handful; Discord accepts 100 commands in total.
const MOST_LOCAL: usize = 20;

/// Most characters of a command's name.
const MAX_NAME: usize = 32;

impl Models {
    /// Returns a shortcut for each available model of the catalog, and for local models. No name is among `taken`.
    pub fn shortcuts(&self, taken: &[&str]) -> Vec<Shortcut> {
        let all = self.all();
        let is_there = |shortcut: &&Shortcut| all.iter().any(|one| one.model == shortcut.model);
        let mut shortcuts: Vec<Shortcut> = Catalog::shortcuts()
            .iter()
            .filter(is_there)
            .cloned()
            .collect();
        // A model that has a command of the catalog needs no second one, and neither does a dated name of a listed
        // model.
        let has_command = |target: &&Target| shortcuts.iter().any(|one| one.model == target.model);
        let is_twin = |target: &&Target| {
            let base = without_date(&target.model);
            base.is_some_and(|base| all.contains(&Target::new(&target.provider, base)))
        };
        let local: Vec<&Target> = all
            .iter()
            .filter(|target| self.providers.is_local(&target.provider))
            .filter(|target| !has_command(target) && !is_twin(target))
            .take(MOST_LOCAL)
            .collect();
        for target in local {
            let is_free = |name: &String| {
                !name.is_empty()
                    && !taken.contains(&name.as_str())
                    && Catalog::shortcuts().iter().all(|one| one.name != *name)
                    && shortcuts.iter().all(|one| one.name != *name)
            };
            if let Some(name) = names(target).into_iter().find(is_free) {
                shortcuts.push(Shortcut {
                    name,
                    model: target.to_string(),
                    display: target.to_string(),
                });
            }
        }
        shortcuts
    }
}

/// Returns possible names of a command for `target`, the best first.
fn names(target: &Target) -> [String; 2] {
    let model = target.model.strip_suffix(":latest");
    let model = model.unwrap_or(&target.model);
    [
        command_name(model),
        command_name(&format!("{}-{model}", target.provider)),
    ]
}

/// Returns `text` in the form of a command's name: lower-case letters, digits and single dashes.
fn command_name(text: &str) -> String {
    let mut name = String::new();
    for char in text.to_lowercase().chars() {
        if char.is_ascii_alphanumeric() || char == '_' {
            name.push(char);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(MAX_NAME);
    name.trim_end_matches('-').to_owned()
}
