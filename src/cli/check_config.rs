//! `chorus check-config`: checks `config.json` without starting anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::environment::EnvFile;
use super::failure::Failure;
use super::output::{self, print_json, print_line};
use crate::agent::MOST_CORE_AGENTS;
use crate::config::{Config, Env, Settings, check_webhook_key, effective};
use crate::domain::AgentConfig;
use crate::llm::discovery::{Models, Resolved};
use crate::llm::{Catalog, Providers};
use crate::text;

/// Check config.json and show each error with its line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus check-config
  chorus check-config /etc/chorus/config.json
  chorus check-config --json | jq .warnings")]
pub(super) struct CheckConfig {
    /// File to check [default: config.json in CHORUS_HOME]
    path: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The result of a check, for programs.
#[derive(Serialize)]
struct Report {
    file: PathBuf,
    /// Whether the file is there; without it every key has its default.
    exists: bool,
    error: Option<String>,
    warnings: Vec<String>,
}

impl CheckConfig {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let env = env_file.of_process()?;
        let path = self.path.clone().unwrap_or_else(|| env.paths.config());
        let mut warnings = Vec::new();
        let checked = self.check(&env, &path, &mut warnings);
        if self.json {
            print_json(&Report {
                exists: path.exists(),
                error: checked.as_ref().err().map(Failure::to_string),
                file: path,
                warnings,
            })?;
            return checked;
        }
        for warning in warnings {
            output::tell(format_args!("chorus: warning: {warning}\n"));
        }
        checked?;
        if path.exists() {
            print_line!("{}: OK", path.display());
        } else {
            print_line!(
                "{} does not exist: every key has its default",
                path.display()
            );
        }
        Ok(())
    }

    fn check(&self, env: &Env, path: &Path, warnings: &mut Vec<String>) -> Result<(), Failure> {
        if self.path.is_some() && !path.exists() {
            return Err(Failure::Configuration(format!(
                "{}: no such file",
                path.display()
            )));
        }
        let config = Config::load(path)?;
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
        check_webhook_key(&config, env)
            .map_err(|fault| Failure::Configuration(format!("{}: {fault}", path.display())))?;
        let providers = Providers::from_config(&config, env)
            .map_err(|error| Failure::Configuration(format!("{}: {error}", path.display())))?;
        if config.budgets.user_day.is_some() {
            warnings.extend(unknown_prices(&config, &providers, &env.paths.agents()));
        }
        warnings.extend(config.folder_warnings());
        let agents = agents(&env.paths.agents());
        let core = agents.iter().filter(|agent| agent.core == Some(true));
        let core = core.count();
        if core > MOST_CORE_AGENTS {
            warnings.push(format!(
                "{core} agents have `core: true`; only {MOST_CORE_AGENTS} go first, the others are ordinary"
            ));
        }
        for agent in agents {
            let targets = effective::agent(&agent, &Settings::default(), &config).models;
            let (agent, targets) = (agent.name, targets.len());
            let attempts = config.max_retries.get() as usize;
            if targets > attempts {
                warnings.push(format!(
                    "agent {agent} has {targets} models to ask and `max_retries` is {attempts}: the last are never asked"
                ));
            }
        }
        Ok(())
    }
}

/// Returns a warning for each model that agents ask and that has no known price: `budgets.user_day` counts its requests as free.
fn unknown_prices(config: &Config, providers: &Providers, folder: &Path) -> Vec<String> {
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
    let mut warnings = Vec::new();
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
            warnings.push(format!(
                "`budgets.user_day` counts requests to {name} as 0 USD, because its price is not known: set `input_price` and `output_price` for it under `models`"
            ));
        }
    }
    warnings
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
