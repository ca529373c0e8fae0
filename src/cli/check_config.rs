//! `chorus check-config`: is `config.json` right, without starting anything.

use std::path::PathBuf;

use super::failure::Failure;
use crate::config::{Config, Env};

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
        let path = match self.path {
            Some(path) => path,
            None => Env::of_process()?.paths.config(),
        };
        Config::load(&path)?;
        println!("{} is right", path.display());
        Ok(())
    }
}
