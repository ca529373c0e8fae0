//! The composition root: opens, wires, runs, and stops in order.
//!
//! ```text
//! run ─▶ House::open    lock ▸ store ▸ providers ▸ tools ▸ manager
//!     ─▶ recover        what the last stop left open is closed, before Discord is spoken to
//!     ─▶ discord::run   beside it: discovery of models, watchdog, /metrics, reload; once ready: the sandbox
//!     ─▶ shut_down      intake ▸ turns and contexts ▸ tasks ▸ last words ▸ gateway ▸ database, within 20 s
//! ```

mod allowed_hosts;
mod app;
mod exposition;
mod git;
mod log;
mod metrics;
mod options;
#[cfg(feature = "otlp")]
mod otlp;
mod process;
mod reload;
mod shut_down;
mod started;
mod watchdog;
mod web;
mod webhooks;

use anyhow::Context;
use futures_util::future::BoxFuture;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};

use crate::config::{Config, Env, SECRETS, check_webhook_key};
use crate::discord::{self, DiscordConfig, Ends, GatewayHealth};

use allowed_hosts::AllowedHosts;
use app::App;
use metrics::Metrics;
use watchdog::tell;
use web::Web;

pub use log::{Log, LogError, STEPS, TROUBLE, start as start_log};
pub use options::{DaemonError, DaemonOptions, Phase};
pub use started::StartedDaemon;

/// The status that systemd shows while Discord is connected.
pub(crate) const CONNECTED: &str = "connected to Discord";

/// Runs the daemon until `stop` is cancelled or Discord ends it for good.
///
/// # Errors
///
/// Fails if it cannot start, or must not continue; [`DaemonError`] shows who can act.
pub fn run(
    options: DaemonOptions,
    stop: CancellationToken,
) -> BoxFuture<'static, Result<(), DaemonError>> {
    // Boxed: this checks here, and not only where it is spawned, that it may be sent between threads.
    Box::pin(run_until_stopped(options, stop))
}

async fn run_until_stopped(
    options: DaemonOptions,
    stop: CancellationToken,
) -> Result<(), DaemonError> {
    let token = options.env.discord_token.clone().ok_or_else(|| {
        DaemonError::Configuration(
            "DISCORD_TOKEN is not set: run `chorus init`, or put the bot's token into .env, a file named by \
             DISCORD_TOKEN_FILE, or systemd's credentials"
                .to_owned(),
        )
    })?;
    warn_of_environment(&options.env, &options.config);
    raise_open_files();
    let hosts = AllowedHosts::new(&options.config.metrics_hosts);
    check_webhook_key(&options.config, &options.env)
        .map_err(|fault| DaemonError::Configuration(fault.to_string()))?;
    let web = match options.config.metrics_listen {
        Some(address) => Some(Web::bind(address).await?),
        None => None,
    };
    let phase = options.phase.clone();
    let reload = options.reload.clone();
    let reloaded = options.reloaded.clone();
    let base = options.env.discord_api_url.clone();
    let dev_guild = options.env.dev_guild_id;
    // Stopped before anything has started.
    if stop.is_cancelled() {
        return Ok(());
    }
    let (app, events) = App::open(options).await?;
    let unclaimed = app.recover().await?;
    app.tell_of_failures();

    let ends = Ends::default();
    let health = GatewayHealth::default();
    let discord = DiscordConfig {
        token,
        base,
        dev_guild,
        config: app.config.clone(),
        profiles: app.profiles.clone(),
        models: app.models.clone(),
        redactor: app.redactor.clone(),
        sandbox: app.sandbox.clone(),
        health: health.clone(),
        ends: ends.clone(),
    };
    let mut discord = tokio::spawn(discord::run(
        discord,
        app.manager.clone(),
        app.store.clone(),
        events,
    ));

    // An outage of Discord must not delay a booting machine.
    tell(&[
        NotifyState::Ready,
        NotifyState::Status("waiting for Discord"),
    ]);
    let helpers = Helpers::new();
    let watchdog = app.watchdog();
    helpers.start(|stop| watchdog.clone().feed_watchdog(stop));
    helpers.start(|stop| reload::on_demand(app.clone(), reload, reloaded, stop));
    helpers.start(|stop| app.clone().look_around(stop));
    helpers.start(|stop| app.clone().look_at_sandbox(health.clone(), stop));
    helpers.start(|stop| app.clone().redeliver(unclaimed, health.clone(), stop));
    helpers.start(|stop| app.manager.recovery.clone().end_cards(stop));
    helpers.start(|stop| app.clone().keep_schedules(health.clone(), stop));
    helpers.start(|stop| app.clone().keep_webhooks(health.clone(), stop));
    helpers.start(|stop| webhooks::receive(app.clone(), stop));
    if let Some(web) = web {
        let planned = (app.manager.planned_runs(), app.manager.deliveries());
        let metrics = Metrics::new(
            app.store.clone(),
            health.clone(),
            app.places.clone(),
            planned,
        );
        helpers.start(|stop| web.serve(watchdog, metrics, hosts, stop));
    }
    helpers.start(|stop| announce(health, phase.clone(), stop));

    let ended = tokio::select! {
        () = stop.cancelled() => None,
        ended = &mut discord => Some(ended),
    };
    let outcome = match ended {
        None => Ok(()),
        Some(ended) => ended
            .context("failed to serve Discord")?
            .map_err(DaemonError::from),
    };
    if let Err(error) = &outcome {
        error!("stopping: {error}");
    }
    phase.send_replace(Phase::Stopping);
    tell(&[
        NotifyState::Stopping,
        NotifyState::Status("stopping: ending turns, saving contexts"),
    ]);
    shut_down::in_order(&app, &ends, discord, helpers.stop()).await;
    if outcome.is_ok() {
        app.note_stop();
    }
    info!("stopped");
    outcome
}

/// Tasks that run beside Discord until the daemon stops.
struct Helpers {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Helpers {
    fn new() -> Self {
        Self {
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    fn start<F>(&self, work: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(work(self.stop.clone()));
    }

    /// Makes the tasks stop, and returns them to be awaited.
    fn stop(self) -> TaskTracker {
        self.stop.cancel();
        self.tasks.close();
        self.tasks
    }
}

/// Logs the problems in the environment, once at each start.
fn warn_of_environment(env: &Env, config: &Config) {
    let names = SECRETS.into_iter().chain(config.secret_names());
    // A secret that cannot be read has already ended the start.
    for file in env.files_open_to_others(names).unwrap_or_default() {
        warn!(
            "{0} can be read by others of this machine, with the secrets in it: chmod 600 {0}",
            file.display()
        );
    }
    for repeated in env.repeated() {
        warn!("{repeated}");
    }
    for (name, instead) in env.ignored() {
        warn!("{name} is set but not used: {instead}");
    }
}

/// Raises this process's limit of open files to the maximum: each turn, command and connection needs some, and about
/// fifty turns use up the usual 1,024. Commands have their own limit.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        debug!(%error, "the limit on open files stays as it is");
    }
}

/// Reports each time the gateway has become ready, until `stop`.
async fn announce(health: GatewayHealth, phase: watch::Sender<Phase>, stop: CancellationToken) {
    while stop
        .run_until_cancelled(health.becomes_ready())
        .await
        .is_some()
    {
        info!("ready: connected to Discord");
        phase.send_replace(Phase::Ready);
        tell(&[NotifyState::Status(CONNECTED)]);
        if stop.run_until_cancelled(health.is_lost()).await.is_some() {
            tell(&[NotifyState::Status("no connection to Discord; turns go on")]);
        }
    }
}
