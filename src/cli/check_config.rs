//! `chorus check-config`: is `config.json` right, without starting anything.

use std::path::PathBuf;

use super::failure::Failure;
use crate::config::{Config, Env};
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
    pub(super) fn run(self) -> Result<(), Failure> {
        let env = Env::of_process()?;
        let path = self.path.unwrap_or_else(|| env.paths.config());
        let config = Config::load(&path)?;
        if let Err(error) = Providers::from_config(&config, &env) {
            return Err(Failure::Configuration(format!(
                "{}: {error}",
                path.display()
            )));
        }
        println!("{} is right", path.display());
        Ok(())
    }
}
