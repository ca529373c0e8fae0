//! `chorus init --non-interactive`: takes its answers from options and environment; it stops if Discord or a provider
//! refuses one.

use serde_json::Value;

use super::models::NoModel;
use super::place::Place;
use super::{Init, called, keep_webhook_key, models, tell_untaken, write_config};
use crate::cli::application::{self, DiscordError, HOW_TO_CLOSE};
use crate::cli::failure::Failure;
use crate::cli::looking;
use crate::cli::model_source::{self, KeyError, VENDORS};
use crate::cli::output::print_line;
use crate::cli::service::{self, Manager, Started};
use crate::config::{Config, Env, ProviderConfig, Secret, WEBHOOK_KEY};
use crate::llm::Providers;
use crate::llm::discovery::says_nothing;

pub(super) fn run(init: &Init, place: &Place) -> Result<(), Failure> {
    let env = place.env()?;
    if init.service && env.discord_token.is_none() {
        return Err(Failure::Configuration(
            "DISCORD_TOKEN is not set, and no service starts without it: set it, or DISCORD_TOKEN_FILE, or leave out --service"
                .to_owned(),
        ));
    }
    if init.service
        && let Some(why) = service::unreachable(place.manager())
    {
        return Err(Failure::Failed(anyhow::anyhow!(
            "--service: {why}. Nothing was written"
        )));
    }
    let provider = init
        .provider
        .as_deref()
        .map(models::described)
        .transpose()?;
    let is_new = !place.config_file().exists();
    if !init.offline {
        let runtime = looking::runtime()?;
        runtime.block_on(try_secrets(&env))?;
        let mut config = place.config()?;
        if let Some((name, provider)) = &provider {
            config
                .providers
                .insert((*name).to_owned(), provider_config(provider)?);
        }
        runtime.block_on(try_models(init, &env, &config))?;
    }
    write_config(
        place,
        init.default_model.as_deref(),
        init.default_permissions.as_deref(),
    )?;
    if is_new {
        if let Some((name, provider)) = provider {
            models::keep_server(place, name, provider)?;
        }
    } else {
        let config = place.config()?;
        let is_kept = provider.is_some_and(|provider| is_there(&config, &provider));
        let given = init.provider.as_deref();
        tell_untaken("--provider", given, given.filter(|_| is_kept));
    }
    keep_webhook_key(place)?;
    tell_what_is_missing(place, &env)?;
    if init.service {
        // A service does not see this shell's environment.
        let keys = VENDORS.iter().map(|vendor| vendor.variable);
        for variable in ["DISCORD_TOKEN", WEBHOOK_KEY].into_iter().chain(keys) {
            place.keep_of_shell(variable)?;
        }
        service::install(place.manager(), &place.home)?;
        match service::start(place.manager())? {
            Started::Connected => print_line!("it runs and is connected to Discord"),
            Started::Waiting => print_line!(
                "it runs but Discord has not answered yet; its log: {} -f",
                called::journal(place.manager())
            ),
        }
        if place.manager() == Manager::User {
            service::outlive_logout();
        }
        if init.backups {
            service::enable_backups(place.manager())?;
        }
    }
    Ok(())
}

/// Returns whether the configuration already has this model server.
fn is_there(config: &Config, (name, provider): &(&str, Value)) -> bool {
    let address = provider["base_url"].as_str();
    let kept = config.providers.get(*name);
    kept.is_some_and(|kept| address.is_none_or(|address| kept.base_url.as_deref() == Some(address)))
}

/// Reports what the daemon needs and does not have, and what an agent needs.
fn tell_what_is_missing(place: &Place, env: &Env) -> Result<(), Failure> {
    if env.discord_token.is_none() {
        print_line!("DISCORD_TOKEN is not set: the daemon needs it to start");
    }
    let config = place.config()?;
    if Providers::from_config(&config, env).is_ok_and(|providers| providers.is_empty()) {
        let keys = VENDORS.map(|vendor| vendor.variable);
        print_line!(
            "No model is set: set {}, {} or {}, or name a server in `providers` of {}",
            keys[0],
            keys[1],
            keys[2],
            place.config_file().display()
        );
    }
    Ok(())
}

