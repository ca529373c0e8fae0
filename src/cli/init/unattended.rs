//! `chorus init --non-interactive`: takes its answers from options and environment; it ends where Discord or a provider
//! refuses one.

use super::place::Place;
use super::{Init, called, models, write_config};
use crate::cli::application::{self, DiscordError, HOW_TO_CLOSE};
use crate::cli::failure::Failure;
use crate::cli::looking;
use crate::cli::model_source::{self, KeyError, VENDORS};
use crate::cli::output::print_line;
use crate::cli::service::{self, Manager};
use crate::config::{Env, Secret};

pub(super) fn run(init: &Init, place: &Place) -> Result<(), Failure> {
    let env = place.env()?;
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
        &init.default_permissions,
    )?;
    if let Some((name, provider)) = provider.filter(|_| is_new) {
        models::keep_server(place, name, provider)?;
        place.config()?;
    }
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

/// Tries token and keys: a refused one ends this, one that cannot be tried is reported. False if Discord could not be reached.
async fn try_secrets(env: &Env) -> Result<bool, Failure> {
    let is_reached = if let Some(token) = &env.discord_token {
        try_token(env, token).await?
    } else {
        print_line!("DISCORD_TOKEN is not set: the daemon needs it to start");
        true
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
