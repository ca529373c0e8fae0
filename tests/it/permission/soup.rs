//! Any mixture of what a shell treats specially gets a verdict, and a denied program that bash would run is seen in it.
//!
//! The parser and its scanner are C in our own process: what they cannot take would end the daemon, not a test. The long run is
//! `CHORUS_SHELL_CASES=200000 cargo nextest run permission::soup --no-capture`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use chorus::permission::{Action, Decision, Profile};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Texts to try: many more by the environment.
fn cases(usual: usize) -> usize {
    let asked = std::env::var("CHORUS_SHELL_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// The same texts each time, others in a long run.
fn runner() -> TestRunner {
    match std::env::var_os("CHORUS_SHELL_CASES") {
        Some(_) => TestRunner::default(),
        None => {
            let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            TestRunner::new_with_rng(Config::default(), rng)
        }
    }
}

fn decide(profile: &Profile, command: &str) -> Decision {
    profile
        .decide(&Action::shell("bash", command), &[])
        .decision
}

/// Allows everything but one program, so that what hides a command matters.
fn all_but_evil() -> Profile {
    Profile::compile(&[".*"], &[], &["tool:bash:evil.*"]).unwrap()
}

/// What the scanner has a branch for, and characters of every plane.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "{",
        "}",
        "{1",
        "{1..",
        "{..",
        "${",
        "${#",
        "${!",
        "${x/",
        "${x//",
        "${x:-",
        "${x@",
        "##",
        "%%",
        "$",
        "$(",
        "$((",
        "((",
        "))",
        "(",
        ")",
        "[",
        "[[",
        "]",
        "]]",
        "=~",
        "==",
        "-eq",
        "-x",
        "`",
        "'",
        "\"",
        "$'",
        "$\"",
        "\\",
        "\\\n",
        "\\\r\n",
        "\n",
        "\r",
        "\t",
        " ",
        "\0",
        "<",
        ">",
        "<<",
        "<<<",
        "<<-",
        "<<'",
        "<<\"",
        "<<\\",
        "<<{",
        "<<E\n",
        "E\n",
        "\nE\n",
        "\tE",
        "<(",
        ">(",
        ">&",
        "&>",
        "2>",
        "|",
        "|&",
        "&&",
        "||",
        "&",
        ";",
        ";;",
        ";&",
        "*",
        "?",
        "+",
        "@",
        "!",
        "?(",
        "*(",
        "@(",
        "!(",
        "~",
        "#",
        "=",
        "+=",
        "x=",
        "x[",
        "0",
        "9",
        "255",
        "e",
        "es",
        "esac",
        "case ",
        " in ",
        "if ",
        "then ",
        "fi",
        "for ",
        "do ",
        "done",
        "while ",
        "function ",
        "f()",
        "time ",
        "!",
        "coproc ",
        "select ",
        "declare ",
        "export ",
        "unset ",
        "test ",
        "a",
        "_",
        "\u{7f}",
        "\u{80}",
        "\u{ff}",
        "\u{100}",
        "\u{145}",
        "\u{17b}",
        "\u{a0}",
        "\u{2028}",
        "\u{3000}",
        "\u{1680}",
        "\u{feff}",
        "٣",
        "Ж",
        "日",
        "é",
        "e\u{301}",
        "\u{202e}",
        "\u{fffd}",
        "😀",
        "\u{1ffff}",
        "\u{20000}",
        "\u{e0001}",
        "\u{f0000}",
        "\u{10ffff}",
    ]);
    let any = any::<char>().prop_map(String::from);
    let repeated = (fixed.clone(), 2_usize..400).prop_map(|(piece, times)| piece.repeat(times));
    let fixed = fixed.prop_map(str::to_owned);
    prop_oneof![30 => fixed, 3 => any, 1 => repeated]
}

#[test]
fn every_text_gets_a_verdict() {
    let narrow = Profile::compile(&["tool:bash:(ls|cat)( .*)?"], &[".*"], &["tool:bash:rm .*"]);
    let profiles = [
        Profile::builtin("open").unwrap(),
        Profile::builtin("guarded").unwrap(),
        narrow.unwrap(),
    ];
    let mut runner = runner();
    let texts = prop::collection::vec(piece(), 1..60);
    for _ in 0..cases(400) {
        let text = texts.new_tree(&mut runner).unwrap().current().concat();
        for profile in &profiles {
            decide(profile, &text);
        }
        assert_eq!(decide(&profiles[0], &text), Decision::Allow, "{text:?}");
    }
}

