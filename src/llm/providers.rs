//! The providers that the operator configured.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use parking_lot::Mutex;

use super::anthropic::Anthropic;
use super::catalog::Catalog;
use super::gemini::Gemini;
use super::http::{Endpoint, client};
use super::local;
use super::openai::OpenAi;
use super::openai_chat::OpenAiChat;
use super::openai_responses::OpenAiResponses;
use super::provider::Provider;
use super::relayed::RelayEndpoint;
use crate::config::{Config, Env, EnvError, ProviderConfig, ProviderEnv, Secret, WireFormat};

const ANTHROPIC_URL: &str = "https://api.anthropic.com";
const OPENAI_URL: &str = "https://api.openai.com/v1";
const GEMINI_URL: &str = "https://generativelanguage.googleapis.com";

/// The version of Gemini's API that the code was written for; added to a base URL that names none.
const GEMINI_VERSION: &str = "/v1beta";

/// Servers known by name: their address, and the variable that usually holds their key.
const KNOWN: &[(&str, &str, Option<&str>)] = &[
    (
        "deepseek",
        "https://api.deepseek.com/v1",
        Some("DEEPSEEK_API_KEY"),
    ),
    (
        "groq",
        "https://api.groq.com/openai/v1",
        Some("GROQ_API_KEY"),
    ),
    ("llamacpp", "http://127.0.0.1:8080/v1", None),
    ("lmstudio", "http://127.0.0.1:1234/v1", None),
    (
        "mistral",
        "https://api.mistral.ai/v1",
        Some("MISTRAL_API_KEY"),
    ),
    ("ollama", "http://127.0.0.1:11434/v1", None),
    (
        "openrouter",
        "https://openrouter.ai/api/v1",
        Some("OPENROUTER_API_KEY"),
    ),
    ("vllm", "http://127.0.0.1:8000/v1", None),
    ("xai", "https://api.x.ai/v1", Some("XAI_API_KEY")),
];

/// Returns the names of the servers that need no address, each with the variable for its key, if it takes one.
pub fn known_servers() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    KNOWN.iter().map(|(name, _, key)| (*name, *key))
}

/// The name of the demo model, and of its provider.
pub const DEMO: &str = "demo";

/// The configured providers, by name. Clones share them, even when they are replaced.
#[derive(Clone, Default)]
pub struct Providers {
    table: Arc<ArcSwap<Table>>,
    /// Whether the server at an address is nearby, by the last lookup.
    nearby: Arc<Mutex<HashMap<String, bool>>>,
}

#[derive(Clone, Default)]
struct Table {
    by_name: BTreeMap<String, Arc<dyn Provider>>,
    declared: BTreeMap<String, Vec<String>>,
    /// Providers with a vendor's name but another address.
    foreign: BTreeSet<String>,
    /// Providers that are the vendor itself.
    vendors: BTreeSet<String>,
    /// Providers at an address of this machine or of its own network.
    local: BTreeSet<String>,
    /// Local providers that take no key.
    free: BTreeSet<String>,
    /// The addresses.
    urls: BTreeMap<String, String>,
    /// Their addresses and keys, for requests that pass as they are.
    endpoints: BTreeMap<String, RelayEndpoint>,
    /// The variables that hold the keys.
    variables: BTreeMap<String, String>,
}

impl std::fmt::Debug for Providers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Providers")
            .field("declared", &self.table.load().declared)
            .finish_non_exhaustive()
    }
}

/// Why the providers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProvidersError {
    /// A provider of `config.json` has no address.
    #[error("providers.{0}: add base_url; only {known} are known by name alone", known = known_names())]
    NoAddress(String),
    /// A name that targets cannot contain.
    #[error("providers.{0:?}: a provider's name is made of a-z, 0-9, '-', '_' and '.'")]
    Name(String),
    /// An invalid address.
    #[error("providers.{name}: base_url {url:?} is not an http or https address")]
    Address { name: String, url: String },
    /// The key that a provider names does not exist.
    #[error(
        "providers.{name}: the variable {variable} is not set; set it, or leave api_key_env out"
    )]
    NoKey { name: String, variable: String },
    #[error(transparent)]
    Env(#[from] EnvError),
    /// The HTTP client cannot be created.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] reqwest::Error),
}

