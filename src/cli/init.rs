//! `chorus init`: makes a home with what a first start needs.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::public_bot::warn_of_public;
use crate::config::{Config, Env, Paths, Secret};

/// Make a home: config.json, and .env for the token and keys. What is there already stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus init
  CHORUS_HOME=/srv/chorus chorus init --non-interactive --default-model claude-sonnet-4-5")]
pub(super) struct Init {
    /// Ask nothing; secrets stay where they are (environment, files, credentials)
    #[arg(long)]
    non_interactive: bool,
    /// Model for agents that name none
    #[arg(long, value_name = "MODEL")]
    default_model: Option<String>,
    /// Permission profile for new agents
    #[arg(long, value_name = "PROFILE", default_value = "standard")]
    default_permissions: String,
}

impl Init {
    pub(super) fn run(self) -> Result<(), Failure> {
        let env = Env::of_process()?;
        if self.non_interactive {
            make_home(&env.paths)?;
            write_config(
                &env.paths,
                self.default_model.as_deref(),
                &self.default_permissions,
            )?;
            if let Some(token) = &env.discord_token {
                warn_of_public(&env, token)?;
            }
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::Failed(anyhow::anyhow!(
                "there is no terminal to ask on: add --non-interactive"
            )));
        }
        Ok(self.ask(&env)?)
    }

    fn ask(self, env: &Env) -> anyhow::Result<()> {
        println!(
            "The home will be {} (CHORUS_HOME changes that).\n",
            env.paths.home.display()
        );
        let mut secrets: Vec<(&str, String)> = Vec::new();
        if env.discord_token.is_none() {
            println!(
                "The bot's token: https://discord.com/developers/applications, your application, Bot, Reset Token. \
                 On the same page turn on Message Content Intent."
            );
            secrets.extend(ask_secret("DISCORD_TOKEN")?);
        }
        if env.anthropic.key.is_none() && env.openai.key.is_none() && env.gemini.key.is_none() {
            println!("A key for models. Leave empty those you do not have.");
            for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
                secrets.extend(ask_secret(name)?);
            }
        }
        let model = match self.default_model {
            Some(model) => Some(model),
            None => ask_line(
                "Model for agents that name none (empty: choose later with /settings model)",
            )?,
        };
        make_home(&env.paths)?;
        write_config(&env.paths, model.as_deref(), &self.default_permissions)?;
        write_secrets(&env.paths.home.join(".env"), &secrets)?;
        let given = secrets.iter().find(|(name, _)| *name == "DISCORD_TOKEN");
        let given = given.map(|(_, token)| Secret::new(token.clone()));
        if let Some(token) = env.discord_token.clone().or(given) {
            println!();
            warn_of_public(env, &token)?;
        }
        println!("\nNext: chorus doctor, then chorus run (or chorus service install).");
        Ok(())
    }
}

fn make_home(paths: &Paths) -> anyhow::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&paths.home)
        .with_context(|| format!("making {}", paths.home.display()))
}

/// Writes the keys that people change first; all others have their defaults.
fn write_config(paths: &Paths, model: Option<&str>, profile: &str) -> anyhow::Result<()> {
    let path = paths.config();
    if path.exists() {
        println!("{} is there already and stays as it is", path.display());
        return Ok(());
    }
    let defaults = serde_json::to_value(Config::default())?;
    let mut keys = Map::new();
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
    keys.insert("default_permissions".to_owned(), json!(profile));
    let text = format!("{:#}\n", Value::Object(keys));
    write_new(&path, &text, 0o644)?;
    println!("wrote {}", path.display());
    Ok(())
}

fn write_secrets(path: &Path, secrets: &[(&str, String)]) -> anyhow::Result<()> {
    if secrets.is_empty() {
        return Ok(());
    }
    let lines: String = secrets
        .iter()
        .map(|(name, value)| format!("{name}='{value}'\n"))
        .collect();
    if path.exists() {
        bail!(
            "{} is there already: add these lines to it yourself: {}",
            path.display(),
            names(secrets)
        );
    }
    write_new(path, &lines, 0o600)?;
    println!(
        "wrote {} ({}), readable for you alone",
        path.display(),
        names(secrets)
    );
    Ok(())
}

fn names(secrets: &[(&str, String)]) -> String {
    let names: Vec<&str> = secrets.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

fn write_new(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .with_context(|| format!("making {}", path.display()))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("writing {}", path.display()))
}

fn ask_line(question: &str) -> anyhow::Result<Option<String>> {
    print!("{question}: ");
    io::stdout().flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

/// Asks without showing what is typed.
fn ask_secret(name: &'static str) -> anyhow::Result<Option<(&'static str, String)>> {
    echo("-echo");
    let answer = ask_line(name);
    echo("echo");
    println!();
    let Some(answer) = answer? else {
        return Ok(None);
    };
    if answer.contains(|c: char| c == '\'' || c.is_whitespace() || c.is_control()) {
        bail!("that is no {name}: it holds a quote, a space or a control character");
    }
    Ok(Some((name, answer)))
}

/// Turns the terminal's echo on or off; where that does not work, typing is seen.
fn echo(mode: &str) {
    let _ = Command::new("stty")
        .arg(mode)
        .stderr(Stdio::null())
        .status();
}