/// Delimiters of here-documents, short and longer than the scanner can note, plain and not.
fn delimiter() -> impl Strategy<Value = String> {
    let plain = prop::sample::select(vec![
        "E", "EOF", "E_1", "a", "x", "{", "Ж", "ŅOF", "E F", "\\E", "E\\F", "$E", "evil",
    ]);
    let long = (1_usize..5).prop_map(|times| "D".repeat(times * 300));
    prop_oneof![8 => plain.prop_map(str::to_owned), 2 => long]
}

/// Commands, the ends of here-documents and what quotes, one of them the denied program.
fn script() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "evil",
        "cat",
        "ls",
        "cat | evil",
        "$(evil)",
        "`evil`",
        "\"$(evil)\"",
        "\"`evil`\"",
        "'evil'",
        "\"evil\"",
        "e'v'il",
        "e\\vil",
        "{ evil; }",
        "( evil )",
        "if evil; then ls; fi",
        "[[ -n $(evil) ]]",
        "case a in a) evil;; esac",
        "x=$(evil)",
        "cat <(evil)",
        "ls; evil",
        "ls && evil",
        "ls || evil",
        "! evil",
        "time evil",
        "evil &",
        "ls # evil",
        "# '",
        "ls '",
        "ls \"",
        "'",
        "\"",
        "\\",
        "echo ${x:-$(evil)}",
        "echo $((1 + $(evil)))",
        "{a,b}",
        "x",
        "$x",
        "f() { evil; }",
        "a=1 evil",
        ">f evil",
        "evil >f",
        "<f evil",
        "for i in 1; do evil; done",
        "echo \\",
        "cat <<< evil",
        "cat <<< $(evil)",
        "]]",
        "}",
        ")",
        "fi",
        "esac",
        "done",
    ]);
    let opens = (
        prop::sample::select(vec![
            "cat <<",
            "cat <<-",
            "cat <<  ",
            "ls | cat <<",
            "(cat <<",
            "$(cat <<",
        ]),
        prop::sample::select(vec!["", "'", "\"", "\\"]),
        delimiter(),
        prop::sample::select(vec!["", " | cat", "; evil", " && ls", " <<X", ")", " \\"]),
    )
        .prop_map(|(opens, quote, delimiter, behind)| match quote {
            "\\" => format!("{opens}\\{delimiter}{behind}"),
            quote => format!("{opens}{quote}{delimiter}{quote}{behind}"),
        });
    let lines = prop_oneof![3 => line.prop_map(str::to_owned), 2 => opens, 2 => delimiter()];
    prop::collection::vec(lines, 1..9).prop_map(|lines| lines.join("\n"))
}

/// A bash that finds stubs alone, which note that they ran.
struct Bash {
    home: tempfile::TempDir,
}