/// Reads the keys of one provider in the form of `config.json`.
fn provider_config(keys: &Value) -> anyhow::Result<ProviderConfig> {
    Ok(serde_json::from_value(keys.clone())?)
}

/// Asks the given provider for its models, and looks the default model up.
///
/// # Errors
///
/// Fails if the provider refuses, or no provider has the model. Reports what could not be tried.
async fn try_models(init: &Init, env: &Env, config: &Config) -> Result<(), Failure> {
    if init.provider.is_none() && init.default_model.is_none() {
        return Ok(());
    }
    let given = match &init.provider {
        Some(named) => Some((named, models::described(named)?.0)),
        None => None,
    };
    if let Some((named, name)) = given
        && let Some(variable) = models::key_variable(name)
        && env.secret(variable)?.is_none()
        && config.providers[name].api_key_env.is_none()
    {
        return Err(Failure::Configuration(format!(
            "--provider {named} has no key: set {variable}"
        )));
    }
    let models = models::of_configured(env, config)?;
    if models.providers().is_empty() {
        return Ok(());
    }
    if let Some((named, name)) = given
        && let Some(provider) = models.providers().get(name)
        && let Err(error) = provider.list_models().await
    {
        if says_nothing(error.class) {
            print_line!("--provider {named} could not be checked: {error}");
        } else {
            let refused = format!("--provider {named}: {error}");
            return Err(Failure::Configuration(refused));
        }
    }
    let Some(model) = &init.default_model else {
        return Ok(());
    };
    match models::find(&models, model).await {
        Ok(_) => Ok(()),
        Err(error @ NoModel::Unknown { .. }) => Err(Failure::Configuration(format!(
            "--default-model {model}: {error}"
        ))),
        Err(error @ NoModel::Unasked { .. }) => {
            print_line!("--default-model {model} could not be checked: {error}");
            Ok(())
        }
    }
}

/// Tries token and keys.
///
/// # Errors
///
/// Fails if one is refused. Reports what could not be tried.
async fn try_secrets(env: &Env) -> Result<(), Failure> {
    if let Some(token) = &env.discord_token {
        try_token(env, token).await?;
    }
    for vendor in &VENDORS {
        let key = match vendor.name {
            "anthropic" => &env.anthropic.key,
            "openai" => &env.openai.key,
            _ => &env.gemini.key,
        };
        let Some(key) = key else {
            continue;
        };
        let trial = model_source::trial(vendor, key.expose(), env);
        let tried = match trial {
            Ok(trial) => model_source::try_key(vendor, &trial).await,
            Err(error) => Err(error),
        };
        match tried {
            Ok(_) => {}
            Err(error @ (KeyError::NoKey | KeyError::Refused { .. })) => {
                return Err(Failure::Configuration(format!(
                    "{}: {error}",
                    vendor.variable
                )));
            }
            Err(error @ KeyError::Untried(_)) => print_line!("{}: {error}", vendor.variable),
        }
    }
    Ok(())
}

async fn try_token(env: &Env, token: &Secret) -> Result<(), Failure> {
    let application = match application::application(env, token).await {
        Ok(application) => application,
        Err(error @ DiscordError::Refused) => {
            return Err(Failure::Configuration(format!(
                "{error}: copy it again: developer portal, your application, Bot, Reset Token"
            )));
        }
        Err(error @ (DiscordError::Answered(_) | DiscordError::Unreachable(_))) => {
            print_line!("The token could not be checked: {error}");
            return Ok(());
        }
    };
    if !application.may_read_messages() {
        print_line!(
            "The bot may not read messages: turn on Message Content Intent at {}",
            application.page()
        );
    }
    if application.bot_public {
        print_line!(
            "Anyone can invite this bot. It is inactive in servers that you do not accept; {HOW_TO_CLOSE}."
        );
    }
    if let Ok(servers) = application::servers(env, token).await
        && servers.is_empty()
    {
        print_line!(
            "The bot is not in any server; invite it: {}",
            application.invite()
        );
    }
    Ok(())
}
