//! Every command that the documentation shows is run, or is listed here with the reason why not; every `chorus …` in it, and in
//! `--help`, is one that the program takes; every example of JSON is read.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use chorus::cli;
use chorus::config::Config;

use super::program::seen;

/// A command of the documentation, with the page it stands on.
#[derive(Debug)]
struct Shown {
    page: String,
    line: String,
}

/// What is done with commands that begin like this.
enum What {
    /// It is run in a home of its own, and ends with this code.
    Run(i32),
    /// Only its arguments are looked at, for this reason.
    Parse(&'static str),
    /// It is not ours, and not run for this reason.
    Not(&'static str),
}

/// The first that a command begins with holds. An entry that nothing needs is a mistake.
const COMMANDS: &[(&str, What)] = &[
    (
        "cargo run --profile quick -- playground",
        What::Not("the walk through the page starts the same"),
    ),
    (
        "cargo run -p chorus-playground",
        What::Not("it waits for a bot; the example is built with the tests"),
    ),
    (
        "cargo install --locked --path .",
        What::Not("it takes minutes; CI builds the same program"),
    ),
    ("cargo nextest run", What::Not("it would run itself")),
    (
        "cargo uninstall",
        What::Not("it would remove a program of this machine"),
    ),
    ("tests/run", What::Not("it would run itself")),
    (
        "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs",
        What::Not("it would install Rust, from the network"),
    ),
    (
        ". \"$HOME/.cargo/env\"",
        What::Not("it goes with the installation of Rust"),
    ),
    ("git clone", What::Not("there is no network")),
    ("git -c safe.bareRepository=explicit status", What::Run(0)),
    ("cd chorus", What::Not("it goes with the clone")),
    ("cd wheels", What::Not("it goes with the download")),
    ("cd ~/.chorus-agents/agents/dev &&", What::Run(0)),
    (
        "cp .env.example",
        What::Not("it would write into the repository; another test reads the file"),
    ),
    (
        "docker compose",
        What::Not("there is no engine for containers; another test reads the file"),
    ),
    (
        "sh install.sh",
        What::Not("ops::packages runs it against a folder and a server"),
    ),
    (
        ".packaging/build",
        What::Not("it takes minutes and the network; ops::packages runs its parts"),
    ),
    (
        "sudo \"$(command -v chorus)\" service",
        What::Parse("it would change this machine; cli::service runs it"),
    ),
    (
        "chorus service",
        What::Parse("it would change this machine; cli::service runs it"),
    ),
    ("sudo ", What::Not("it would change this machine")),
    ("ssh -L", What::Not("there is no other machine")),
    ("body=", What::Not("it belongs to the command below")),
    (
        "curl -H \"Authorization: Bearer $SECRET\"",
        What::Not("there is no proxy; hooks::listener sends the same"),
    ),
    (
        "ollama",
        What::Not("llm::local_models runs against a server"),
    ),
    (
        "OLLAMA_CONTEXT_LENGTH=32768 ollama",
        What::Not("llm::local_models runs against a server"),
    ),
    ("pip download", What::Not("it takes the network")),
    (
        "export DATABASE_URL",
        What::Not("it belongs to the command below; .ci/run does the same"),
    ),
    (
        "rm .sqlx/*",
        What::Not("it compiles the library; .ci/run does the same"),
    ),
    (
        "python3 .ci/schema",
        What::Not("it makes a file for the command below; .ci/run does the same"),
    ),
    (
        "python3 docs/maintaining/models-json.py",
        What::Not("it takes what was downloaded"),
    ),
    ("rm -rf ~/.chorus-agents", What::Run(0)),
    ("rm -f ~/.local/bin/chorus", What::Run(0)),
    ("rm -rf ~/.local/state/chorus-backups", What::Run(0)),
    ("rm -f ~/.cargo/share/man/", What::Run(0)),
    ("rm -f ~/.local/share/bash-completion/", What::Run(0)),
    (
        "mkdir -p ~/.local/share/bash-completion/completions",
        What::Run(0),
    ),
    ("chorus man --directory", What::Run(0)),
    ("chorus completions bash", What::Run(0)),
    ("rm -f ~/.local/share/{man/", What::Run(0)),
    (
        "rm -rf ~/.config/systemd/user/chorus.service.d",
        What::Run(0),
    ),
    (
        "curl -fsSLO https://example.org/chorus/install.sh",
        What::Not("nothing is there; ops::packages fetches from a server"),
    ),
    ("chorus init", What::Parse("it asks; cli::init runs it")),
    ("chorus backup", What::Run(0)),
    ("chorus check-config", What::Run(0)),
    ("chorus restore --check", What::Run(0)),
    ("chorus restore --replace", What::Run(0)),
    (
        "CHORUS_HOME=/srv/chorus chorus restore",
        What::Parse("it would write into this machine; cli::backup runs it"),
    ),
    (
        "chorus mcp test",
        What::Parse("it would fetch a package; cli::mcp runs servers"),
    ),
    ("echo 'tool:bash:", What::Run(0)),
    ("chorus permissions check", What::Run(0)),
    ("chorus runs list", What::Run(0)),
    (
        "chorus runs show",
        What::Not("a home of a test has no such run; runs::printed shows one in every form"),
    ),
    ("chorus usage --by role", What::Run(0)),
    ("systemctl reload", What::Not("there is no service")),
    ("systemctl --user", What::Not("there is no service")),
    (
        "chmod 600 .packaging/.env",
        What::Not("it goes with the copy of .env.example"),
    ),
    ("mv ~/.chorus-agents ~/chorus-original", What::Run(0)),
    (
        "chorus migrate-home",
        What::Parse("it takes a home of the original; cli::migrate_home runs it"),
    ),
];

/// The pages people read, with the README.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "crates/playground/README.md",
    ]
    .map(PathBuf::from)
    .into();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The blocks of a page with one of these languages, without what lists indent them by.
fn blocks(page: &Path, languages: &[&str]) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<(usize, bool, Vec<&str>)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some((indent, languages.contains(&language), Vec::new()))
            }
            (Some((_, wanted, lines)), Some("")) => {
                if *wanted {
                    blocks.push(lines.join("\n"));
                }
                open = None;
            }
            (Some((by, _, lines)), _) => lines.push(line.get(*by..).unwrap_or("").trim_end()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{}: a block does not end", page.display());
    blocks
}

