//! Which model answers in the playground, and how the page has another one answer: a key goes into the home's `.env`, a server
//! into its `config.json`, and the daemon reads both again.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chorus_playground::{ModelChoice, ModelDesk, ModelServer, ModelState, Vendor};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::config::{Config, Env, ProviderConfig};
use crate::llm::{FailureClass, Providers};

/// Longest that a server on this machine may take to say what it has.
const PROBED: Duration = Duration::from_secs(2);

/// Longest that a vendor may take to accept a key.
const ACCEPTED: Duration = Duration::from_secs(20);

/// Longest that the daemon may take to read its files again.
const RELOADED: Duration = Duration::from_secs(20);

/// Servers of models that are looked for on this machine, at their usual ports.
const SERVERS: [(&str, &str); 4] = [
    ("ollama", "Ollama"),
    ("lmstudio", "LM Studio"),
    ("llamacpp", "llama.cpp"),
    ("vllm", "vLLM"),
];

/// Whose keys are taken, and the variable that holds each.
const VENDORS: [(&str, &str, &str); 3] = [
    ("anthropic", "Anthropic (Claude)", "ANTHROPIC_API_KEY"),
    ("openai", "OpenAI (GPT)", "OPENAI_API_KEY"),
    ("gemini", "Google (Gemini)", "GEMINI_API_KEY"),
];

/// Who answers as the playground starts.
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
    /// For the daemon of `env`, which is told by `reload` and counts in `reloaded` when it is done.
    pub(super) fn new(env: Env, reload: Arc<Notify>, reloaded: watch::Sender<u64>) -> Self {
        Self {
            env,
            reload,
            reloaded,
        }
    }

    pub(super) fn answers(&self) -> Answers {
        let providers = configured(&self.env);
        // What is wrong in them is told by the daemon's start.
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
                .map(|(name, label, _)| Vendor {
                    name: (*name).to_owned(),
                    label: (*label).to_owned(),
                })
                .collect(),
        }
    }

    /// The server called `name`, if it answers and has models.
    async fn probe(&self, name: &str, label: &str) -> Option<ModelServer> {
        let config = Config {
            providers: BTreeMap::from([(name.to_owned(), ProviderConfig::default())]),
            ..Config::default()
        };
        let providers = Providers::from_config(&config, &self.env).ok()?;
        let provider = providers.get(name)?;
        let listing = timeout(PROBED, provider.list_models()).await.ok()?.ok()?;
        (!listing.models.is_empty()).then(|| ModelServer {
            name: name.to_owned(),
            label: label.to_owned(),
            models: listing.models,
        })
    }

    async fn take(&self, choice: ModelChoice) -> anyhow::Result<String> {
        let said = match choice {
            ModelChoice::Key { vendor, key } => self.take_key(&vendor, &key).await?,
            ModelChoice::Server { name } => self.take_server(&name).await?,
        };
        let mut reloaded = self.reloaded.subscribe();
        self.reload.notify_one();
        let done = timeout(RELOADED, reloaded.changed()).await;
        done.context(
            "it is written down, and the daemon does not answer; start the playground again",
        )??;
        Ok(said)
    }

    async fn take_key(&self, vendor: &str, key: &str) -> anyhow::Result<String> {
        let known = VENDORS.iter().find(|(name, ..)| *name == vendor);
        let (name, label, variable) = known.context("there is no such provider")?;
        let is_plain = |letter: char| letter.is_ascii_graphic() && letter != '\'';
        anyhow::ensure!(
            !key.is_empty() && key.chars().all(is_plain),
            "this is not a key: it is empty, or holds a space, a quote or a letter outside ASCII"
        );
        let home = self.env.paths.home.clone();
        let trial = [
            ("CHORUS_HOME".to_owned(), home.display().to_string()),
            ((*variable).to_owned(), key.to_owned()),
        ];
        let env = spawn_blocking(move || Env::read(trial, None)).await??;
        let providers = Providers::from_config(&Config::default(), &env)?;
        let provider = providers.get(name).context("there is no such provider")?;
        match timeout(ACCEPTED, provider.list_models()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.class == FailureClass::AuthError => {
                anyhow::bail!("{label} does not accept this key: {}", error.message)
            }
            Ok(Err(error)) => anyhow::bail!("The key could not be tried: {error}"),
            Err(_) => anyhow::bail!("The key could not be tried: {label} does not answer"),
        }
        let (variable, key) = ((*variable).to_owned(), key.to_owned());
        spawn_blocking(move || write_key(&home, &variable, &key)).await??;
        Ok(format!("{label} answers from now on."))
    }

    async fn take_server(&self, name: &str) -> anyhow::Result<String> {
        let known = SERVERS.iter().find(|(known, _)| *known == name);
        let (name, label) = known.context("there is no such server")?;
        let server = self.probe(name, label).await;
        let server = server.with_context(|| format!("{label} does not answer any more"))?;
        let config = self.env.paths.config();
        let provider = server.name;
        spawn_blocking(move || write_server(&config, &provider)).await??;
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
            let probes = SERVERS.map(|(name, label)| self.probe(name, label));
            join_all(probes).await.into_iter().flatten().collect()
        }
        .boxed()
    }

    fn choose(&self, choice: ModelChoice) -> BoxFuture<'_, Result<String, String>> {
        async move {
            let taken = self.take(choice).await;
            taken.map_err(|error| format!("{error:#}"))
        }
        .boxed()
    }
}

/// The providers that environment and configuration name now.
fn configured(env: &Env) -> anyhow::Result<Providers> {
    let env = env.read_again()?;
    let config = Config::load(&env.paths.config())?;
    Ok(Providers::from_config(&config, &env)?)
}

/// Keeps a key in the home's `.env`, in place of one of the same name.
fn write_key(home: &Path, variable: &str, key: &str) -> anyhow::Result<()> {
    let path = home.join(".env");
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let is_other = |line: &&str| {
        let line = line.trim_start();
        let name = line.strip_prefix("export ").unwrap_or(line);
        !name
            .strip_prefix(variable)
            .is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let mut text: String = before
        .lines()
        .filter(is_other)
        .map(|line| format!("{line}\n"))
        .collect();
    text.push_str(&format!("{variable}='{key}'\n"));
    replace(&path, &text)
}

/// Names a server in `config.json`, beside all that stands there.
fn write_server(path: &Path, name: &str) -> anyhow::Result<()> {
    let mut keys: Map<String, Value> = match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("{} is not JSON", path.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let providers = keys.entry("providers").or_insert_with(|| json!({}));
    let providers = providers
        .as_object_mut()
        .with_context(|| format!("`providers` in {} is not an object", path.display()))?;
    providers.entry(name).or_insert_with(|| json!({}));
    replace(path, &format!("{:#}\n", Value::Object(keys)))
}

/// Writes `text` to `path` whole or not at all, for this user alone to read.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || -> std::io::Result<()> {
        // Made readable for its owner alone.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().with_context(|| format!("writing {}", path.display()))
}
