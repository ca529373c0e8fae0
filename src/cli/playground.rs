//! `chorus playground`: try everything on this machine, without an account, a key or a network.

mod desk;
mod trial;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use tokio::sync::watch;
use tracing::warn;

use super::environment::{EnvFile, refuse_strangers_home, unread_dotenv};
use super::failure::Failure;
use super::handover;
use super::output::print_line;
use super::run::Signals;
use crate::daemon::{self, DaemonOptions};
use desk::{Answers, Desk};
use trial::{PlaygroundError, Trial};

/// Try Chorus in the browser: a local Discord, a demo model and a page on loopback.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus playground
  ANTHROPIC_API_KEY=… chorus playground --port 9000
  chorus playground --home /tmp/chorus-trial")]
pub(super) struct PlaygroundCommand {
    /// Port of the page on 127.0.0.1; 0 chooses a free one.
    #[arg(long, default_value_t = 8300)]
    port: u16,
    /// Directory for all data [default: ~/.chorus-playground].
    #[arg(long)]
    home: Option<PathBuf>,
}

impl PlaygroundCommand {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let mut variables = handover::variables()?;
        let home = self.home_directory(&variables)?;
        set(&mut variables, "CHORUS_HOME", home.display().to_string());
        let env = env_file.with(variables.clone())?;
        refuse_strangers_home(&env)?;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        let outcome = runtime.block_on(async {
            let signals = Signals::listen()?;
            let reloaded = watch::Sender::new(0);
            let desk = Desk::new(env, Arc::clone(&signals.reload), reloaded.clone());
            let answers = desk.answers();
            let trial = Trial::start(&home, self.port, Arc::new(desk)).await?;
            for (name, value) in trial.variables() {
                set(&mut variables, name, value);
            }
            let mut options = DaemonOptions::load(env_file.with(variables)?)?;
            let _log = daemon::start_log(&options.env, &options.redactor, daemon::TROUBLE)
                .map_err(|error| Failure::Configuration(error.to_string()))?;
            if let Some(unread) = unread_dotenv(&options.env) {
                warn!("{unread}");
            }
            options.reload = signals.reload;
            options.reloaded = reloaded;
            options.demo = Some(trial.demo().to_owned());
            welcome(
                &trial,
                &answers,
                options.env.text("SSH_CONNECTION").is_some(),
            );
            let outcome = daemon::run(options, signals.stop).await;
            trial.stop().await;
            Ok(outcome?)
        });
        // Hanging threads are left behind; recovery cleans up at the next start.
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
                "HOME is not set: say where to keep things with `chorus playground --home <DIR>`";
            Failure::Configuration(words.to_owned())
        })?;
        Ok(PathBuf::from(user).join(".chorus-playground"))
    }
}

fn set(variables: &mut HashMap<String, String>, name: &str, value: String) {
    variables.remove(&format!("{name}_FILE"));
    variables.insert(name.to_owned(), value);
}

fn welcome(trial: &Trial, answers: &Answers, is_remote: bool) {
    let url = trial.url();
    print_line!("Chorus playground: {url}");
    print_line!("Open it in a browser and create your first agent there. Ctrl-C stops it.");
    if is_remote {
        let port = url.rsplit(':').next().unwrap_or_default();
        print_line!(
            "From your own machine: ssh -L {port}:127.0.0.1:{port} <this machine>, then open {url} there."
        );
    }
    match answers {
        Answers::Demo => print_line!(
            "No model is configured, so a demo model answers; the page offers a real one, with a key or from a model server on this machine."
        ),
        Answers::Configured(names) => print_line!(
            "Answers come from {}. Requests go there and, with a key, are billed as usual.",
            names.join(", ")
        ),
    }
    if rustix::process::geteuid().is_root() {
        print_line!("This is root: fine for a trial, but run the daemon itself as its own user.");
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
