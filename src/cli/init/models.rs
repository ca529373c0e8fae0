//! Chooses a provider and a model: keys are tried, servers of this machine are found, names are looked up in live lists.

use std::sync::Arc;

use serde_json::json;

use super::guide::Guide;
use super::place::Place;
use super::terminal;
use crate::cli::failure::Failure;
use crate::cli::model_source::{self, KeyError, VENDORS, Vendor};
use crate::cli::output::print_line;
use crate::config::{Config, Env, ProviderConfig};
use crate::llm::discovery::{Models, Resolved};
use crate::llm::{Catalog, Providers, Target, known_servers};
use crate::text;

/// The name of a server at another address.
const OWN: &str = "own";

/// The variable of its key, if it needs one.
const OWN_KEY: &str = "OWN_API_KEY";

/// Most models that are offered by number; others are chosen by name.
const OFFERED: usize = 15;

/// Returns the models of all configured providers that answer; `None`, with a message, if none does.
pub(super) fn that_answer(guide: &Guide) -> Result<Option<Models>, Failure> {
    let (env, config) = (guide.place.env()?, guide.place.config()?);
    let models = of_configured(&env, &config)?;
    let found = guide.runtime.block_on(models.discover());
    let mut answers = false;
    for (name, listed) in &found.providers {
        match &listed.error {
            None => {
                answers = true;
                print_line!(
                    "✓ {name}: {}",
                    text::count(listed.models.len(), "model", "models")
                );
                if let Some(vendor) = VENDORS.iter().find(|vendor| vendor.name == name) {
                    guide.place.keep_of_shell(vendor.variable)?;
                }
            }
            Some(error) => print_line!("  {name}: {error}"),
        }
    }
    Ok(answers.then_some(models))
}

pub(super) fn of_configured(env: &Env, config: &Config) -> anyhow::Result<Models> {
    let providers = Providers::from_config(config, env)?;
    let catalog = Arc::new(Catalog::new(config.models.clone()));
    Ok(Models::new(Arc::new(providers), catalog, None))
}

/// Lets the person choose a provider, and stores its settings; false if they choose none yet.
pub(super) fn ask_source(guide: &Guide) -> Result<bool, Failure> {
    let env = guide.place.env()?;
    let servers = guide.runtime.block_on(model_source::local_servers(&env));
    let local = servers.iter().map(|server| {
        let models: Vec<&str> = server.models.iter().take(3).map(String::as_str).collect();
        format!("{} on this machine ({})", server.label, models.join(", "))
    });
    let vendors = VENDORS
        .iter()
        .map(|vendor| format!("{}, with a key", vendor.label));
    let others = [
        "another server that speaks OpenAI's format, by its address".to_owned(),
        "decide later".to_owned(),
    ];
    let offered: Vec<String> = local.chain(vendors).chain(others).collect();
    print_line!("  Which provider or server should answer?");
    let chosen = terminal::choose("Number", &offered)?;
    if let Some(server) = servers.get(chosen) {
        keep_server(&guide.place, server.name, json!({}))?;
        return Ok(true);
    }
    match VENDORS.get(chosen - servers.len()) {
        Some(vendor) => ask_key(guide, vendor, &env)?,
        None if chosen + 1 == offered.len() => return Ok(false),
        None => ask_address(guide)?,
    }
    Ok(true)
}

fn ask_key(guide: &Guide, vendor: &Vendor, env: &Env) -> Result<(), Failure> {
    let source = env.secret_source(vendor.variable)?;
    if let Some(source) = source.filter(|source| source.is_of_this_start()) {
        return Err(Failure::Configuration(format!(
            "{} of {source} is not valid: remove it there, or set a valid one",
            vendor.variable
        )));
    }
    loop {
        let key = terminal::secret(&format!("{}, key (empty: back)", vendor.label))?;
        if key.is_empty() {
            return Ok(());
        }
        let tried = model_source::trial(vendor, &key, env).and_then(|trial| {
            guide
                .runtime
                .block_on(model_source::try_key(vendor, &trial))
        });
        match tried {
            Ok(_) => {
                guide.place.keep_secret(vendor.variable, &key)?;
                return Ok(());
            }
            Err(error) => print_line!("  {error}"),
        }
    }
}

fn ask_address(guide: &Guide) -> Result<(), Failure> {
    let address = terminal::line(
        "Address, such as http://192.168.1.20:11434/v1 (empty: back)",
        None,
    )?;
    if address.is_empty() {
        return Ok(());
    }
    let key = terminal::secret("Key, if it needs one (empty: none)")?;
    if key.is_empty() {
        return Ok(take_address(guide, &address, json!({"base_url": address}))?);
    }
    if !model_source::is_plain(&key) {
        print_line!("  {}", KeyError::NoKey);
        return Ok(());
    }
    guide.place.keep_secret(OWN_KEY, &key)?;
    let provider = json!({"base_url": address, "api_key_env": OWN_KEY});
    Ok(take_address(guide, &address, provider)?)
}

