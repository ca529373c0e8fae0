//! The guide: one step after the other, each tried before the next. Steps of an earlier run are recognised and skipped,
//! so that it can be stopped at any point.

use std::time::Duration;

use serde_json::json;
use tokio::runtime::Runtime;

use super::place::{Place, Whose};
use super::terminal;
use super::{Init, called, keep_webhook_key, models, write_config};
use crate::cli::application::{self, Application, DiscordError, HOW_TO_CLOSE, Server};
use crate::cli::environment::EnvFile;
use crate::cli::failure::Failure;
use crate::cli::looking;
use crate::cli::model_source::is_plain;
use crate::cli::output::print_line;
use crate::cli::service::{self, Manager, Started};
use crate::config::{Env, Secret, effective};
use crate::llm::discovery::Models;

/// How often Discord is asked whether the bot was invited.
const ASK_EVERY: Duration = Duration::from_secs(2);

pub(super) struct Guide {
    pub(super) place: Place,
    pub(super) runtime: Runtime,
    init: Init,
}

impl Guide {
    pub(super) fn begin(init: Init, env: &Env, env_file: &EnvFile) -> Result<Self, Failure> {
        print_line!(
            "Ctrl-C stops this at any point; your answers are saved, and `chorus init` continues from there.\n"
        );
        let whose = match init.whose {
            Some(whose) => whose,
            None => ask_whose(env)?,
        };
        let place = Place::make(whose, env, env_file)?;
        print_line!("The home is {}.", place.home.display());
        Ok(Self {
            place,
            runtime: looking::runtime()?,
            init,
        })
    }

    pub(super) fn run(self) -> Result<(), Failure> {
        write_config(&self.place, None, self.init.default_permissions.as_deref())?;
        keep_webhook_key(&self.place)?;
        let token = self.bot()?;
        self.model()?;
        let runs = self.service()?;
        self.says_what_is_next(&token, runs);
        Ok(())
    }

    // --- the bot ---

    /// Returns a token that Discord knows, for an application that may read messages and is in a server.
    fn bot(&self) -> Result<Secret, Failure> {
        print_line!("\n1. The bot");
        let token = self.token()?;
        let application = self.application(&token)?;
        self.invites(&token, &application)?;
        Ok(token)
    }

    fn token(&self) -> Result<Secret, Failure> {
        let env = self.place.env()?;
        let mut known = env.discord_token.clone();
        let mut is_new = false;
        loop {
            let token = match known.take() {
                Some(token) => token,
                None => {
                    is_new = true;
                    ask_token()?
                }
            };
            match self.runtime.block_on(application::bot_name(&env, &token)) {
                Ok(name) => {
                    print_line!("✓ Discord knows the bot as {name}.");
                    if is_new {
                        self.place.keep_secret("DISCORD_TOKEN", token.expose())?;
                    } else {
                        self.place.keep_of_shell("DISCORD_TOKEN")?;
                    }
                    return Ok(token);
                }
                Err(DiscordError::Refused) => {
                    let source = env.secret_source("DISCORD_TOKEN")?;
                    if let Some(source) =
                        source.filter(|source| !is_new && source.is_of_this_start())
                    {
                        return Err(Failure::Configuration(format!(
                            "Discord refuses DISCORD_TOKEN of {source}: remove it there, or set a valid one"
                        )));
                    }
                    print_line!(
                        "  Discord refuses this token. Copy it again: your application, Bot, Reset Token."
                    );
                }
                Err(error) => {
                    tries_again(&error)?;
                    known = Some(token);
                }
            }
        }
    }

    fn application(&self, token: &Secret) -> Result<Application, Failure> {
        let env = self.place.env()?;
        loop {
            let application = self.insists(|| application::application(&env, token))?;
            if !application.may_read_messages() {
                print_line!(
                    "  It may not read messages yet: turn on Message Content Intent at {} and save.",
                    application.page()
                );
                terminal::line("Press Enter when that is done", None)?;
                continue;
            }
            print_line!("✓ It may read messages.");
            if application.bot_public {
                print_line!(
                    "  Anyone can invite this bot. It is inactive in servers that you do not accept; {HOW_TO_CLOSE}."
                );
            }
            return Ok(application);
        }
    }

    /// Waits until the bot is in a server, or the person continues without one.
    fn invites(&self, token: &Secret, application: &Application) -> Result<(), Failure> {
        let env = self.place.env()?;
        let mut servers = self.insists(|| application::servers(&env, token))?;
        if servers.is_empty() {
            print_line!("  It is not in a server yet. Open this address and add it to yours:\n");
            print_line!("  {}\n", application.invite());
            print_line!("  Waiting until it is there. (Press Enter to continue without.)");
        }
        while servers.is_empty() {
            if terminal::enter_within(ASK_EVERY)? {
                print_line!(
                    "  Not invited yet: the address stays valid, and `chorus doctor` prints it again."
                );
                return Ok(());
            }
            // A missing answer is no reason to stop waiting.
            let asked = application::servers(&env, token);
            servers = self.runtime.block_on(asked).unwrap_or_default();
        }
        for server in &servers {
            tell_server(server, application);
        }
        Ok(())
    }

    /// Returns Discord's answer, and asks again as often as needed.
    fn insists<T, F: Future<Output = Result<T, DiscordError>>>(
        &self,
        ask: impl Fn() -> F,
    ) -> Result<T, Failure> {
        loop {
            match self.runtime.block_on(ask()) {
                Ok(answer) => return Ok(answer),
                Err(error) => tries_again(&error)?,
            }
        }
    }

