//! Reads `config.json`, and the keys of models in `.env`, again on SIGHUP.

use std::sync::Arc;

use sd_notify::NotifyState;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::app::App;
use super::options::{DaemonError, secrets};
use super::watchdog::tell;
use crate::config::{self, Config, ConfigError, EnvError};
use crate::llm::places::PlaceLimits;
use crate::llm::{Providers, ProvidersError};
use crate::permission::{ProfileError, Profiles};

/// Reads the configuration each time `bell` is notified, until `stop`. An invalid one changes nothing, and the operator
/// gets a notice.
pub(super) async fn on_demand(
    app: App,
    bell: Arc<Notify>,
    reloaded: watch::Sender<u64>,
    stop: CancellationToken,
) {
    while stop.run_until_cancelled(bell.notified()).await.is_some() {
        begin();
        let status = reload(&app).await;
        reloaded.send_modify(|count| *count += 1);
        // A turn that asks a model before this is over looks it up itself.
        stop.run_until_cancelled(app.look_at_models()).await;
        tell(&[NotifyState::Ready, NotifyState::Status(&status)]);
    }
}

fn begin() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => warn!("failed to notify systemd of the reload: {error}"),
    }
}

/// Applies the file if it is valid, and returns the outcome as a line.
async fn reload(app: &App) -> String {
    let files = app.clone();
    let read = spawn_blocking(move || read(&files)).await;
    match read.map_err(ReloadError::from).flatten() {
        Ok((mut new, named)) => {
            new.servers.extend(app.servers.iter());
            for key in waiting(&app.config.load(), &new) {
                warn!("config.json: `{key}` changed, which takes effect at the next start");
            }
            app.profiles.store(Arc::new(named));
            app.places.set(PlaceLimits::of(&new));
            app.config.store(Arc::new(new));
            app.servers_may_differ();
            info!("config.json was reloaded");
            "config.json was reloaded".to_owned()
        }
        Err(reason) => {
            error!(
                "failed to reload config.json; the earlier configuration stays in use: {reason}"
            );
            app.tell_operator(
                format!("config.json: {reason}"),
                format!("config.json is invalid, so the previous one stays in use: {reason}"),
            );
            format!("config.json stays as it was: {reason}")
        }
    }
}

/// Reads both files, and applies the providers, which they define together.
fn read(app: &App) -> Result<(Config, Profiles), ReloadError> {
    let config = Config::load(&app.paths.config())?;
    let profiles = config.permission_profiles()?;
    let env = app.env.read_again()?;
    let providers = Providers::from_config(&config, &env)?.or_demo(app.demo.as_deref())?;
    let secrets = secrets(&env, &config)?;
    let secrets = secrets.iter().map(|secret| secret.expose().to_owned());
    app.redactor.learn(secrets.collect());
    app.models.use_providers(&providers);
    Ok((config, profiles))
}

/// Why config.json cannot be applied.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Profiles(#[from] ProfileError),
    #[error("{0}")]
    Env(#[from] EnvError),
    #[error("{0}")]
    Providers(#[from] ProvidersError),
    #[error("{0}")]
    Secrets(#[from] DaemonError),
    #[error("{0}")]
    BrokeOff(#[from] JoinError),
}

/// Returns the changed keys that a reload does not apply.
fn waiting(old: &Config, new: &Config) -> Vec<String> {
    let value = |config| serde_json::to_value(config).unwrap_or_default();
    let (old, new) = (value(old), value(new));
    let mut keys = config::keys_at_start();
    keys.retain(|key| old.get(key) != new.get(key));
    keys
}
