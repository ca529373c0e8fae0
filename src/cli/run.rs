//! `chorus run`: the daemon in production.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::environment::{EnvFile, refuse_strangers_home, unread_dotenv};
use super::{failure::Failure, handover};
use crate::config::Env;
use crate::daemon::{self, DaemonOptions};

/// How long a thread for files waits for more work. A crowd of requests leaves about two hundred of them, each with its
/// stack and its share of the heap; the next turn directly after it still finds them.
const IDLE_THREAD: Duration = Duration::from_secs(3);

/// Run the daemon until SIGINT or SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  DISCORD_TOKEN_FILE=/etc/chorus/token chorus run
  CHORUS_HOME=/srv/chorus CHORUS_LOG=info,chorus::llm=debug chorus run")]
pub(super) struct Run {}

impl Run {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let variables = handover::variables()?;
        // One worker: a turn is many small steps, and waking another thread for one costs more than the step
        // (`docs/decisions/0813-one-worker-for-async-work.md`).
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime
            .worker_threads(1)
            .thread_keep_alive(IDLE_THREAD)
            .enable_all()
            .build();
        let runtime = runtime.context("starting the runtime")?;
        let outcome = runtime.block_on(async {
            // First of all, so that no signal is missed.
            let signals = Signals::listen()?;
            let options = options(env_file.with(variables)?, &signals)?;
            // Kept to the end, so that its last lines are written then.
            let _log = daemon::start_log(&options.env, &options.redactor, daemon::STEPS)
                .map_err(|error| Failure::Configuration(error.to_string()))?;
            if let Some(unread) = unread_dotenv(&options.env) {
                warn!("{unread}");
            }
            Ok(daemon::run(options, signals.stop).await?)
        });
        // Hanging threads are left behind; recovery cleans up at the next start.
        runtime.shutdown_background();
        outcome
    }
}

/// Returns the options that the daemon starts with.
fn options(env: Env, signals: &Signals) -> Result<DaemonOptions, Failure> {
    refuse_root(&env)?;
    refuse_strangers_home(&env)?;
    let mut options = DaemonOptions::load(env)?;
    options.reload = Arc::clone(&signals.reload);
    Ok(options)
}

/// Refuses to run as root: agents run commands, and a mistake of theirs would affect the whole machine.
fn refuse_root(env: &Env) -> Result<(), Failure> {
    if env.allow_root || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Failure::Configuration(
        "this is root: run Chorus as its own user (`chorus service install` creates one), \
         or set CHORUS_ALLOW_ROOT=1 if you mean it"
            .to_owned(),
    ))
}

/// The meaning of signals for a daemon.
pub(super) struct Signals {
    /// Cancelled at the first SIGINT or SIGTERM.
    pub(super) stop: CancellationToken,
    /// Notified at each SIGHUP.
    pub(super) reload: Arc<Notify>,
}

impl Signals {
    /// Listens from now on, until this process ends. Needs a runtime.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
        let terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        let hangup = signal(SignalKind::hangup()).context("listening for SIGHUP")?;
        // Caught, so that a write beyond a limit (`LimitFSIZE=`, `ulimit -f`) fails like one on a full disk and does not
        // end the process. It stays caught without a listener; commands that agents run start with the default again.
        let _ =
            signal(SignalKind::from_raw(Number::XFSZ.as_raw())).context("listening for SIGXFSZ")?;
        let stop = CancellationToken::new();
        let reload = Arc::<Notify>::default();
        tokio::spawn(hear(
            [interrupt, terminate],
            hangup,
            stop.clone(),
            Arc::clone(&reload),
        ));
        Ok(Self { stop, reload })
    }
}

async fn hear(
    [mut interrupt, mut terminate]: [Signal; 2],
    mut hangup: Signal,
    stop: CancellationToken,
    reload: Arc<Notify>,
) {
    loop {
        tokio::select! {
            _ = interrupt.recv() => stop.cancel(),
            _ = terminate.recv() => stop.cancel(),
            _ = hangup.recv() => reload.notify_one(),
        }
    }
}
