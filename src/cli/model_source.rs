//! Sources of models: vendors' keys, which are tried before they are stored, and model servers on this machine.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use crate::config::{Config, Env, ProviderConfig};
use crate::llm::{FailureClass, Providers};

/// Longest time for a server on this machine to list its models.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest time for a provider to accept a key.
const KEY_TIMEOUT: Duration = Duration::from_secs(20);

/// A vendor with keys that can be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vendor {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// The variable that holds the key.
    pub(super) variable: &'static str,
    base_url: &'static str,
}

pub(super) const VENDORS: [Vendor; 3] = [
    Vendor {
        name: "anthropic",
        label: "Anthropic (Claude)",
        variable: "ANTHROPIC_API_KEY",
        base_url: "ANTHROPIC_BASE_URL",
    },
    Vendor {
        name: "openai",
        label: "OpenAI (GPT)",
        variable: "OPENAI_API_KEY",
        base_url: "OPENAI_BASE_URL",
    },
    Vendor {
        name: "gemini",
        label: "Google (Gemini)",
        variable: "GEMINI_API_KEY",
        base_url: "GEMINI_BASE_URL",
    },
];

/// Model servers that are searched for on this machine, at their usual addresses.
pub(super) const LOCAL: [(&str, &str); 4] = [
    ("ollama", "Ollama"),
    ("lmstudio", "LM Studio"),
    ("llamacpp", "llama.cpp"),
    ("vllm", "vLLM"),
];

/// A model server on this machine that answers.
#[derive(Clone, Debug)]
pub(super) struct LocalServer {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// At least one.
    pub(super) models: Vec<String>,
}

/// Returns the servers of [`LOCAL`] that answer and have models.
pub(super) async fn local_servers(env: &Env) -> Vec<LocalServer> {
    let probes = LOCAL.map(|(name, label)| local_server(name, label, env));
    join_all(probes).await.into_iter().flatten().collect()
}

/// Returns the server called `name`, if it answers and has models.
pub(super) async fn local_server(
    name: &'static str,
    label: &'static str,
    env: &Env,
) -> Option<LocalServer> {
    let listing = timeout(
        PROBE_TIMEOUT,
        models_of(name, ProviderConfig::default(), env),
    )
    .await;
    let models = listing.ok()?.ok()?;
    (!models.is_empty()).then_some(LocalServer {
        name,
        label,
        models,
    })
}

/// Returns the models listed by the server that `provider` describes.
pub(super) async fn models_of(
    name: &str,
    provider: ProviderConfig,
    env: &Env,
) -> anyhow::Result<Vec<String>> {
    let config = Config {
        providers: BTreeMap::from([(name.to_owned(), provider)]),
        ..Config::default()
    };
    let providers = Providers::from_config(&config, env)?;
    let Some(provider) = providers.get(name) else {
        anyhow::bail!("{name} has neither an address nor a key");
    };
    let listing = provider.list_models().await?;
    Ok(listing.models)
}

/// Why a key is not accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("this is not a key: it is empty, or holds a space, a quote or a letter outside ASCII")]
    NoKey,
    #[error("{vendor} does not accept this key: {message}")]
    Refused {
        vendor: &'static str,
        message: String,
    },
    /// It may be valid.
    #[error("The key could not be tried: {0}")]
    Untried(String),
}

/// Returns whether a text can be a key or a token.
pub(super) fn is_plain(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_graphic() && letter != '\'';
    !text.is_empty() && text.chars().all(is_plain)
}

/// Returns the environment in which a key is tried: everything else, such as another address, comes from `env`. It
/// reads files.
pub(super) fn trial(vendor: &Vendor, key: &str, env: &Env) -> Result<Env, KeyError> {
    if !is_plain(key) {
        return Err(KeyError::NoKey);
    }
    let mut variables = vec![
        (
            "CHORUS_HOME".to_owned(),
            env.paths.home.display().to_string(),
        ),
        (vendor.variable.to_owned(), key.to_owned()),
    ];
    if let Some(address) = env.text(vendor.base_url) {
        variables.push((vendor.base_url.to_owned(), address.to_owned()));
    }
    Env::read(variables, None).map_err(|error| KeyError::Untried(error.to_string()))
}

/// Asks a vendor for the models that the key of a [`trial`] may use.
pub(super) async fn try_key(vendor: &Vendor, trial: &Env) -> Result<Vec<String>, KeyError> {
    let untried = |error: &dyn std::fmt::Display| KeyError::Untried(error.to_string());
    let providers =
        Providers::from_config(&Config::default(), trial).map_err(|error| untried(&error))?;
    let Some(provider) = providers.get(vendor.name) else {
        return Err(KeyError::NoKey);
    };
    match timeout(KEY_TIMEOUT, provider.list_models()).await {
        Ok(Ok(listing)) => Ok(listing.models),
        Ok(Err(error)) if error.class == FailureClass::AuthError => Err(KeyError::Refused {
            vendor: vendor.label,
            message: error.message,
        }),
        Ok(Err(error)) => Err(untried(&error)),
        Err(_) => Err(KeyError::Untried(format!(
            "{} does not answer",
            vendor.label
        ))),
    }
}
