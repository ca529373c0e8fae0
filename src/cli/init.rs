//! `chorus init`: sets up a daemon step by step: token, server, model, service.
//!
//! Creating a bot at Discord takes minutes and another window, so the guide can be stopped at any point. It writes each
//! accepted answer at once to the place where the daemon reads it. It keeps no state of its own, which could disagree
//! with these files. A later run reads them, asks Discord and the providers again, and skips completed steps.

mod called;
mod guide;
mod models;
mod place;
mod terminal;
mod unattended;

use std::io::{self, IsTerminal};

use serde_json::{Map, Value, json};

use self::guide::Guide;
use self::place::{Place, Whose};
use super::environment::EnvFile;
use super::failure::Failure;
use super::output::print_line;
use crate::config::{Config, DEFAULT_DAY_TOKENS, DEFAULT_DAY_USD, WEBHOOK_KEY};

/// Set up the daemon step by step: token, server, model, service. Existing settings are kept.
///
/// On a terminal it asks, tries each answer at once and goes on where an earlier run was stopped. Without one, options and
/// the environment answer: DISCORD_TOKEN, ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  chorus init
  sudo "$(command -v chorus)" init --for machine
  CHORUS_HOME=/srv/chorus chorus init --non-interactive --default-model claude-sonnet-4-5
  sudo "$(command -v chorus)" init --non-interactive --for machine --service"#)]
pub(super) struct Init {
    /// Do not ask; secrets stay where they are (environment, files, credentials) unless --service needs them
    #[arg(long)]
    non_interactive: bool,
    /// Who uses the daemon; decides where its home, secrets and service are
    #[arg(long = "for", value_name = "WHO")]
    whose: Option<Whose>,
    /// Server of models to use: a known name (ollama, openrouter, mistral, …), or an address such as http://192.168.1.20:11434/v1
    #[arg(long, value_name = "NAME|URL")]
    provider: Option<String>,
    /// Default model
    #[arg(long, value_name = "MODEL")]
    default_model: Option<String>,
    /// Permission profile for new agents [default: standard]
    #[arg(long, value_name = "PROFILE")]
    default_permissions: Option<String>,
    /// Let systemd start the daemon, now and after each reboot
    #[arg(long, conflicts_with = "no_service")]
    service: bool,
    /// Let systemd make a backup every night
    #[arg(long, requires = "service")]
    backups: bool,
    /// Do not install a service
    #[arg(long)]
    no_service: bool,
    /// Do not check token, keys, provider and model online
    #[arg(long, requires = "non_interactive")]
    offline: bool,
}

impl Init {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let env = env_file.of_process()?;
        // Before anything is created.
        if let Some(provider) = &self.provider {
            models::described(provider)?;
        }
        if self.non_interactive {
            let place = Place::make(self.whose.unwrap_or(Whose::You), &env, env_file)?;
            return unattended::run(&self, &place);
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::Failed(anyhow::anyhow!(
                "not a terminal: add --non-interactive, and answer by options and environment (chorus init --help)"
            )));
        }
        Guide::begin(self, &env, env_file)?.run()
    }

    /// Returns whether a service is wanted; `None` if that is undecided.
    fn wants_service(&self) -> Option<bool> {
        match (self.service, self.no_service) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            (false, false) => None,
        }
    }
}

/// Writes the keys that people change first, unless there is a file; all others keep their defaults.
fn write_config(place: &Place, model: Option<&str>, profile: Option<&str>) -> Result<(), Failure> {
    let path = place.config_file();
    if path.exists() {
        let config = place.config()?;
        print_line!("{} already exists and stays as it is", path.display());
        tell_untaken("--default-model", model, config.default_model.as_deref());
        let kept = config.default_permissions.as_str();
        tell_untaken("--default-permissions", profile, Some(kept));
        return Ok(());
    }
    let mut keys = Map::new();
    let defaults = serde_json::to_value(Config::default()).map_err(anyhow::Error::from)?;
    for key in [
        "default_model",
        "default_permissions",
        "idle_timeout",
        "max_tool_loop_iterations",
        "max_bash_timeout",
    ] {
        keys.insert(key.to_owned(), defaults[key].clone());
    }
    keys.insert("default_model".to_owned(), json!(model));
    if let Some(profile) = profile {
        keys.insert("default_permissions".to_owned(), json!(profile));
    }
    // Nothing is written that the daemon would refuse.
    Config::parse(&format!("{:#}\n", Value::Object(keys.clone())), &path)?;
    place.change_config(|config| {
        *config = keys;
        Ok(())
    })?;
    print_line!("wrote {}", path.display());
    // A new file sets no budget.
    print_line!(
        "By default each agent may spend ${DEFAULT_DAY_USD:.2} a day, and {} million tokens of models without a known price. `budgets.agent_day` in that file sets another limit; 0 means none",
        DEFAULT_DAY_TOKENS / 1_000_000
    );
    Ok(())
}

/// Creates the key that the secrets of webhooks are derived from, unless there is one.
fn keep_webhook_key(place: &Place) -> Result<(), Failure> {
    if place.env()?.webhook_key.is_some() {
        return Ok(());
    }
    let mut key = [0_u8; 32];
    getrandom::fill(&mut key).map_err(anyhow::Error::from)?;
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    place.keep_secret(WEBHOOK_KEY, &digits)?;
    Ok(())
}

/// Reports an option that conflicts with the existing file.
fn tell_untaken(option: &str, given: Option<&str>, kept: Option<&str>) {
    if let Some(given) = given.filter(|given| Some(*given) != kept) {
        print_line!("{option} {given} was ignored: that file already exists, so write it there");
    }
}