/// Every command of a shell, one by one, without comments.
fn commands() -> Vec<Shown> {
    let mut commands = Vec::new();
    for page in pages() {
        for block in blocks(&page, &["sh", "console", "bash"]) {
            for line in block.replace("\\\n", " ").lines() {
                let line = match line.find(" #") {
                    Some(comment) => &line[..comment],
                    None => line,
                };
                let line = line.trim().trim_start_matches("$ ");
                if !line.is_empty() && !line.starts_with('#') {
                    let page = page.display().to_string();
                    commands.push(Shown {
                        page,
                        line: line.to_owned(),
                    });
                }
            }
        }
    }
    assert!(commands.len() > 30, "{commands:?}");
    commands
}

fn what(command: &Shown) -> Option<usize> {
    let begins = |(beginning, _): &(&str, What)| command.line.starts_with(beginning);
    COMMANDS.iter().position(begins)
}

/// How the program is named where root's shell may not find it.
const BY_ITS_PATH: &str = "\"$(command -v chorus)\"";

/// The arguments of a line that starts `chorus`, by whomever, up to what the shell does with its output.
fn arguments(line: &str) -> Option<Vec<String>> {
    let mut words = line.split_whitespace().peekable();
    if words.next_if_eq(&"sudo").is_some() && words.next_if_eq(&"-u").is_some() {
        words.next();
    }
    while words.next_if(|word| word.contains('=')).is_some() {}
    words.next_if_eq(&"chorus")?;
    let ours = words.take_while(|word| !matches!(*word, "|" | "<" | ">" | "&&" | ";"));
    let ours = ours.map(|word| word.trim_matches(['\'', '"']));
    Some(
        ["chorus"]
            .into_iter()
            .chain(ours)
            .map(str::to_owned)
            .collect(),
    )
}

/// Why the program does not take these arguments.
fn refused(arguments: &[String]) -> Option<String> {
    let error = cli::command().try_get_matches_from(arguments).err()?;
    use clap::error::ErrorKind;
    match error.kind() {
        // A command is named and its arguments are left out.
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        _ => Some(error.to_string()),
    }
}