impl Providers {
    /// Creates Anthropic, OpenAI and Gemini if they have a key or an address, and the providers of `config.json`.
    ///
    /// # Errors
    ///
    /// Fails with [`ProvidersError`]; each names what to change.
    pub fn from_config(config: &Config, env: &Env) -> Result<Self, ProvidersError> {
        let client = client()?;
        let catalog = Catalog::new(config.models.clone());
        let mut providers = Table::default();
        let built_in = [
            ("anthropic", &env.anthropic, ANTHROPIC_URL),
            ("openai", &env.openai, OPENAI_URL),
            ("gemini", &env.gemini, GEMINI_URL),
        ];
        for (name, from_env, default_url) in built_in {
            let changes = config.providers.get(name);
            let key = key_of(name, changes, env)?.or_else(|| from_env.key.clone());
            let Some(base_url) = built_in_address(changes, from_env, key.as_ref(), default_url)
            else {
                continue;
            };
            let has_key = key.is_some();
            providers.urls.insert(name.to_owned(), base_url.clone());
            let endpoint = endpoint(name, &base_url, key, changes, config, &client)?;
            providers.reach(&endpoint, changes);
            let provider: Arc<dyn Provider> = match name {
                "anthropic" => Arc::new(Anthropic::new(endpoint)),
                "gemini" => Arc::new(Gemini::new(versioned(endpoint))),
                _ if base_url == OPENAI_URL => Arc::new(OpenAi::new(endpoint, catalog.clone())),
                _ => speaking(
                    changes.map_or(WireFormat::Openai, |changes| changes.format),
                    endpoint,
                ),
            };
            providers.add(provider);
            providers.declare(name, changes);
            let kind = if base_url == default_url {
                &mut providers.vendors
            } else {
                &mut providers.foreign
            };
            kind.insert(name.to_owned());
            if name == "openai" && is_local(&base_url) {
                providers.local.insert(name.to_owned());
                if !has_key {
                    providers.free.insert(name.to_owned());
                }
            }
        }
        providers.variables = variables(config);
        for (name, provider) in &config.providers {
            if built_in.iter().any(|(known, ..)| known == name) {
                continue;
            }
            let endpoint = named(name, provider, config, env, &client)?;
            providers.reach(&endpoint, Some(provider));
            let base_url = endpoint.base_url.clone();
            providers.urls.insert(name.clone(), base_url);
            if is_local(&endpoint.base_url) {
                providers.local.insert(name.clone());
                if endpoint.key.is_none() {
                    providers.free.insert(name.clone());
                }
            }
            providers.add(speaking(provider.format, endpoint));
            providers.declare(name, Some(provider));
        }
        Ok(providers.into())
    }

    /// Returns the variable that holds the key of a provider, if it is known.
    pub fn variable(&self, provider: &str) -> Option<String> {
        self.table.load().variables.get(provider).cloned()
    }

    /// Returns these providers, or the demo model at `base_url` if there are none, so that there is a model to ask.
    ///
    /// # Errors
    ///
    /// Fails if the HTTP client cannot be created.
    pub fn or_demo(self, base_url: Option<&str>) -> Result<Self, ProvidersError> {
        let Some(base_url) = base_url.filter(|_| self.is_empty()) else {
            return Ok(self);
        };
        let endpoint = Endpoint {
            name: DEMO.to_owned(),
            client: client()?,
            base_url: base_url.to_owned(),
            key: None,
            silence: Config::default().llm_timeout.get(),
        };
        let mut table = Table::default();
        table.urls.insert(DEMO.to_owned(), base_url.to_owned());
        table.add(Arc::new(Anthropic::new(endpoint)));
        table
            .declared
            .insert(DEMO.to_owned(), vec![DEMO.to_owned()]);
        Ok(table.into())
    }

    /// Replaces these providers with `others`, for all clones.
    pub fn replace(&self, others: &Self) {
        self.table.store(others.table.load_full());
    }

