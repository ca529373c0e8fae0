//! `chorus run`: the daemon, for real.

use std::sync::Arc;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{failure::Failure, handover};
use crate::config::Env;
use crate::daemon::{self, DaemonOptions};

/// Run the daemon until it is told to stop (SIGINT, SIGTERM).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  DISCORD_TOKEN_FILE=/etc/chorus/token chorus run
  CHORUS_HOME=/srv/chorus CHORUS_LOG=info,chorus::llm=debug chorus run")]
pub(super) struct Run {}

impl Run {
    pub(super) fn run(self) -> Result<(), Failure> {
        let env = daemon_env()?;
        refuse_root(&env)?;
        let options = DaemonOptions::load(env)?;
        daemon::start_log(options.env.text("CHORUS_LOG"), &options.secrets()?)
            .map_err(Failure::Configuration)?;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        let outcome = runtime.block_on(until_told(options));
        // What hangs is left behind; the ledger makes the next start clean.
        runtime.shutdown_background();
        outcome
    }
}

/// Runs the daemon until SIGINT or SIGTERM, or until Discord ends it for good.
pub(super) async fn until_told(options: DaemonOptions) -> Result<(), Failure> {
    let stop = CancellationToken::new();
    let signals = Signals::listen()?;
    let heard = tokio::spawn(signals.hear(stop.clone(), Arc::clone(&options.reload)));
    let outcome = daemon::run(options, stop).await;
    heard.abort();
    Ok(outcome?)
}

/// The environment of a daemon: read once, and no secret stays in it.
pub(super) fn daemon_env() -> Result<Env, Failure> {
    let variables = handover::variables()?;
    let directory = std::env::current_dir().ok();
    Ok(Env::read(variables, directory.as_deref())?)
}

/// Agents run commands: as root a mistake of theirs is a mistake of the machine's owner.
fn refuse_root(env: &Env) -> Result<(), Failure> {
    if env.allow_root || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Failure::Configuration(
        "this is root: run as a user of its own (`chorus service install` makes one), \
         or set CHORUS_ALLOW_ROOT=1 if you mean it"
            .to_owned(),
    ))
}

/// The signals that a daemon understands.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).context("listening for SIGINT")?,
            terminate: signal(SignalKind::terminate()).context("listening for SIGTERM")?,
            hangup: signal(SignalKind::hangup()).context("listening for SIGHUP")?,
        })
    }

    /// Rings `reload` at each SIGHUP; cancels `stop` at the first SIGINT or SIGTERM.
    pub(super) async fn hear(mut self, stop: CancellationToken, reload: Arc<Notify>) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => break,
                _ = self.terminate.recv() => break,
                _ = self.hangup.recv() => reload.notify_one(),
            }
        }
        stop.cancel();
    }
}
