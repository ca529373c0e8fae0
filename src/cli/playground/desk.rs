//! The model that answers in the playground, and how the page chooses another one. A key goes into the home's `.env`
//! and a server into its `config.json`; the daemon reads both again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chorus_playground::{ModelChoice, ModelDesk, ModelServer, ModelState, Refusal, Vendor};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::cli::home_files::{change_config, keep_in_dotenv, name_provider};
use crate::cli::model_source::{self, LOCAL, VENDORS};
use crate::config::{Config, Env};
use crate::llm::Providers;

/// Longest time for the daemon to read its files again.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(20);

/// The model that answers when the playground starts.
pub(super) enum Answers {
    Demo,
    /// These providers.
    Configured(Vec<String>),
}

pub(super) struct Desk {
    env: Env,
    reload: Arc<Notify>,
    reloaded: watch::Sender<u64>,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Desk {
    /// Creates it for the daemon of `env`: `reload` makes the daemon read its files again, and `reloaded` counts each
    /// time it has.
    pub(super) fn new(env: Env, reload: Arc<Notify>, reloaded: watch::Sender<u64>) -> Self {
        Self {
            env,
            reload,
            reloaded,
        }
    }

    pub(super) fn answers(&self) -> Answers {
        let providers = configured(&self.env);
        // Errors in them are reported when the daemon starts.
        let names: Vec<String> = providers
            .map(|providers| providers.all().into_iter().map(|(name, _)| name).collect())
            .unwrap_or_default();
        if names.is_empty() {
            Answers::Demo
        } else {
            Answers::Configured(names)
        }
    }

    async fn look(&self) -> ModelState {
        let env = self.env.clone();
        let providers = spawn_blocking(move || configured(&env)).await;
        let is_demo = matches!(&providers, Ok(Ok(providers)) if providers.is_empty());
        if !is_demo {
            return ModelState::default();
        }
        ModelState {
            demo: true,
            vendors: VENDORS
                .iter()
                .map(|vendor| Vendor {
                    name: vendor.name.to_owned(),
                    label: vendor.label.to_owned(),
                })
                .collect(),
        }
    }

    async fn take(&self, choice: ModelChoice) -> anyhow::Result<String> {
        let said = match choice {
            ModelChoice::Key { vendor, key } => self.take_key(&vendor, &key).await?,
            ModelChoice::Server { name } => self.take_server(&name).await?,
        };
        let mut reloaded = self.reloaded.subscribe();
        self.reload.notify_one();
        let done = timeout(RELOAD_TIMEOUT, reloaded.changed()).await;
        done.context(
            "the model was saved, but the daemon does not answer; restart the playground",
        )??;
        Ok(said)
    }

    async fn take_key(&self, vendor: &str, key: &str) -> anyhow::Result<String> {
        let known = VENDORS.iter().find(|known| known.name == vendor);
        let vendor = known.context("unknown provider")?;
        let (env, tried) = (self.env.clone(), key.to_owned());
        let trial = spawn_blocking(move || model_source::trial(vendor, &tried, &env)).await??;
        model_source::try_key(vendor, &trial).await?;
        let (dotenv, key) = (self.env.paths.home.join(".env"), key.to_owned());
        spawn_blocking(move || keep_in_dotenv(&dotenv, vendor.variable, &key)).await??;
        Ok(format!("{} answers from now on.", vendor.label))
    }

    async fn take_server(&self, name: &str) -> anyhow::Result<String> {
        let known = LOCAL.iter().find(|(known, _)| *known == name);
        let (name, label) = known.context("unknown server")?;
        let server = model_source::local_server(name, label, &self.env).await;
        let server = server.with_context(|| format!("{label} no longer answers"))?;
        let config = self.env.paths.config();
        let name = server.name;
        let written =
            move || change_config(&config, None, |keys| name_provider(keys, name, json!({})));
        spawn_blocking(written).await??;
        let model = server.models.first().cloned().unwrap_or_default();
        Ok(format!("{label} answers from now on, with {model}."))
    }
}

impl ModelDesk for Desk {
    fn state(&self) -> BoxFuture<'_, ModelState> {
        self.look().boxed()
    }

    fn servers(&self) -> BoxFuture<'_, Vec<ModelServer>> {
        async move {
            let servers = model_source::local_servers(&self.env).await;
            let shown = servers.into_iter().map(|server| ModelServer {
                name: server.name.to_owned(),
                label: server.label.to_owned(),
                models: server.models,
            });
            shown.collect()
        }
        .boxed()
    }

    fn choose(&self, choice: ModelChoice) -> BoxFuture<'_, Result<String, Refusal>> {
        async move {
            let taken = self.take(choice).await;
            taken.map_err(|error| format!("{error:#}").into())
        }
        .boxed()
    }
}

/// Returns the providers that environment and configuration name now.
fn configured(env: &Env) -> anyhow::Result<Providers> {
    let env = env.read_again()?;
    let config = Config::load(&env.paths.config())?;
    Ok(Providers::from_config(&config, &env)?)
}
