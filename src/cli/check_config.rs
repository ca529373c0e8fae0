//! `chorus check-config`: checks `config.json` without starting anything.

use std::path::{Path, PathBuf};

use super::environment::EnvFile;
use super::failure::Failure;
use super::output::{self, print_line};
use crate::agent::MOST_CORE_AGENTS;
use crate::config::{Config, Settings, effective};
use crate::domain::AgentConfig;
use crate::llm::Providers;

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
        // Wherever the file is, it is meant for this home.
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
        if let Err(error) = Providers::from_config(&config, &env) {
            return Err(Failure::Configuration(format!(
                "{}: {error}",
                path.display()
            )));
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

/// The agents of a home by name, as far as they can be read. The servers' `/settings` are not read.
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
