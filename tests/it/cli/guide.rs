//! `chorus init` on a terminal: a person answers, Discord and the models answer over loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chorus_playground::{Discord, Options};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::service::written_down;
use super::terminal::Terminal;
use crate::llm::local_models::ollama::Ollama;
use crate::not_run::{Missing, not_run};
use crate::world::daemon::program;
use crate::world::model::{KEY, Model};

/// The intent to read what people write.
const MESSAGE_CONTENT: u64 = 1 << 15;

/// A `systemctl` and a `loginctl` that write down what they are told, before all else.
fn path_with_systemctl(home: &Path) -> String {
    let programs = home.join("bin");
    if !programs.exists() {
        written_down(home);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Whoever runs this may have installed the program: `init` would name it as the shell finds it.
    let without_chorus =
        std::env::split_paths(&path).filter(|folder| !folder.join("chorus").exists());
    let folders = std::iter::once(programs).chain(without_chorus);
    std::env::join_paths(folders)
        .unwrap()
        .into_string()
        .unwrap()
}

fn init(options: &str) -> String {
    format!("{} init {options}", program().display())
}

/// A terminal with this command, for a person whose home this is.
fn opens(command: &str, user: &Path, variables: &[(&str, &str)]) -> Terminal {
    let path = path_with_systemctl(user);
    let variables: Vec<(&str, &str)> = [("PATH", path.as_str())]
        .into_iter()
        .chain(variables.iter().copied())
        .collect();
    Terminal::open(command, user, &variables)
}

async fn discord() -> Discord {
    let discord = Discord::start(Options::default()).await.unwrap();
    discord.kicks_bot(discord.guild());
    discord
}

fn home_of(user: &Path) -> PathBuf {
    user.join(".chorus-agents")
}

/// The secrets that were kept in a home. The key of webhooks is there, and is a random one.
fn without_webhook_key(home: &Path) -> String {
    let secrets = fs::read_to_string(home.join(".env")).unwrap();
    let (key, rest) = secrets.split_once('\n').unwrap();
    let digits = key.strip_prefix("WEBHOOK_KEY='").unwrap();
    assert_eq!(digits.trim_end_matches('\'').len(), 64, "{key}");
    rest.to_owned()
}

#[tokio::test]
async fn it_leads_from_nothing_to_a_service() {
    let user = TempDir::new().unwrap();
    let (discord, model) = (discord().await, Model::start().await);
    discord.disallows_intents(MESSAGE_CONTENT);
    model.cannot_list(401);
    let variables = [
        ("CHORUS_DISCORD_API_URL", discord.base_url()),
        ("ANTHROPIC_BASE_URL", model.base_url()),
    ];
    let mut terminal = opens(&init(""), user.path(), &variables);
    terminal.chooses("for you: home").await;

    terminal
        .answers("The bot's token (hidden): ", "wrong-token")
        .await;
    terminal.sees("Discord refuses this token").await;
    terminal
        .answers("The bot's token (hidden): ", discord.token())
        .await;
    terminal.sees("Discord knows the bot as").await;
    terminal.sees("DISCORD_TOKEN kept in ").await;
    terminal
        .sees("turn on Message Content Intent at https://discord.com/developers/applications/")
        .await;
    discord.disallows_intents(0);
    terminal.answers("Enter when that is done: ", "").await;
    terminal.sees("It may read messages.").await;
    let invite = "https://discord.com/oauth2/authorize?client_id=";
    terminal.sees(invite).await;
    terminal
        .sees("&scope=bot+applications.commands&permissions=309237771344")
        .await;
    terminal.sees("Waiting until it is there.").await;
    discord.invites_bot(discord.guild());
    terminal.sees("it has all permissions it needs.").await;

    terminal
        .sees("Which provider or server should answer?")
        .await;
    terminal.chooses("Anthropic (Claude), with a key").await;
    terminal
        .answers("key (empty: back) (hidden): ", "sk-wrong")
        .await;
    terminal.sees("does not accept this key").await;
    model.lists(&["claude-first", "claude-second"]);
    terminal.answers("key (empty: back) (hidden): ", KEY).await;
    terminal.sees("ANTHROPIC_API_KEY kept in ").await;
    terminal.sees("anthropic: 2 models").await;
    terminal
        .answers("number or name [1]: ", "claude-third")
        .await;
    terminal
        .sees("There is no model claude-third. Did you mean")
        .await;
    terminal.answers("number or name [1]: ", "2").await;
    terminal
        .sees("Default model: anthropic/claude-second.")
        .await;

    terminal.answers("after each reboot? (y/n) [y]: ", "").await;
    terminal.sees("It runs and is connected to Discord.").await;
    terminal
        .sees("It keeps running when you log out, and starts with the machine.")
        .await;
    terminal
        .answers("newest 14 are kept) (y/n) [y]: ", "")
        .await;
    terminal.sees("/agent init name:lab").await;
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, 0, "{shown}");
    for secret in ["wrong-token", discord.token(), "sk-wrong", KEY] {
        assert!(!shown.contains(secret), "{shown}");
    }

    let home = home_of(user.path());
    let dotenv = without_webhook_key(&home);
    let kept = format!(
        "DISCORD_TOKEN='{}'\nANTHROPIC_API_KEY='{KEY}'\n",
        discord.token()
    );
    assert_eq!(dotenv, kept);
    let mode = fs::metadata(home.join(".env"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let config: Value =
        serde_json::from_str(&fs::read_to_string(home.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["default_model"], "anthropic/claude-second");
    let unit = user.path().join(".config/systemd/user/chorus.service");
    let unit = fs::read_to_string(unit).unwrap();
    assert!(
        unit.contains("Environment=CHORUS_HOME=%h/.chorus-agents\n"),
        "{unit}"
    );
    let told = fs::read_to_string(user.path().join("told")).unwrap();
    insta::assert_snapshot!(told, @r"
    --user is-system-running
    --user daemon-reload
    --user enable chorus.service
    --user restart chorus.service
    --user show -p ActiveState,StatusText chorus.service
    --no-ask-password enable-linger
    --user enable --now chorus-backup.timer
    ");
}

#[tokio::test]
async fn it_goes_on_where_it_was_stopped() {
    let user = TempDir::new().unwrap();
    let discord = discord().await;
    let variables = [("CHORUS_DISCORD_API_URL", discord.base_url())];
    let then = format!("{}; echo \"ended with $?\"; stty -a", init("--for you"));

    // In the middle of a secret, which is not shown: the terminal is as before.
    let mut terminal = opens(&then, user.path(), &variables);
    terminal.sees("The bot's token (hidden): ").await;
    terminal.types("half a tok\u{3}").await;
    terminal.sees("your answers are saved").await;
    terminal.sees("ended with 1").await;
    terminal.sees(" echo ").await;
    terminal.ends().await;

    // While it waits for the invitation.
    let mut terminal = opens(&then, user.path(), &variables);
    terminal
        .answers("The bot's token (hidden): ", discord.token())
        .await;
    terminal.sees("Waiting until it is there.").await;
    terminal.types("\u{3}").await;
    terminal.ends().await;

    // What was said is known, and what cannot be had yet is gone over.
    let mut terminal = opens(&init("--for you --no-service"), user.path(), &variables);
    terminal.sees("Discord knows the bot as").await;
    terminal
        .answers("(Press Enter to continue without.)", "")
        .await;
    terminal.chooses("decide later").await;
    // By its path: no shell finds it by its name here.
    let start = format!("Start it: {} run", program().display());
    terminal.sees(&start).await;
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("token (hidden)"), "{shown}");

    std::os::unix::fs::symlink(program(), user.path().join("bin/chorus")).unwrap();
    let mut terminal = opens(&init("--for you --no-service"), user.path(), &variables);
    terminal
        .answers("(Press Enter to continue without.)", "")
        .await;
    terminal.chooses("decide later").await;
    terminal.sees("Start it: chorus run").await;
    terminal.sees("Check it at any time: chorus doctor").await;
    terminal.ends().await;
}

#[tokio::test]
async fn a_server_at_another_address_answers_without_a_key() {
    let user = TempDir::new().unwrap();
    let (discord, ollama) = (discord().await, Ollama::start().await);
    discord.invites_bot(discord.guild());
    let variables = [
        ("CHORUS_DISCORD_API_URL", discord.base_url()),
        ("DISCORD_TOKEN", discord.token()),
    ];
    let mut terminal = opens(&init("--for you --no-service"), user.path(), &variables);
    terminal.chooses("another server").await;
    terminal
        .answers("(empty: back): ", &ollama.base_url())
        .await;
    terminal.answers("(empty: none) (hidden): ", "").await;
    terminal.sees("own: 3 models").await;
    terminal.answers("number or name [1]: ", "qwen3").await;
    terminal.sees("Default model: own/qwen3:8b.").await;
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, 0, "{shown}");
    let config = fs::read_to_string(home_of(user.path()).join("config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(
        config["providers"],
        json!({"own": {"base_url": ollama.base_url()}})
    );
    // A token of this shell is kept: no service would see it.
    let dotenv = without_webhook_key(&home_of(user.path()));
    assert_eq!(dotenv, format!("DISCORD_TOKEN='{}'\n", discord.token()));
}

#[tokio::test]
async fn a_model_server_of_this_machine_is_found_and_offered() {
    let Ok(listener) = TcpListener::bind("127.0.0.1:8000").await else {
        not_run(&Missing::Machine(
            "port 8000 is taken, perhaps by a real vLLM",
        ));
        return;
    };
    let user = TempDir::new().unwrap();
    let (discord, _server) = (discord().await, Ollama::at(listener));
    discord.invites_bot(discord.guild());
    let variables = [
        ("CHORUS_DISCORD_API_URL", discord.base_url()),
        ("DISCORD_TOKEN", discord.token()),
    ];
    let mut terminal = opens(&init("--for you --no-service"), user.path(), &variables);
    terminal.chooses("vLLM on this machine (qwen3:8b").await;
    terminal.sees("vllm: 3 models").await;
    terminal.answers("number or name [1]: ", "").await;
    terminal.sees("Default model: vllm/qwen3:8b.").await;
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, 0, "{shown}");
    let config = fs::read_to_string(home_of(user.path()).join("config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["providers"], json!({"vllm": {}}));
    assert_eq!(config["default_model"], "vllm/qwen3:8b");
}
