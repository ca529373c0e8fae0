//! The environment of a subcommand, with the file of `--env-file` if it is given.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::service::MACHINE_HOME;
use crate::config::{Env, EnvError, UnreadDotenv};

/// The option that names a file of variables.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct EnvFile {
    /// Also read secrets from this file. It must belong to you or root, in a place where no agent writes
    #[arg(long, global = true, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

impl EnvFile {
    pub(super) fn path(&self) -> Option<&Path> {
        self.env_file.as_deref()
    }

    /// Reads the environment of this process.
    pub(super) fn of_process(&self) -> Result<Env, EnvError> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Env::read(variables, self.path())
    }

    /// Reads these variables instead of this process's.
    pub(super) fn with(&self, variables: HashMap<String, String>) -> Result<Env, EnvError> {
        Env::read(variables, self.path())
    }

    /// Refuses the option for a subcommand that does not use it.
    pub(super) fn refuse(&self, why: &str) -> Result<(), Failure> {
        match &self.env_file {
            Some(path) => Err(Failure::Configuration(format!(
                "--env-file {} is not read: {why}",
                path.display()
            ))),
            None => Ok(()),
        }
    }
}

/// Refuses a home that another user made where everyone may create folders, before secrets are used with its settings.
/// Otherwise root reads other users' homes. The installation creates the machine's own home.
pub(super) fn refuse_strangers_home(env: &Env) -> Result<(), Failure> {
    if env.paths.home != Path::new(MACHINE_HOME) {
        env.check_home()?;
    }
    Ok(())
}

/// Returns the `.env` in the working directory that is not read.
pub(super) fn unread_dotenv(env: &Env) -> Option<UnreadDotenv> {
    env.unread_dotenv(&std::env::current_dir().ok()?)
}
