//! What people expect of every program: colours only where they are wanted, a word on how far long work is, a manual.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use chorus::cli;
use chorus::store::Store;
use regex::Regex;

use super::program::{Seen, chorus, seen};
use crate::not_run::{Missing, not_run};

/// The same on a terminal, which `script` of every Linux system plays. Both outputs come as one.
fn on_a_terminal(home: &Path, arguments: &str, more: &[(&str, &str)]) -> Seen {
    let program = env!("CARGO_BIN_EXE_chorus");
    let mut command = Command::new("script");
    command
        .args(["-qec", &format!("{program} {arguments}"), "/dev/null"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TERM", "xterm")
        .env("HOME", home)
        .env("CHORUS_HOME", home)
        .env("CHORUS_ALLOW_ROOT", "1")
        .envs(more.iter().copied())
        .stdin(Stdio::null())
        .current_dir(home);
    seen(&mut command)
}

/// A home with a database, a file that is worth a warning, and a configuration that `run` refuses just after its first words.
async fn home(taken: &std::net::TcpListener) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let database = home.path().join("db/chorus.db");
    Store::open(&database).await.unwrap().close().await;
    fs::create_dir_all(home.path().join("agents/lab/workspace")).unwrap();
    fs::write(home.path().join("agents/lab/workspace/a.txt"), "a").unwrap();
    let address = taken.local_addr().unwrap();
    let config = serde_json::json!({ "metrics_listen": address });
    fs::write(home.path().join("config.json"), config.to_string()).unwrap();
    fs::write(home.path().join(".env"), "DISCORD_TOKEN=t\n").unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(home.path().join(".env"), open).unwrap();
    home
}

#[tokio::test]
async fn colours_are_for_terminals_and_for_those_who_want_them() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home(&taken).await;
    let home = home.path();
    let nowhere = ("CHORUS_DISCORD_API_URL", "http://127.0.0.1:9");
    for arguments in ["doctor", "run", "--help"] {
        let has_colours = |more: &[(&str, &str)]| {
            let more: Vec<_> = more.iter().copied().chain([nowhere]).collect();
            let seen = on_a_terminal(home, arguments, &more);
            assert!(seen.out.len() > 100, "{arguments}: {}", seen.out);
            seen.out.contains("\x1b[3") || seen.out.contains("\x1b[1m")
        };
        assert!(has_colours(&[]), "{arguments}");
        for off in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
            assert!(!has_colours(&[off]), "{arguments} with {off:?}");
        }
        let piped = |more: &[(&str, &str)]| {
            let mut command = chorus(home, &arguments.split(' ').collect::<Vec<_>>());
            command
                .env("CHORUS_ALLOW_ROOT", "1")
                .env(nowhere.0, nowhere.1);
            let seen = seen(command.envs(more.iter().copied()));
            format!("{}{}", seen.out, seen.err)
        };
        let plain = piped(&[]);
        assert!(!plain.contains('\x1b'), "{arguments}: {plain}");
        // The log of a pipe is JSON, which has no colours whatever is wanted.
        if arguments != "run" {
            let forced = piped(&[("CLICOLOR_FORCE", "1")]);
            assert!(forced.contains('\x1b'), "{arguments}: {forced}");
        }
    }
}

