//! `chorus check-config`: checks `config.json` without starting anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::environment::EnvFile;
use super::failure::Failure;
use super::output::{self, print_line};
use crate::agent::MOST_CORE_AGENTS;
use crate::config::{Config, Settings, effective};
use crate::domain::AgentConfig;
use crate::llm::discovery::{Models, Resolved};
use crate::llm::{Catalog, Providers};
use crate::text;

/// Check config.json and say what is wrong with it, and where.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus check-config
  chorus check-config /etc/chorus/config.json")]
pub(super) struct CheckConfig {
    /// File to check [default: config.json in CHORUS_HOME]
    path: Option<PathBuf>,
}

impl CheckConfig {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let env = env_file.of_process()?;
        if let Some(path) = self.path.as_ref().filter(|path| !path.exists()) {
            return Err(Failure::Configuration(format!(
                "{}: no such file",
                path.display()
            )));
        }
        let path = self.path.unwrap_or_else(|| env.paths.config());
        let config = Config::load(&path)?;
        // No matter where the file is, it is meant for this home.
        if let Some((folder, reason)) = config.unreadable_folder(Some(&env.paths.home)) {
            return Err(Failure::Configuration(format!(
                "{}: `sandbox_read`: {}: {reason}",
                path.display(),
                folder.display()
            )));
        }
        if let Some((folder, reason)) = config.refused_folder(Some(&env.paths.home)) {
            return Err(Failure::Configuration(format!(
                "{}: `folders`: {}: {reason}",
                path.display(),
                folder.display()
            )));
        }
        let providers = Providers::from_config(&config, &env)
            .map_err(|error| Failure::Configuration(format!("{}: {error}", path.display())))?;
        if config.budgets.user_day.is_some() {
            warn_of_unknown_prices(&config, &providers, &env.paths.agents());
        }
        for warning in config.folder_warnings() {
            output::tell(format_args!("chorus: warning: {warning}\n"));
        }
        let agents = agents(&env.paths.agents());
        let core = agents.iter().filter(|agent| agent.core == Some(true));
        let core = core.count();
        if core > MOST_CORE_AGENTS {
            output::tell(format_args!(
                "chorus: warning: {core} agents have `core: true`; only {MOST_CORE_AGENTS} go first, the others are ordinary\n"
            ));
        }
        for agent in agents {
            let targets = effective::agent(&agent, &Settings::default(), &config).models;
            let (agent, targets) = (agent.name, targets.len());
            let attempts = config.max_retries.get() as usize;
            if targets > attempts {
                output::tell(format_args!(
                    "chorus: warning: agent {agent} has {targets} models to ask and `max_retries` is {attempts}: the last are never asked\n"
                ));
            }
        }
        if path.exists() {
            print_line!("{}: OK", path.display());
        } else {
            print_line!("{} is not there: every key has its default", path.display());
        }
        Ok(())
    }
}

/// Warns about models that agents ask and that have no known price: `budgets.user_day` counts their requests as free.
fn warn_of_unknown_prices(config: &Config, providers: &Providers, folder: &Path) {
    let catalog = Arc::new(Catalog::new(config.models.clone()));
    let models = Models::new(Arc::new(providers.clone()), catalog, None);
    let agents = agents(folder);
    let asked = agents
        .iter()
        .flat_map(|agent| effective::agent(agent, &Settings::default(), config).models);
    let further = [
        &config.tiers.lightweight,
        &config.tiers.full,
        &config.default_model,
    ];
    let named: BTreeSet<String> = asked
        .chain(further.into_iter().flatten().cloned())
        .collect();
    for name in named {
        let target = match models.resolve(&name) {
            Resolved::Found(target) | Resolved::Unlisted(target) => target,
            // Without a provider in the name it would be a guess.
            Resolved::Undiscovered(target) if name.contains('/') => target,
            Resolved::Undiscovered(_) | Resolved::NotFound { .. } | Resolved::NoProvider => {
                continue;
            }
        };
        if models.catalog().facts(&target).price.is_none() {
            let name = text::one_line(&name, 100);
            output::tell(format_args!(
                "chorus: warning: `budgets.user_day` counts requests to {name} as 0 USD, because its price is not known: set `input_price` and `output_price` for it under `models`\n"
            ));
        }
    }
}

/// Returns the agents of a home by name, as far as they can be read. The servers' `/settings` are not read.
fn agents(agents: &Path) -> Vec<AgentConfig> {
    let folders = std::fs::read_dir(agents).into_iter().flatten().flatten();
    let read = |folder: std::fs::DirEntry| {
        let text = std::fs::read_to_string(folder.path().join("agent.json")).ok()?;
        serde_json::from_str(&text).ok()
    };
    let mut found: Vec<AgentConfig> = folders.filter_map(read).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}