fn take_address(guide: &Guide, address: &str, provider: serde_json::Value) -> anyhow::Result<()> {
    let described: Result<ProviderConfig, _> = serde_json::from_value(provider.clone());
    let env = guide
        .place
        .env()
        .map_err(|failure| anyhow::anyhow!("{failure}"))?;
    let tried = match described {
        Ok(described) => guide
            .runtime
            .block_on(model_source::models_of(OWN, described, &env)),
        Err(error) => Err(error.into()),
    };
    match tried {
        Ok(_) => keep_server(&guide.place, OWN, provider),
        Err(error) => {
            print_line!("  {address}: {error:#}");
            Ok(())
        }
    }
}

/// Uses the server with the name or address that an option gives.
pub(super) fn take_server(guide: &Guide, named: &str) -> Result<(), Failure> {
    match described(named)? {
        (OWN, provider) => take_address(guide, named, provider)?,
        (name, provider) => keep_server(&guide.place, name, provider)?,
    }
    Ok(())
}

/// Returns the name of a server and its keys in `providers`.
///
/// # Errors
///
/// Fails if `named` is neither an address nor the name of a known server.
pub(super) fn described(named: &str) -> Result<(&'static str, serde_json::Value), Failure> {
    if named.starts_with("http://") || named.starts_with("https://") {
        return Ok((OWN, json!({"base_url": named})));
    }
    let vendors = VENDORS.iter().map(|vendor| vendor.name);
    let mut known = vendors.chain(known_servers().map(|(name, _)| name));
    match known.find(|name| *name == named) {
        Some(name) => Ok((name, json!({}))),
        None => {
            let names: Vec<&str> = VENDORS
                .iter()
                .map(|vendor| vendor.name)
                .chain(known_servers().map(|(name, _)| name))
                .collect();
            Err(Failure::Usage(format!(
                "--provider {named}: write one of {}, or an address that begins with http:// or https://",
                names.join(", ")
            )))
        }
    }
}

/// Returns the variable for the key of a known server, if it takes one.
pub(super) fn key_variable(name: &str) -> Option<&'static str> {
    let vendors = VENDORS
        .iter()
        .map(|vendor| (vendor.name, Some(vendor.variable)));
    let found = vendors
        .chain(known_servers())
        .find(|(known, _)| *known == name);
    found.and_then(|(_, variable)| variable)
}

pub(super) fn keep_server(
    place: &Place,
    name: &str,
    provider: serde_json::Value,
) -> anyhow::Result<()> {
    place.change_config(|keys| crate::cli::home_files::name_provider(keys, name, provider))
}

/// Lets the person choose a model: by its number, or by any name that `/settings model` accepts.
pub(super) fn ask_model(models: &Models) -> anyhow::Result<String> {
    let all = models.all();
    let likeliest = models.first_available();
    let others = all
        .iter()
        .filter(|target| likeliest.as_ref() != Some(*target));
    let offered: Vec<String> = likeliest
        .iter()
        .chain(others)
        .map(Target::to_string)
        .collect();
    for (at, name) in offered.iter().take(OFFERED).enumerate() {
        print_line!("  {}  {name}", at + 1);
    }
    if offered.len() > OFFERED {
        print_line!("  … and {} more, by name", offered.len() - OFFERED);
    }
    let answer = terminal::line("Default model: number or name", Some("1"))?;
    let by_number = answer.parse::<usize>().ok();
    let chosen = by_number.and_then(|number| offered.get(number.checked_sub(1)?));
    Ok(chosen.cloned().unwrap_or(answer))
}

/// Why a model cannot be the default.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoModel {
    #[error("There is no model {name}.{hint}")]
    Unknown { name: String, hint: String },
    #[error("Could not check the model {name}: {reason}")]
    Unasked { name: String, reason: String },
}

/// Finds the model that `name` means; if its server does not list it, the model gets a short test question.
pub(super) async fn find(models: &Models, name: &str) -> Result<Target, NoModel> {
    match models.resolve_asking(name).await {
        Ok(Resolved::Found(target) | Resolved::Unlisted(target)) => Ok(target),
        Ok(Resolved::NotFound { near }) => Err(NoModel::Unknown {
            name: name.to_owned(),
            hint: near
                .first()
                .map(|near| format!(" Did you mean {near}?"))
                .unwrap_or_default(),
        }),
        Ok(Resolved::Undiscovered(_) | Resolved::NoProvider) => Err(NoModel::Unasked {
            name: name.to_owned(),
            reason: "no provider lists its models".to_owned(),
        }),
        Err(error) => Err(NoModel::Unasked {
            name: name.to_owned(),
            reason: error.to_string(),
        }),
    }
}