#[test]
fn every_command_is_run_or_has_a_reason() {
    let mut unused: BTreeSet<usize> = (0..COMMANDS.len()).collect();
    let mut unknown = Vec::new();
    for command in commands() {
        match what(&command) {
            None => unknown.push(command),
            Some(index) => {
                unused.remove(&index);
                let (_, What::Not(reason) | What::Parse(reason)) = &COMMANDS[index] else {
                    continue;
                };
                assert!(reason.len() > 10, "{reason}");
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "neither run nor with a reason: {unknown:#?}"
    );
    let unused: Vec<&str> = unused.iter().map(|index| COMMANDS[*index].0).collect();
    assert!(unused.is_empty(), "no page shows {unused:?}");
}

#[tokio::test]
async fn those_that_can_be_run_do_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join(".chorus-agents");
    let bin = folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_chorus"), bin.join("chorus")).unwrap();
    fs::create_dir_all(home.join("agents/dev/workspace")).unwrap();
    let store = chorus::store::Store::open(&home.join("db/chorus.db"))
        .await
        .unwrap();
    store.close().await;
    fs::write(
        folder.path().join("mine.json"),
        r#"{"allow": ["tool:view:.*"], "ask": []}"#,
    )
    .unwrap();
    fs::write(
        folder.path().join("calls.jsonl"),
        "{\"action\": \"tool:view:a\"}\n",
    )
    .unwrap();
    fs::write(folder.path().join("actions.txt"), "tool:view:a\n").unwrap();
    // The profile that the recipes have people try.
    let profiles = blocks(Path::new("docs/recipes.md"), &["json"]);
    let profile = profiles
        .iter()
        .find(|block| block.contains("\"ask\""))
        .unwrap();
    fs::write(folder.path().join("caretaker.json"), profile).unwrap();
    let path = std::env::var("PATH").unwrap();
    let shell = |line: &str| {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", line])
            .env_clear()
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", folder.path())
            .env("CHORUS_DISCORD_API_URL", "http://127.0.0.1:9")
            .current_dir(folder.path());
        seen(&mut shell)
    };
    assert_eq!(
        shell("git init -q . && chorus backup backup.tar.gz").code,
        0
    );
    let mut run = 0;
    for command in commands() {
        let Some(What::Run(code)) = what(&command).map(|index| &COMMANDS[index].1) else {
            continue;
        };
        // What removes the home comes last on its page, and is made up for.
        let seen = shell(&command.line);
        assert_eq!(seen.code, *code, "{command:?}: {}{}", seen.out, seen.err);
        run += 1;
        if !home.exists() {
            assert_eq!(shell("chorus restore backup.tar.gz").code, 0);
        }
        if command.page == "docs/recipes.md" && command.line.starts_with("echo") {
            let expected = if command.line.contains("restart") {
                "ask"
            } else {
                "allow"
            };
            assert!(seen.out.starts_with(expected), "{command:?}: {}", seen.out);
        }
    }
    assert!(run > 8, "only {run} were run");
}

#[test]
fn every_chorus_of_the_documentation_is_one_that_there_is() {
    let mut wrong = Vec::new();
    let mut check = |place: &str, line: &str| {
        let line = &line.replace(BY_ITS_PATH, "chorus");
        // A place holder, a continuation or a list of choices is no argument.
        if line.contains(['<', '…', '[']) || line.contains("__") || line.contains("$(") {
            return;
        }
        if let Some(reason) = arguments(line).and_then(|arguments| refused(&arguments)) {
            wrong.push(format!("{place}: {line}: {reason}"));
        }
    };
    for command in commands() {
        check(
            &command.page,
            command.line.split(" | chorus").next().unwrap(),
        );
        if let Some((_, behind)) = command.line.split_once(" | chorus") {
            check(&command.page, &format!("chorus{behind}"));
        }
    }
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for code in text.split('`').skip(1).step_by(2) {
            if code.starts_with("chorus ") && !code.contains(['\n', '|']) {
                check(&page.display().to_string(), code);
            }
        }
    }
    let mut open = vec![cli::command()];
    while let Some(command) = open.pop() {
        let help = command.get_after_help().map(ToString::to_string);
        for line in help.unwrap_or_default().lines().skip(1) {
            // What is said of an example stands beside it.
            let line = line.trim().split("  ").next().unwrap();
            check(&format!("--help of {}", command.get_name()), line);
        }
        open.extend(command.get_subcommands().cloned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_example_of_json_is_read_and_those_of_the_configuration_are_right() {
    let mut configurations = 0;
    for page in pages() {
        for block in blocks(&page, &["json"]) {
            let value: serde_json::Value = serde_json::from_str(&block)
                .unwrap_or_else(|error| panic!("{}: {error}: {block}", page.display()));
            let keys = serde_json::to_value(Config::default()).unwrap();
            let is_configuration = value.as_object().is_some_and(|object| {
                !object.is_empty() && object.keys().all(|key| keys.get(key).is_some())
            });
            if is_configuration {
                configurations += 1;
                let read = Config::parse(&block, Path::new("config.json"));
                assert!(read.is_ok(), "{}: {block}: {read:?}", page.display());
            }
        }
    }
    assert!(configurations > 5, "only {configurations}");
}

#[test]
fn the_example_of_secrets_names_variables_that_are_read() {
    let documented = fs::read_to_string("docs/operations/configuration.md").unwrap();
    for line in fs::read_to_string(".env.example").unwrap().lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        assert!(documented.contains(&format!("`{name}`")), "{name}");
        assert_eq!(value, "", "a secret in .env.example");
    }
}