    /// Adds `provider`, replacing one of the same name.
    pub fn add(&self, provider: Arc<dyn Provider>) {
        self.table.rcu(|table| {
            let mut table = Table::clone(table);
            table.add(Arc::clone(&provider));
            table
        });
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Provider>> {
        self.table.load().by_name.get(name).cloned()
    }

    /// The address and key of a provider, for requests that pass as they are.
    pub fn endpoint(&self, name: &str) -> Option<RelayEndpoint> {
        let table = self.table.load();
        table.endpoints.get(name).cloned()
    }

    /// All, by name.
    /// Returns all providers, by name.
    pub fn all(&self) -> Vec<(String, Arc<dyn Provider>)> {
        let table = self.table.load();
        let all = table.by_name.iter();
        all.map(|(name, provider)| (name.clone(), Arc::clone(provider)))
            .collect()
    }

    /// Returns whether a provider has a vendor's name but another address, where the vendor's models may be missing.
    pub fn is_foreign(&self, provider: &str) -> bool {
        self.table.load().foreign.contains(provider)
    }

    /// Returns whether a provider is Anthropic, OpenAI or Google itself.
    pub fn is_vendor(&self, provider: &str) -> bool {
        self.table.load().vendors.contains(provider)
    }

    /// Returns whether a provider is a server on this machine or in its own network, such as Ollama.
    pub fn is_local(&self, provider: &str) -> bool {
        self.table.load().local.contains(provider)
    }

    /// Looks up again which servers are nearby.
    pub async fn look_nearby(&self) {
        let urls: BTreeSet<String> = self.table.load().urls.values().cloned().collect();
        let looked_up = urls.into_iter().map(|url| async move {
            let is_nearby = local::look_up(&url).await;
            (url, is_nearby)
        });
        let found = join_all(looked_up).await;
        // A name that cannot be resolved now is judged as text, and checked again when the connection is made.
        let found = found
            .into_iter()
            .filter_map(|(url, is_nearby)| Some((url, is_nearby?)));
        *self.nearby.lock() = found.collect();
    }

    /// Returns whether a provider's server was nearby at the last lookup: at a loopback, private or link-local address.
    /// The connection is checked again ([`Reach::Local`](super::local::Reach::Local)).
    pub fn is_nearby(&self, provider: &str) -> bool {
        let table = self.table.load();
        let url = table.urls.get(provider);
        let looked_up = |url: &String| self.nearby.lock().get(url).copied();
        url.is_some_and(|url| looked_up(url).unwrap_or_else(|| is_local(url)))
    }

    /// Returns the servers of this machine or its own network without a key: they send no bill.
    pub fn free(&self) -> BTreeSet<String> {
        self.table.load().free.clone()
    }

    /// Returns the models that `config.json` names for a provider; they need no discovery.
    pub fn declared(&self, provider: &str) -> Vec<String> {
        let table = self.table.load();
        table.declared.get(provider).cloned().unwrap_or_default()
    }

    /// Returns whether there is no provider.
    pub fn is_empty(&self) -> bool {
        self.table.load().by_name.is_empty()
    }
}

impl From<Table> for Providers {
    fn from(table: Table) -> Self {
        Self {
            table: Arc::new(ArcSwap::from_pointee(table)),
            nearby: Arc::default(),
        }
    }
}

impl Table {
    fn add(&mut self, provider: Arc<dyn Provider>) {
        self.by_name.insert(provider.name().to_owned(), provider);
    }

    fn reach(&mut self, endpoint: &Endpoint, provider: Option<&ProviderConfig>) {
        let name = endpoint.name.clone();
        let format = match name.as_str() {
            "anthropic" => WireFormat::Anthropic,
            "gemini" => WireFormat::Gemini,
            _ => provider.map_or(WireFormat::Openai, |provider| provider.format),
        };
        let endpoint = RelayEndpoint::new(endpoint.clone(), format);
        self.endpoints.insert(name, endpoint);
    }

