//! Keys and addresses of the providers of models: each is asked for its list.

use std::sync::Arc;

use super::check::Check;
use crate::config::{Config, Env, effective};
use crate::llm::catalog::SMALL_WINDOW;
use crate::llm::discovery::{Models, Resolved};
use crate::llm::{Catalog, Providers};
use crate::text;

pub(super) async fn checks(env: &Env, config: &Config) -> Vec<Check> {
    let providers = match Providers::from_config(config, env) {
        Ok(providers) => providers,
        Err(error) => {
            return vec![Check::failure(
                "models",
                error.to_string(),
                "fix that in config.json or the environment",
            )];
        }
    };
    if providers.is_empty() {
        return vec![Check::failure(
            "models",
            "no model provider has a key or an address",
            "run chorus init, which finds the model servers of this machine and checks keys; or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, \
             or name a server in `providers` of config.json",
        )];
    }
    let catalog = Arc::new(Catalog::new(config.models.clone()));
    let models = Models::new(Arc::new(providers), catalog, None);
    let found = models.discover().await;
    let mut checks: Vec<Check> = found
        .providers
        .iter()
        .map(|(name, listed)| match &listed.error {
            None => {
                let count = text::count(listed.models.len(), "model", "models");
                Check::ok(
                    "models",
                    format!("{name}: {count}{}", names(&listed.models)),
                )
            }
            Some(error) => Check::failure(
                "models",
                format!("{name}: {error}"),
                format!("check the key and the address of {name}, and that it can be reached"),
            ),
        })
        .collect();
    if let Some(default) = config
        .default_model
        .as_ref()
        .filter(|name| effective::is_chosen(name))
        && matches!(models.resolve(default), Resolved::NotFound { .. })
    {
        checks.push(Check::failure(
            "models",
            format!("default_model is {default}, which no provider has"),
            "set default_model to a model that is listed above, or that /models lists",
        ));
    }
    checks.extend(small_window(&models, config));
    checks
}

/// Returns what to do if the window of the default model holds little more than an agent's prompt and tools.
fn small_window(models: &Models, config: &Config) -> Option<Check> {
    let chosen = config.default_model.as_ref();
    let chosen = chosen.filter(|name| effective::is_chosen(name));
    let target = match chosen.map(|name| models.resolve(name)) {
        Some(Resolved::Found(target)) => target,
        Some(_) => return None,
        None => models.first_available()?,
    };
    let window = models.catalog().facts(&target).window;
    (window < SMALL_WINDOW).then(|| {
        Check::warning(
            "models",
            format!(
                "{target} runs with a window of {} tokens, too few for most agents",
                text::thousands(window)
            ),
            "load it on its server with 32768 or more (docs/local-models.md)",
        )
    })
}

/// Most models that are named for one provider.
const NAMED: usize = 12;

/// Returns the models by name, as many as fit in a line.
fn names(models: &[String]) -> String {
    if models.is_empty() {
        return String::new();
    }
    let more = models.len().saturating_sub(NAMED);
    let named = models[..models.len() - more].join(", ");
    if more == 0 {
        return format!(": {named}");
    }
    format!(": {named} and {more} more; /models lists them")
}