    // --- the model ---

    fn model(&self) -> Result<(), Failure> {
        print_line!("\n2. The model");
        let mut provider = self.init.provider.clone();
        let models = loop {
            if let Some(provider) = provider.take() {
                models::take_server(self, &provider)?;
            }
            if let Some(models) = models::that_answer(self)? {
                break models;
            }
            if !models::ask_source(self)? {
                print_line!(
                    "  No model is set yet. Run `chorus init` again when you have a key or a model server."
                );
                return Ok(());
            }
        };
        self.default_model(&models)
    }

    fn default_model(&self, models: &Models) -> Result<(), Failure> {
        let config = self.place.config()?;
        let set = config
            .default_model
            .filter(|name| effective::is_chosen(name));
        let mut named = self.init.default_model.clone().or(set);
        loop {
            let name = match named.take() {
                Some(name) => name,
                None => models::ask_model(models)?,
            };
            match self.runtime.block_on(models::find(models, &name)) {
                Ok(target) => {
                    let target = target.to_string();
                    print_line!("✓ Default model: {target}.");
                    self.place.change_config(|keys| {
                        keys.insert("default_model".to_owned(), json!(target));
                        Ok(())
                    })?;
                    return Ok(());
                }
                Err(error) => print_line!("  {error}"),
            }
        }
    }

    // --- the service ---

    /// Returns whether the daemon runs now.
    fn service(&self) -> Result<bool, Failure> {
        print_line!("\n3. The service");
        let manager = self.place.manager();
        let wanted = match (self.init.wants_service(), service::unreachable(manager)) {
            (Some(false), _) => false,
            (Some(true) | None, Some(why)) => {
                print_line!("  No service was installed: {why}.");
                false
            }
            (Some(true), None) => true,
            (None, None) => terminal::yes("Let systemd start it now and after each reboot?")?,
        };
        if !wanted {
            return Ok(false);
        }
        service::install(manager, &self.place.home)?;
        match service::start(manager)? {
            Started::Connected => print_line!("✓ It runs and is connected to Discord."),
            Started::Waiting => print_line!(
                "  It runs but Discord has not answered yet; its log: {} -f",
                called::journal(manager)
            ),
        }
        if manager == Manager::User {
            service::outlive_logout();
        }
        if terminal::yes("Let systemd make a backup every night? (the newest 14 are kept)")? {
            service::enable_backups(manager)?;
        }
        Ok(true)
    }

    fn says_what_is_next(&self, token: &Secret, runs: bool) {
        let is_machine = self.place.whose == Whose::Machine;
        let program = if is_machine {
            // Only root may read the credentials.
            let variables =
                "CREDENTIALS_DIRECTORY=/etc/chorus/credentials CHORUS_HOME=/var/lib/chorus ";
            called::by_root(variables)
        } else {
            called::by_you()
        };
        print_line!();
        if runs {
            print_line!("Its log: {} -f", called::journal(self.place.manager()));
        } else if is_machine {
            let init = called::by_root("");
            print_line!("Start it: {init} init --for machine --service");
        } else {
            print_line!("Start it: {program} run");
        }
        print_line!("Check it at any time: {program} doctor");
        let env = self.place.env();
        let servers = env.map(|env| self.runtime.block_on(application::servers(&env, token)));
        if let Ok(Ok(servers)) = servers
            && let Some(server) = servers.first()
        {
            print_line!(
                "In {}: /agent init name:lab, then write in #lab.",
                server.name
            );
        }
    }
}

fn ask_whose(env: &Env) -> anyhow::Result<Whose> {
    if std::env::var_os("CHORUS_HOME").is_some_and(|home| !home.is_empty()) {
        return Ok(Whose::You);
    }
    print_line!("Who is it for?");
    let you = format!("for you: home {}", env.paths.home.display());
    let machine = format!(
        "for this machine: home {}, a service with its own user (needs root)",
        service::MACHINE_HOME
    );
    let is_root = rustix::process::geteuid().is_root();
    let (offered, order) = if is_root {
        ([machine, you], [Whose::Machine, Whose::You])
    } else {
        ([you, machine], [Whose::You, Whose::Machine])
    };
    Ok(order[terminal::choose("Number", &offered)?])
}

fn ask_token() -> anyhow::Result<Secret> {
    print_line!(
        "  https://discord.com/developers/applications → New Application → Bot: Reset Token, and turn on Message Content Intent."
    );
    loop {
        let token = terminal::secret("The bot's token")?;
        if is_plain(&token) {
            return Ok(Secret::new(token));
        }
        print_line!(
            "  This is not a token: it is empty, or contains a space, a quote or a non-ASCII character."
        );
    }
}

fn tries_again(error: &DiscordError) -> anyhow::Result<()> {
    print_line!("  {error}");
    terminal::line("Press Enter to try again", None).map(|_| ())
}

fn tell_server(server: &Server, application: &Application) {
    let missing = server.missing();
    let name = &server.name;
    if missing.is_empty() {
        print_line!("✓ In {name} it has all permissions it needs.");
        return;
    }
    print_line!(
        "  In {name} it is missing {}. Open this address again, or give them to its role:\n  {}",
        missing.join(", "),
        application.invite()
    );
}
