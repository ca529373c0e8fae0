//! Where answers are stored: in the home of the user who starts the daemon, or in that of the machine's service and its
//! credentials. The service of each reads the same places.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value};

use crate::cli::environment::{EnvFile, refuse_strangers_home};
use crate::cli::failure::Failure;
use crate::cli::home_files::{self, Owner, change_config, keep_in_dotenv};
use crate::cli::output::print_line;
use crate::cli::service::{self, MACHINE_HOME, Manager};
use crate::config::{Config, ConfigError, Env};

/// Who the daemon is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Whose {
    /// You: your home, your own service
    You,
    /// This machine: /var/lib/chorus, a service with its own user; needs root
    Machine,
}

#[derive(Debug)]
pub(super) struct Place {
    pub(super) whose: Whose,
    pub(super) home: PathBuf,
    /// The owner of the machine's home.
    owner: Option<Owner>,
    env_file: EnvFile,
}

impl Place {
    /// Creates the home; an existing one is not changed.
    pub(super) fn make(whose: Whose, env: &Env, env_file: &EnvFile) -> Result<Self, Failure> {
        match whose {
            Whose::You => {
                refuse_strangers_home(env)?;
                let home = env.paths.home.clone();
                make_folder(&home)?;
                Ok(Self {
                    whose,
                    home,
                    owner: None,
                    env_file: env_file.clone(),
                })
            }
            Whose::Machine => Self::of_machine(env_file),
        }
    }

    fn of_machine(env_file: &EnvFile) -> Result<Self, Failure> {
        let home = PathBuf::from(MACHINE_HOME);
        let chosen = std::env::var_os("CHORUS_HOME").filter(|chosen| !chosen.is_empty());
        if chosen.is_some_and(|chosen| Path::new(&chosen) != home) {
            return Err(Failure::Configuration(format!(
                "the machine's service has its home in {MACHINE_HOME}: unset CHORUS_HOME, or choose --for you"
            )));
        }
        if !rustix::process::geteuid().is_root() {
            let program = std::env::current_exe().context("finding this program's file")?;
            return Err(Failure::Configuration(format!(
                "a service for this machine is set up by root: sudo {} init --for machine",
                program.display()
            )));
        }
        service::make_user()?;
        let (user, group) = service::user_ids()?;
        let is_new = !home.exists();
        make_folder(&home)?;
        if is_new {
            chown(&home, Some(user), Some(group))
                .with_context(|| format!("giving {} to the user chorus", home.display()))?;
        }
        make_folder(&Manager::System.folders()?.credentials)?;
        Ok(Self {
            whose: Whose::Machine,
            home,
            owner: Some(Owner { user, group }),
            env_file: env_file.clone(),
        })
    }

    pub(super) fn manager(&self) -> Manager {
        match self.whose {
            Whose::You => Manager::User,
            Whose::Machine => Manager::System,
        }
    }

    /// Returns the environment as the daemon will have it, with the file of `--env-file`.
    pub(super) fn env(&self) -> Result<Env, Failure> {
        let process = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let mut variables: HashMap<String, String> = process.collect();
        variables.insert("CHORUS_HOME".to_owned(), self.home.display().to_string());
        let credentials = self.manager().folders()?.credentials;
        if self.whose == Whose::Machine || credentials.is_dir() {
            let credentials = credentials.display().to_string();
            variables.insert("CREDENTIALS_DIRECTORY".to_owned(), credentials);
        }
        Ok(self.env_file.with(variables)?)
    }

    pub(super) fn config(&self) -> Result<Config, ConfigError> {
        Config::load(&self.config_file())
    }

    pub(super) fn config_file(&self) -> PathBuf {
        self.home.join("config.json")
    }

    /// Stores a secret where the daemon reads it, readable only by its user or root.
    pub(super) fn keep_secret(&self, variable: &str, value: &str) -> anyhow::Result<()> {
        let kept = match self.whose {
            Whose::You => {
                let dotenv = self.home.join(".env");
                keep_in_dotenv(&dotenv, variable, value)?;
                dotenv
            }
            Whose::Machine => {
                let file = self.manager().folders()?.credentials.join(variable);
                home_files::replace(&file, &format!("{value}\n"), None)?;
                file
            }
        };
        print_line!("  {variable} kept in {}", kept.display());
        Ok(())
    }

    /// Stores a secret that came from this shell's environment or `--env-file`, which no service sees.
    pub(super) fn keep_of_shell(&self, variable: &str) -> Result<(), Failure> {
        let env = self.env()?;
        let source = env.secret_source(variable)?;
        if source.is_some_and(|source| source.is_of_this_start())
            && let Some(secret) = env.secret(variable)?
        {
            self.keep_secret(variable, secret.expose())?;
        }
        Ok(())
    }

    pub(super) fn change_config(
        &self,
        change: impl FnOnce(&mut Map<String, Value>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        change_config(&self.config_file(), self.owner, change)
    }
}

fn make_folder(folder: &Path) -> anyhow::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("making {}", folder.display()))
}
