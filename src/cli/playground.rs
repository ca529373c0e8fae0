//! `chorus playground`: try everything here and now, without an account, a key or a network.

mod trial;

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Context;

use super::failure::Failure;
use super::handover;
use super::run::Signals;
use crate::config::Env;
use crate::daemon::{self, DaemonOptions};
use trial::{ModelSource, PlaygroundError, Trial};

/// Try Chorus in the browser: a local Discord, a demo model and a page on loopback.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus playground
  ANTHROPIC_API_KEY=… chorus playground --port 9000
  chorus playground --home /tmp/chorus-trial")]
pub(super) struct PlaygroundCommand {
    /// Port of the page on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8300)]
    port: u16,
    /// Directory of its own that everything is kept in [default: ~/.chorus-playground].
    #[arg(long)]
    home: Option<PathBuf>,
}

impl PlaygroundCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut variables = handover::variables()?;
        let home = self.home_directory(&variables)?;
        set(&mut variables, "CHORUS_HOME", home.display().to_string());
        let directory = std::env::current_dir().ok();
        let source = model_source(&Env::read(variables.clone(), directory.as_deref())?);
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        let outcome = runtime.block_on(async {
            let signals = Signals::listen()?;
            let trial = Trial::start(&home, self.port, source).await?;
            for (name, value) in trial.variables() {
                set(&mut variables, name, value);
            }
            let mut options = DaemonOptions::load(Env::read(variables, directory.as_deref())?)?;
            let _log = daemon::start_log(&options.env, &options.redactor)
                .map_err(|error| Failure::Configuration(error.to_string()))?;
            options.reload = signals.reload;
            welcome(&trial, source);
            let outcome = daemon::run(options, signals.stop).await;
            trial.stop().await;
            Ok(outcome?)
        });
        // What hangs is left behind; the ledger makes the next start clean.
        runtime.shutdown_background();
        outcome
    }

    fn home_directory(&self, variables: &HashMap<String, String>) -> Result<PathBuf, Failure> {
        if let Some(home) = &self.home {
            return Ok(std::path::absolute(home).context("finding the home directory")?);
        }
        let user = variables.get("HOME").filter(|home| !home.is_empty());
        let user = user.ok_or_else(|| {
            let words =
                "there is no HOME: say where to keep things with `chorus playground --home <DIR>`";
            Failure::Configuration(words.to_owned())
        })?;
        Ok(PathBuf::from(user).join(".chorus-playground"))
    }
}

/// A real model when there is a key or a server of one's own, else the demo model.
fn model_source(env: &Env) -> ModelSource {
    let providers = [&env.anthropic, &env.openai, &env.gemini];
    let is_configured = providers
        .iter()
        .any(|one| one.key.is_some() || one.base_url.is_some());
    if is_configured {
        ModelSource::Real
    } else {
        ModelSource::Demo
    }
}

fn set(variables: &mut HashMap<String, String>, name: &str, value: String) {
    variables.remove(&format!("{name}_FILE"));
    variables.insert(name.to_owned(), value);
}

fn welcome(trial: &Trial, source: ModelSource) {
    println!("Chorus playground: {}", trial.url());
    println!("Open it in a browser, run /agent init, and talk to your agent. Ctrl-C ends it.");
    match source {
        ModelSource::Demo => println!(
            "There is no key, so a demo model answers; set ANTHROPIC_API_KEY or OPENAI_API_KEY for a real one."
        ),
        ModelSource::Real => println!(
            "Your key is used: what agents ask a model is sent there and costs what it costs."
        ),
    }
    if rustix::process::geteuid().is_root() {
        println!("This is root: fine for a trial, but run the daemon itself as a user of its own.");
    }
}

impl From<PlaygroundError> for Failure {
    fn from(error: PlaygroundError) -> Self {
        match error {
            PlaygroundError::PortTaken(_)
            | PlaygroundError::Port { .. }
            | PlaygroundError::Home { .. } => Self::Configuration(error.to_string()),
            PlaygroundError::Server(_) => Self::Failed(error.into()),
        }
    }
}
