//! `config.json` read anew, on SIGHUP.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::config::{Config, Paths};
use crate::permission::Profiles;

/// Reads the configuration each time `bell` is rung, until `stop`. A wrong one changes nothing.
///
/// What is put together once at the start stays until the next: providers, the sandbox, the address of `/metrics`.
pub(super) async fn on_demand(
    bell: Arc<Notify>,
    paths: Paths,
    config: Arc<ArcSwap<Config>>,
    profiles: Arc<ArcSwap<Profiles>>,
    stop: CancellationToken,
) {
    while stop.run_until_cancelled(bell.notified()).await.is_some() {
        match read(&paths) {
            Ok((new, named)) => {
                if new.providers != config.load().providers {
                    info!("changes of `providers` take effect at the next start");
                }
                profiles.store(Arc::new(named));
                config.store(Arc::new(new));
                info!("config.json was read anew");
            }
            Err(reason) => error!("config.json stays as it was: {reason}"),
        }
    }
}

fn read(paths: &Paths) -> Result<(Config, Profiles), String> {
    let config = Config::load(&paths.config()).map_err(|error| error.to_string())?;
    let profiles = config
        .permission_profiles()
        .map_err(|error| error.to_string())?;
    Ok((config, profiles))
}