#[tokio::test]
async fn long_work_says_on_a_terminal_how_far_it_is() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home(&taken).await;
    let home = home.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("backup.tar.gz");
    let file = file.display();
    let restored = elsewhere.path().join("restored").display().to_string();
    let nowhere = ("CHORUS_DISCORD_API_URL", "http://127.0.0.1:9");
    let backup = on_a_terminal(home, &format!("backup {file}"), &[]);
    let restore = on_a_terminal(
        home,
        &format!("restore {file}"),
        &[("CHORUS_HOME", &restored)],
    );
    let doctor = on_a_terminal(home, "doctor", &[nowhere]);
    for (seen, code, stages) in [
        (
            &backup,
            0,
            &[
                "copying the database …",
                "saving: 1 file,",
                "writing everything to the disk …",
            ][..],
        ),
        (
            &restore,
            0,
            &[
                "checking: ",
                "unpacking: ",
                "writing everything to the disk …",
            ],
        ),
        (
            &doctor,
            78,
            &[
                "looking at the database …",
                "trying the sandbox …",
                "asking Discord …",
            ],
        ),
    ] {
        assert_eq!(seen.code, code, "{}", seen.out);
        for stage in stages {
            assert!(seen.out.contains(stage), "no {stage}: {:?}", seen.out);
        }
        // Each line is written over by the next, and what stays begins on a line of its own.
        let last = seen.out.rfind('…').unwrap();
        assert!(seen.out[last..].starts_with("…\r\x1b[K"), "{:?}", seen.out);
    }

    let mut piped = chorus(home, &["restore", "--check", &file.to_string()]);
    let piped = seen(&mut piped);
    assert_eq!((piped.code, piped.err.as_str()), (0, ""));
}