impl Bash {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for folder in ["stubs", "work"] {
            fs::create_dir(home.path().join(folder)).unwrap();
        }
        for name in ["cat", "ls", "x", "evil"] {
            let path = home.path().join("stubs").join(name);
            fs::write(&path, format!("#!/bin/sh\necho {name} >> \"$RAN\"\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { home }
    }

    /// Whether the denied program runs in `command`.
    fn runs_evil(&self, command: &str) -> bool {
        let ran = self.home.path().join("ran");
        fs::write(&ran, "").unwrap();
        Command::new("/bin/bash")
            .args(["-c", command])
            .current_dir(self.home.path().join("work"))
            .env_clear()
            .env("PATH", self.home.path().join("stubs"))
            .env("RAN", &ran)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        fs::read_to_string(&ran).unwrap().contains("evil")
    }
}

/// Bash is the referee: what it runs must have been seen.
#[test]
fn a_denied_program_that_bash_would_run_is_seen() {
    let bash = Bash::new();
    let profile = all_but_evil();
    let mut runner = runner();
    let scripts = script();
    let mut allowed = 0;
    for _ in 0..cases(1_000) {
        let command = scripts.new_tree(&mut runner).unwrap().current();
        if decide(&profile, &command) != Decision::Allow {
            continue;
        }
        allowed += 1;
        assert!(
            !bash.runs_evil(&command),
            "allowed, and bash ran it: {command:?}"
        );
    }
    assert!(allowed > 10, "only {allowed} of the scripts were allowed");
}

/// Places where a substitution may stand, with `S` for it, and substitutions of which each runs `evil` somewhere.
#[derive(serde::Deserialize)]
struct Substitutions {
    places: Vec<String>,
    substitutions: Vec<String>,
}

/// The grammar knows no substitutions in patterns, in most of `${…}`, and no backticks in here-documents.
#[test]
fn a_denied_program_is_seen_wherever_bash_substitutes() {
    let table: Substitutions =
        serde_json::from_str(include_str!("adversaries/substitutions.json")).unwrap();
    let bash = Bash::new();
    let profile = all_but_evil();
    for place in &table.places {
        for substitution in &table.substitutions {
            let command = place.replace('S', substitution);
            let is_allowed = decide(&profile, &command) == Decision::Allow;
            assert!(
                !is_allowed || !bash.runs_evil(&command),
                "allowed, and bash ran it: {command:?}"
            );
        }
    }
}

/// Ways in which a value gets into the variable `x`, with `V` for it, and ways in which bash evaluates what is in `x`.
#[derive(serde::Deserialize)]
struct Evaluated {
    carriers: Vec<String>,
    triggers: Vec<String>,
    values: Vec<String>,
}

/// What is text where it stands runs once it is taken for a number, a name or a prompt.
#[test]
fn a_denied_program_in_a_value_that_is_evaluated_is_seen() {
    let table: Evaluated =
        serde_json::from_str(include_str!("adversaries/evaluated.json")).unwrap();
    let bash = Bash::new();
    let profile = all_but_evil();
    let (mut all, mut allowed, mut missed) = (0, 0, Vec::new());
    for carrier in &table.carriers {
        for trigger in &table.triggers {
            for value in &table.values {
                let command = format!("{}\n{trigger}", carrier.replace('V', value));
                all += 1;
                if decide(&profile, &command) != Decision::Allow {
                    continue;
                }
                allowed += 1;
                if bash.runs_evil(&command) {
                    missed.push(command)
                }
            }
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {allowed} that are allowed of {all}, and bash ran it:\n{}",
        missed.len(),
        missed.join("\n---\n")
    );
}

/// What bash takes literally keeps no command from being allowed.
#[test]
fn text_that_only_looks_like_a_substitution_is_none() {
    for command in [
        "awk '{print $(NF-1)}' data.txt",
        "git commit -m 'use `cargo fmt` and $(date)'",
        "grep -rn '`' docs",
        "echo \"\\`x\\` \\$(y)\"",
        "echo \\`x\\` \\$\\(y\\)",
        "echo $'`x`'",
        "cat > notes.md <<'EOF'\nRun `make` or $(make) <(x).\nEOF",
        "cat > notes.md <<EOF\nRun \\`make\\` if a <(b).\nEOF",
        "echo \"a <(b)\"",
        "ls # `evil` and $(evil)",
        "x='`evil`' ls",
        "echo \"$(date) ${HOME:-$(pwd)} `date`\"",
        "echo \"$(date) $(date)\" \"$HOME `date`\"",
        "diff <(sort a) <(sort b)",
        "echo $((1 + $(wc -l < a)))",
        "case '`' in '`') ls;; esac",
        "for word in '`' '$('; do ls; done",
    ] {
        assert_eq!(
            decide(&all_but_evil(), command),
            Decision::Allow,
            "{command}"
        );
    }
}

/// The scanner notes 1024 bytes of what is still open, and forgets all of it beyond.
#[test]
fn no_here_document_is_forgotten() {
    let long = "D".repeat(1_100);
    let many: String = (0..140).map(|number| format!(" <<E{number}")).collect();
    let ends: String = (0..140).map(|number| format!("E{number}\n")).collect();
    for command in [
        format!("cat <<'{long}'\nhi\n{long}\nevil now\n"),
        format!("cat <<-{long}\nhi\n\t{long}\nevil now\n"),
        format!("cat <<{long}\nhi\n{long}\nevil now\n"),
        format!("cat{many}\n{ends}evil now\n"),
        format!(
            "cat <<'{}' <<'{}'\n{}\n{}\nevil now",
            "A".repeat(600),
            "B".repeat(600),
            "A".repeat(600),
            "B".repeat(600)
        ),
    ] {
        assert_ne!(
            decide(&all_but_evil(), &command),
            Decision::Allow,
            "{command:.40}"
        );
    }
}
