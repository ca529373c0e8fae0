//! `chorus init --non-interactive`: takes its answers from options and environment; it ends where Discord or a provider
//! refuses one.

use serde_json::Value;

use super::place::Place;
use super::{Init, called, models, tell_untaken, write_config};
use crate::cli::application::{self, DiscordError, HOW_TO_CLOSE};
use crate::cli::failure::Failure;
use crate::cli::looking;
use crate::cli::model_source::{self, KeyError, VENDORS};
use crate::cli::output::print_line;
use crate::cli::service::{self, Manager};
use crate::config::{Config, Env, Secret};
use crate::llm::Providers;

pub(super) fn run(init: &Init, place: &Place) -> Result<(), Failure> {
    let env = place.env()?;
    if init.service && env.discord_token.is_none() {
        return Err(Failure::Configuration(
            "DISCORD_TOKEN is not set, and no service starts without it: set it, or DISCORD_TOKEN_FILE, or leave out --service"
                .to_owned(),
        ));
    }
    let provider = init
        .provider
        .as_deref()
        .map(models::described)
        .transpose()?;
    let is_new = !place.config_file().exists();
    let is_reached = !init.offline && looking::runtime()?.block_on(try_secrets(&env))?;
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
    tell_what_is_missing(place, &env)?;
    if init.service {
        // A service does not see this shell's environment.
        let keys = VENDORS.iter().map(|vendor| vendor.variable);
        for variable in std::iter::once("DISCORD_TOKEN").chain(keys) {
            place.keep_of_shell(variable)?;
        }
        service::install(place.manager(), &place.home)?;
        if is_reached {
            service::start(place.manager())?;
            print_line!("it runs");
        } else {
            service::begin_start(place.manager())?;
            print_line!(
                "systemd starts it, again and again until Discord can be reached; its log: {} -f",
                called::journal(place.manager())
            );
        }
        if place.manager() == Manager::User {
            service::outlive_logout();
        }
    }
    Ok(())
}

/// Whether the configuration has this server of models.
fn is_there(config: &Config, (name, provider): &(&str, Value)) -> bool {
    let address = provider["base_url"].as_str();
    let kept = config.providers.get(*name);
    kept.is_some_and(|kept| address.is_none_or(|address| kept.base_url.as_deref() == Some(address)))
}

/// What the daemon cannot do without, and what an agent cannot.
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

/// Tries token and keys: a refused one ends this, one that cannot be tried is reported. False if Discord could not be reached.
async fn try_secrets(env: &Env) -> Result<bool, Failure> {
    let is_reached = match &env.discord_token {
        Some(token) => try_token(env, token).await?,
        None => true,
    };
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
    Ok(is_reached)
}

/// False if it could not be tried.
async fn try_token(env: &Env, token: &Secret) -> Result<bool, Failure> {
    let application = match application::application(env, token).await {
        Ok(application) => application,
        Err(error @ DiscordError::Refused) => {
            return Err(Failure::Configuration(format!(
                "{error}: copy it again: developer portal, your application, Bot, Reset Token"
            )));
        }
        Err(error @ (DiscordError::Answered(_) | DiscordError::Unreachable(_))) => {
            print_line!("The token could not be tried: {error}");
            return Ok(false);
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
            "Anybody can invite this bot. It does nothing in servers that you do not accept; {HOW_TO_CLOSE}."
        );
    }
    if let Ok(servers) = application::servers(env, token).await
        && servers.is_empty()
    {
        print_line!(
            "The bot is in no server; invite it: {}",
            application.invite()
        );
    }
    Ok(true)
}
