//! `chorus init --non-interactive`: a home for a first start, nothing overwritten, and what is refused named.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use chorus_playground::{Discord, Options};
use tempfile::TempDir;

use super::program::{Seen, chorus, seen};
use super::service::written_down;
use crate::not_run::{Missing, not_run};
use crate::world::model::{KEY, Model};

/// Runs `chorus init --non-interactive` with these options in a home of its own. The test goes on meanwhile.
async fn runs(home: &Path, options: &[&str], variables: &[(&str, &str)]) -> Seen {
    let mut command = chorus(home, &["init", "--non-interactive"]);
    command.args(options).envs(variables.iter().copied());
    tokio::task::spawn_blocking(move || seen(&mut command))
        .await
        .unwrap()
}

/// What is said of the budget as a configuration is written.
const BUDGET: &str = "By default each agent may spend $20.00 a day, and 20 million tokens of models without a known price. `budgets.agent_day` in that file sets another limit; 0 means none";

#[test]
fn a_home_is_made_that_check_config_likes() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("deep/home");
    let init = |arguments: &[&str]| {
        let mut command = chorus(folder.path(), &["init", "--non-interactive"]);
        seen(command.args(arguments).env("CHORUS_HOME", &home))
    };
    let made = init(&["--default-model", "some-model"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let missing = format!(
        "wrote {0}\n\
         {BUDGET}\n  WEBHOOK_KEY kept in {1}\n\
         DISCORD_TOKEN is not set: the daemon needs it to start\n\
         No model is set: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a server in `providers` of {0}\n",
        home.join("config.json").display(),
        home.join(".env").display()
    );
    assert_eq!(made.out, missing);
    let kept = fs::read_to_string(home.join(".env")).unwrap();
    let key = kept.trim().strip_prefix("WEBHOOK_KEY=").unwrap();
    assert!(
        chorus_webhook::Key::from_hex(key.trim_matches('\'')).is_ok(),
        "{key}"
    );
    assert_eq!(
        fs::metadata(&home).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let config: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(home.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["default_model"], "some-model");
    assert_eq!(config["idle_timeout"], 1800);
    let checked = seen(chorus(folder.path(), &["check-config"]).env("CHORUS_HOME", &home));
    assert_eq!(checked.code, 0, "{}", checked.err);

    assert_eq!(config["default_permissions"], "standard");
}

#[test]
fn what_a_configuration_says_stays_and_what_was_not_taken_is_named() {
    let home = tempfile::tempdir().unwrap();
    let init = |arguments: &[&str]| {
        let mut command = chorus(home.path(), &["init", "--non-interactive", "--offline"]);
        let said = seen(command.args(arguments).env("DISCORD_TOKEN", "a-token"));
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    let options = [
        "--provider",
        "ollama",
        "--default-model",
        "qwen3:8b",
        "--default-permissions",
        "guarded",
    ];
    let file = home.path().join("config.json");
    let shown = file.display();
    let secrets = home.path().join(".env");
    let key = format!("  WEBHOOK_KEY kept in {}\n", secrets.display());
    assert_eq!(init(&options), format!("wrote {shown}\n{BUDGET}\n{key}"));
    let written = fs::read_to_string(&file).unwrap();
    let kept = format!("{shown} already exists and stays as it is\n");
    assert_eq!(init(&options), kept);
    assert_eq!(init(&[]), kept);

    let others = [
        "--provider",
        "http://192.168.1.20:11434/v1",
        "--default-model",
        "other",
        "--default-permissions",
        "standard",
    ];
    assert_eq!(
        init(&others),
        format!(
            "{kept}\
             --default-model other was ignored: that file already exists, so write it there\n\
             --default-permissions standard was ignored: that file already exists, so write it there\n\
             --provider http://192.168.1.20:11434/v1 was ignored: that file already exists, so write it there\n"
        )
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
}

/// It could not start.
#[test]
fn a_service_without_a_token_is_refused() {
    let home = TempDir::new().unwrap();
    let path = format!("{}:/usr/bin:/bin", written_down(home.path()).display());
    for more in [&[][..], &["--offline"]] {
        let mut command = chorus(home.path(), &["init", "--non-interactive", "--service"]);
        let said = seen(command.args(more).env("PATH", &path));
        assert_eq!(said.code, 78, "{}", said.out);
        assert!(
            said.err.starts_with("chorus: DISCORD_TOKEN is not set"),
            "{}",
            said.err
        );
        for file in ["config.json", ".config/systemd", "told"] {
            assert!(!home.path().join(file).exists(), "{file}");
        }
    }
}

#[test]
fn without_a_terminal_it_says_what_to_add() {
    let home = tempfile::tempdir().unwrap();
    let said = seen(chorus(home.path(), &["init"]).stdin(Stdio::null()));
    assert_eq!(said.code, 1);
    assert!(said.err.contains("add --non-interactive"), "{}", said.err);
}

#[tokio::test]
async fn what_is_refused_is_named_and_nothing_is_written() {
    let home = TempDir::new().unwrap();
    let discord = Discord::start(Options::default()).await.unwrap();
    let api = ("CHORUS_DISCORD_API_URL", discord.base_url());
    let cases: [(&[&str], &str, &str); 3] = [
        (&[], "wrong", "Discord refuses DISCORD_TOKEN"),
        (&["--default-permissions", "nope"], discord.token(), "nope"),
        (
            &["--provider", "olama"],
            discord.token(),
            "--provider olama: write one of anthropic,",
        ),
    ];
    for (options, token, words) in cases {
        let said = runs(home.path(), options, &[api, ("DISCORD_TOKEN", token)]).await;
        assert!(said.code != 0 && said.err.contains(words), "{}", said.err);
        assert!(!home.path().join("config.json").exists(), "{options:?}");
    }
}

/// What is given is tried, and nothing is written that a provider refuses.
#[tokio::test]
async fn a_provider_and_a_model_are_tried() {
    let model = Model::start().await;
    model.lists(&["claude-first"]);
    let address = model.base_url();
    let key = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", address)];
    let refused: [(&[&str], &str); 3] = [
        (
            &["--default-model", "claude-frist"],
            "--default-model claude-frist: There is no model claude-frist.",
        ),
        (
            &["--provider", "mistral"],
            "--provider mistral has no key: set MISTRAL_API_KEY",
        ),
        (&["--provider", "llama"], "--provider llama: write one of "),
    ];
    for (options, words) in refused {
        let home = TempDir::new().unwrap();
        let made = home.path().join("home");
        let home_of_it = ("CHORUS_HOME", made.to_str().unwrap());
        let said = runs(home.path(), options, &[key[0], key[1], home_of_it]).await;
        let code = if words.contains("write one of") {
            2
        } else {
            78
        };
        assert_eq!(said.code, code, "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(!made.join("config.json").exists(), "{options:?}");
    }
    let home = TempDir::new().unwrap();
    let right = runs(home.path(), &["--default-model", "claude-first"], &key).await;
    assert_eq!(right.code, 0, "{}", right.err);

    let home = TempDir::new().unwrap();
    let silent = ["--provider", "http://127.0.0.1:1/v1"];
    let said = runs(home.path(), &silent, &[]).await;
    assert_eq!(said.code, 0, "{}", said.err);
    let told = "--provider http://127.0.0.1:1/v1 could not be checked: ";
    assert!(said.out.contains(told), "{}", said.out);
}

#[tokio::test]
async fn a_bot_in_no_server_is_told_its_address() {
    let home = TempDir::new().unwrap();
    let discord = Discord::start(Options::default()).await.unwrap();
    discord.kicks_bot(discord.guild());
    let variables = [
        ("CHORUS_DISCORD_API_URL", discord.base_url()),
        ("DISCORD_TOKEN", discord.token()),
    ];
    let said = runs(home.path(), &[], &variables).await;
    assert_eq!(said.code, 0, "{}", said.err);
    let invite = "https://discord.com/oauth2/authorize?client_id=";
    assert!(said.out.contains(invite), "{}", said.out);
    let kept = fs::read_to_string(home.path().join(".env")).unwrap();
    assert!(
        kept.starts_with("WEBHOOK_KEY=") && kept.lines().count() == 1,
        "secrets stay where they are"
    );

    let unreachable = [
        ("CHORUS_DISCORD_API_URL", "http://127.0.0.1:1"),
        ("DISCORD_TOKEN", discord.token()),
    ];
    let elsewhere = TempDir::new().unwrap();
    let said = runs(elsewhere.path(), &[], &unreachable).await;
    assert_eq!(said.code, 0, "{}", said.err);
    let why = "The token could not be checked: Discord cannot be reached (Connection refused";
    assert!(said.out.contains(why), "{}", said.out);
}

/// As root, in a mount namespace whose /etc, /var/lib and /usr/local are copies that end with it.
#[test]
fn the_machine_gets_a_user_a_home_and_a_service() {
    // The machine's service cannot see it: the program is copied.
    let folder = TempDir::new_in("/tmp").unwrap();
    let can = Command::new("unshare")
        .args(["--mount", "sh", "-c", "command -v useradd"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !rustix::process::geteuid().is_root() || !can.is_ok_and(|status| status.success()) {
        not_run(&Missing::Machine(
            "this takes root, mount namespaces and useradd",
        ));
        return;
    }
    let etc = folder.path().join("etc");
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).unwrap();
    let script = format!(
        "cp -a /etc {etc}; mount --bind {etc} /etc; mount -t tmpfs tmpfs /var/lib
         mount -t tmpfs tmpfs /usr/local; mkdir /usr/local/bin; mount --bind {copies} /usr/local/bin
         rm -rf /etc/chorus; sed -i /^chorus:/d /etc/passwd /etc/group /etc/shadow
         cp {program} {folder}/chorus; chmod 775 {folder}/chorus; umask 002
         {folder}/chorus init --non-interactive --for machine --provider ollama --default-model qwen3:8b --service --offline >&2
         stat -c '%A %U %G %n' /usr/local/bin/chorus /var/lib/chorus /var/lib/chorus/config.json /etc/chorus/credentials /etc/chorus/credentials/*
         cat /etc/chorus/credentials/DISCORD_TOKEN
         grep -c ExecStart= /etc/systemd/system/chorus.service; grep '^chorus:' /etc/passwd | cut -d: -f6,7
         export CHORUS_DISCORD_API_URL=http://127.0.0.1:1 CREDENTIALS_DIRECTORY=/etc/chorus/credentials CHORUS_HOME=/var/lib/chorus
         {program} doctor | sed -n 's/^\\(ok *user .* uid\\) .*/\\1/p'",
        folder = folder.path().display(),
        etc = etc.display(),
        copies = copies.display(),
        program = env!("CARGO_BIN_EXE_chorus"),
    );
    let path = std::env::var("PATH").unwrap_or_default();
    let programs = written_down(folder.path());
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "sh", "-ec", &script])
        .env_clear()
        .env("PATH", format!("{}:/usr/sbin:{path}", programs.display()))
        .env("HOME", folder.path())
        .env("DISCORD_TOKEN", "a-token")
        .current_dir(folder.path());
    let made = seen(&mut command);
    assert_eq!(made.code, 0, "{}{}", made.out, made.err);
    insta::assert_snapshot!(made.out, @r"
    -rwxr-xr-x root root /usr/local/bin/chorus
    drwx------ chorus chorus /var/lib/chorus
    -rw------- chorus chorus /var/lib/chorus/config.json
    drwx------ root root /etc/chorus/credentials
    -rw------- root root /etc/chorus/credentials/DISCORD_TOKEN
    -rw------- root root /etc/chorus/credentials/WEBHOOK_KEY
    a-token
    1
    /var/lib/chorus:/usr/sbin/nologin
    ok       user         this is root; the home belongs to uid
    ");
    let told = fs::read_to_string(folder.path().join("told")).unwrap();
    insta::assert_snapshot!(told, @r"
    is-system-running
    daemon-reload
    enable chorus.service
    restart chorus.service
    show -p ActiveState,StatusText chorus.service
    ");
}