#[test]
fn a_reader_who_leaves_early_is_no_failure() {
    use std::os::unix::process::ExitStatusExt as _;
    let home = tempfile::tempdir().unwrap();
    for arguments in [
        &["schema"][..],
        &["man"],
        &["completions", "bash"],
        &["check-config"],
        &["doctor"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = chorus(home.path(), arguments)
            .stdout(writer)
            .output()
            .unwrap();
        let pipe = rustix::process::Signal::PIPE.as_raw();
        assert_eq!(
            output.status.signal(),
            Some(pipe),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

/// The end of a pipe that nobody reads.
fn unread() -> std::io::PipeWriter {
    let (_, writer) = std::io::pipe().unwrap();
    writer
}

#[tokio::test]
async fn a_command_that_does_something_does_it_though_nobody_reads_what_it_says() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home(&taken).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.tar.gz");
    let file = file.to_str().unwrap();
    let mut backup = chorus(home.path(), &["backup", file]);
    let code = backup.stdout(unread()).stderr(unread()).status().unwrap();
    assert_eq!(code.code(), Some(0));

    let restored = folder.path().join("restored");
    fs::create_dir(&restored).unwrap();
    let mut restore = chorus(&restored, &["restore", file]);
    let code = restore.stdout(unread()).stderr(unread()).status().unwrap();
    assert_eq!(code.code(), Some(0));
    let kept = restored.join("agents/lab/workspace/a.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "a");

    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let mut init = chorus(&fresh, &["init", "--non-interactive"]);
    init.stdin(Stdio::null());
    let code = init.stdout(unread()).stderr(unread()).status().unwrap();
    assert_eq!(code.code(), Some(0));
    assert!(fresh.join("config.json").exists());
}

#[tokio::test]
async fn what_cannot_be_printed_for_want_of_room_is_a_failure() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home(&taken).await;
    let file = home.path().join("saved.tar.gz");
    for arguments in [
        &["schema"][..],
        &["completions", "bash"],
        &["check-config"],
        &["backup", file.to_str().unwrap()],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = chorus(home.path(), arguments);
        let output = command.stdout(full.unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let why = "chorus: failed to print: No space left on device (os error 28)";
        assert_eq!(said.lines().last(), Some(why), "{arguments:?}");
    }
    assert!(file.exists());
}

/// Every command with those below it, by the name of its page.
fn pages(command: &clap::Command, above: &str) -> Vec<String> {
    let name = match above {
        "" => command.get_name().to_owned(),
        above => format!("{above}-{}", command.get_name()),
    };
    let below = command
        .get_subcommands()
        .filter(|one| one.get_name() != "help")
        .flat_map(|one| pages(one, &name));
    below.chain([name.clone()]).collect()
}

#[test]
fn every_command_has_a_page_with_what_a_manual_has() {
    let home = tempfile::tempdir().unwrap();
    let written = seen(&mut chorus(home.path(), &["man", "--directory", "man"]));
    assert_eq!((written.code, written.err.as_str()), (0, ""));
    let expected: BTreeSet<String> = pages(&cli::command(), "").into_iter().collect();
    let files = fs::read_dir(home.path().join("man")).unwrap();
    let found: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .map(|file| file.strip_suffix(".1").unwrap().to_owned())
        .collect();
    assert_eq!(found, expected);
    for name in &found {
        let page = fs::read_to_string(home.path().join(format!("man/{name}.1"))).unwrap();
        let mut sections: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .collect();
        sections.retain(|section| {
            !matches!(
                *section,
                "FILES" | "EXAMPLES" | "VERSION" | "OPTIONS" | "SUBCOMMANDS"
            )
        });
        assert_eq!(
            sections,
            [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "\"EXIT STATUS\"",
                "ENVIRONMENT",
                "\"SEE ALSO\""
            ],
            "{name}"
        );
        let others = page.split(".SH \"SEE ALSO\"").nth(1).unwrap();
        for other in others
            .split("(1)")
            .filter_map(|text| text.rsplit("\\fB").next())
        {
            let other = other.split("\\fR").next().unwrap().replace("\\-", "-");
            if other.starts_with("chorus") {
                assert!(expected.contains(&other), "{name} refers to {other}");
            }
        }
    }
    for name in ["chorus", "chorus-run", "chorus-backup"] {
        let page = fs::read_to_string(home.path().join(format!("man/{name}.1"))).unwrap();
        assert!(page.contains(".SH FILES"), "{name}");
    }
}

#[test]
fn the_manual_names_the_variables_of_the_documentation() {
    let home = tempfile::tempdir().unwrap();
    let page = seen(&mut chorus(home.path(), &["man"]))
        .out
        .replace("\\-", "-");
    let documented = fs::read_to_string("docs/operations/configuration.md").unwrap();
    let (_, variables) = documented
        .split_once("| variable | what it says |")
        .unwrap();
    let (variables, _) = variables.split_once("\n\n").unwrap();
    let rows = variables.lines().filter(|row| row.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names {
        assert!(page.contains(name), "the manual lacks {name}");
    }
}

/// What a page says of a command before it lists the environment is all in that list: the variables, and the home.
#[test]
fn each_page_lists_the_variables_that_its_command_reads() {
    let home = tempfile::tempdir().unwrap();
    seen(&mut chorus(home.path(), &["man", "--directory", "man"]));
    let variable = Regex::new(r"\b(?:[A-Z]+_)+[A-Z]+\b").unwrap();
    let of_a_home = Regex::new(r"\b(this|the) home\b").unwrap();
    let mut wrong = Vec::new();
    for file in fs::read_dir(home.path().join("man")).unwrap() {
        let file = file.unwrap().path();
        let page = fs::read_to_string(&file).unwrap().replace("\\-", "-");
        let (said, listed) = page.split_once(".SH ENVIRONMENT").unwrap();
        let (listed, examples) = listed.split_once(".SH ").unwrap();
        let names = variable.find_iter(said).chain(variable.find_iter(examples));
        let names = names.map(|name| name.as_str().trim_end_matches("_FILE"));
        let is_listed = |name: &str| listed.contains(name) || page.contains(&format!("\\fI{name}"));
        wrong.extend(
            names
                .filter(|name| !is_listed(name))
                .map(|name| format!("{}: {name}", file.display())),
        );
        if of_a_home.is_match(said) && !listed.contains("CHORUS_HOME") {
            wrong.push(format!("{}: CHORUS_HOME", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn groff_finds_no_mistake_in_the_manual() {
    let home = tempfile::tempdir().unwrap();
    let page = home.path().join("chorus.1");
    fs::write(&page, seen(&mut chorus(home.path(), &["man"])).out).unwrap();
    match Command::new("groff")
        .args(["-man", "-Tutf8", "-ww"])
        .arg(&page)
        .output()
    {
        Ok(output) => {
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(shown.contains("the reason is on standard error"), "{shown}");
        }
        Err(_) => not_run(&Missing::Program("groff", "groff-base")),
    }
}