    fn declare(&mut self, name: &str, provider: Option<&ProviderConfig>) {
        let models = provider
            .map(|provider| provider.models.clone())
            .unwrap_or_default();
        self.declared.insert(name.to_owned(), models);
    }
}

/// Returns whether an address is on this machine or in its own network.
fn is_local(base_url: &str) -> bool {
    const NAMES: [&str; 5] = [".localhost", ".local", ".lan", ".internal", ".home.arpa"];
    let Ok(url) = reqwest::Url::parse(base_url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse() {
        Ok(address) => local::is_local(address),
        Err(_) => !host.contains('.') || NAMES.iter().any(|end| host.ends_with(end)),
    }
}

/// Returns the address of a built-in provider; `None` if it is not configured.
fn built_in_address(
    changes: Option<&ProviderConfig>,
    from_env: &ProviderEnv,
    key: Option<&Secret>,
    default_url: &str,
) -> Option<String> {
    let configured = changes.and_then(|changes| changes.base_url.clone());
    configured
        .or_else(|| from_env.base_url.clone())
        .or_else(|| key.map(|_| default_url.to_owned()))
}

fn named(
    name: &str,
    provider: &ProviderConfig,
    config: &Config,
    env: &Env,
    client: &reqwest::Client,
) -> Result<Endpoint, ProvidersError> {
    let allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.')
    };
    if name.is_empty() || !name.bytes().all(allowed) {
        return Err(ProvidersError::Name(name.to_owned()));
    }
    let known = KNOWN.iter().find(|(known, ..)| *known == name);
    let base_url = match (&provider.base_url, known) {
        (Some(url), _) => url.clone(),
        (None, Some((_, url, _))) => (*url).to_owned(),
        (None, None) => return Err(ProvidersError::NoAddress(name.to_owned())),
    };
    let mut key = key_of(name, Some(provider), env)?;
    if let (None, None, Some((_, _, Some(variable)))) = (&key, &provider.base_url, known) {
        key = env.secret(variable)?;
    }
    let endpoint = endpoint(name, &base_url, key, Some(provider), config, client)?;
    Ok(match provider.format {
        WireFormat::Gemini => versioned(endpoint),
        WireFormat::Anthropic | WireFormat::Openai | WireFormat::OpenaiResponses => endpoint,
    })
}

fn endpoint(
    name: &str,
    base_url: &str,
    key: Option<Secret>,
    provider: Option<&ProviderConfig>,
    config: &Config,
    client: &reqwest::Client,
) -> Result<Endpoint, ProvidersError> {
    let is_address = reqwest::Url::parse(base_url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none()
    });
    if !is_address {
        return Err(ProvidersError::Address {
            name: name.to_owned(),
            url: base_url.to_owned(),
        });
    }
    let mut base_url = base_url.trim_end_matches('/');
    if name == "anthropic"
        || provider.is_some_and(|provider| provider.format == WireFormat::Anthropic)
    {
        base_url = base_url.strip_suffix("/v1").unwrap_or(base_url);
    }
    let silence = provider
        .and_then(|provider| provider.llm_timeout)
        .unwrap_or(config.llm_timeout);
    Ok(Endpoint {
        name: name.to_owned(),
        client: client.clone(),
        base_url: base_url.to_owned(),
        key,
        silence: silence.get(),
    })
}

fn speaking(format: WireFormat, endpoint: Endpoint) -> Arc<dyn Provider> {
    match format {
        WireFormat::Openai => Arc::new(OpenAiChat::new(endpoint)),
        WireFormat::OpenaiResponses => Arc::new(OpenAiResponses::new(endpoint)),
        WireFormat::Anthropic => Arc::new(Anthropic::new(endpoint)),
        WireFormat::Gemini => Arc::new(Gemini::new(endpoint)),
    }
}

fn versioned(mut endpoint: Endpoint) -> Endpoint {
    if !endpoint
        .base_url
        .rsplit('/')
        .next()
        .is_some_and(|last| last.starts_with("v1"))
    {
        endpoint.base_url.push_str(GEMINI_VERSION);
    }
    endpoint
}

/// Returns the key that `config.json` names for a provider.
fn key_of(
    name: &str,
    provider: Option<&ProviderConfig>,
    env: &Env,
) -> Result<Option<Secret>, ProvidersError> {
    let Some(variable) = provider.and_then(|provider| provider.api_key_env.as_ref()) else {
        return Ok(None);
    };
    match env.secret(variable)? {
        Some(key) => Ok(Some(key)),
        None => Err(ProvidersError::NoKey {
            name: name.to_owned(),
            variable: variable.clone(),
        }),
    }
}

/// Returns the variables that hold the providers' keys.
fn variables(config: &Config) -> BTreeMap<String, String> {
    let usual = [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ];
    let usual = usual.map(|(name, variable)| (name.to_owned(), variable.to_owned()));
    let mut all = BTreeMap::from(usual);
    all.extend(config.providers.iter().filter_map(|(name, provider)| {
        let variable = provider.api_key_env.clone()?;
        Some((name.clone(), variable))
    }));
    all
}

fn known_names() -> String {
    KNOWN
        .iter()
        .map(|(name, ..)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}
