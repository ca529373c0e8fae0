//! The commands that a command runs from its standard input, for deny only.

use super::options;
use super::plain;
use super::programs;
use super::remote;
use super::tables::has;
use super::tables::programs::{ABOUT_TEXT, WRITERS};
use super::tree::Input;
use super::within;
use super::word::Word;
use super::wrappers::{self, Inner};

/// Most lines of an input that are searched for commands that certainly write elsewhere.
const MOST_LINES: usize = 2_000;

/// Adds the commands that the program `name` runs from `input`.
pub(super) fn commands(name: &str, arguments: &[Word], input: &Input, found: &mut Vec<Inner>) {
    if programs::takes_commands(name) || reads_makefile(name, arguments) {
        commanded(input, found);
    }
    if reads_script(name, arguments) && *input != Input::Nothing {
        found.push(Inner::Unseen(
            "its script comes by standard input".to_owned(),
        ));
    }
    if script_is_printed(name, arguments) {
        found.push(Inner::Unseen(
            "its script is what another command prints".to_owned(),
        ));
    }
    if opens_a_shell(name, arguments) {
        wrappers::shell(&[], input, found);
    }
    if let Input::Text(text) = input
        && !takes_text(name, arguments)
    {
        sure_writes(text, found);
    }
}

/// Adds commands from a standard input of the program's own commands, some of which run others: `!git push` of `ed`.
fn commanded(input: &Input, found: &mut Vec<Inner>) {
    let is_plain = |text: &str| !text.contains('!') && !programs::spawns(text);
    match input {
        Input::Nothing => {}
        Input::Text(commands) if is_plain(commands) => {}
        Input::Text(_) | Input::Unknown => found.push(Inner::Unseen(
            "it reads commands that cannot be judged".to_owned(),
        )),
    }
}

/// Returns whether it is a `make` that reads its rules from standard input.
fn reads_makefile(name: &str, arguments: &[Word]) -> bool {
    matches!(name, "make" | "gmake") && arguments.iter().any(is_standard_input)
}

/// Returns whether it is an awk or a sed that reads its script from standard input.
fn reads_script(name: &str, arguments: &[Word]) -> bool {
    let is_file_of_script = |pair: &[Word]| match pair {
        [option, file] => {
            matches!(option.value.as_str(), "-f" | "--file") && is_standard_input(file)
        }
        _ => false,
    };
    let is_attached = |word: &Word| {
        (word.value.starts_with("-f") || word.value.starts_with("--f")) && is_standard_input(word)
    };
    (programs::is_awk(name) || matches!(name, "sed" | "gsed"))
        && (arguments.windows(2).any(is_file_of_script) || arguments.iter().any(is_attached))
}

/// Returns whether the value of an option, or the word itself, is a name of the standard input.
fn is_standard_input(word: &Word) -> bool {
    let file = word
        .value
        .split_once('=')
        .map_or(word.value.as_str(), |(_, file)| file);
    let file = file.strip_prefix("-f").unwrap_or(file);
    file == "-" || is_stream(file)
}

/// Returns whether a path leads to a file that a process holds open, however it is spelled: `/dev/stdin`,
/// `//proc/self/fd/0`, `../../dev/fd/3`.
pub(super) fn is_stream(path: &str) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let may_be_absolute = path.starts_with('/') || path.contains("..");
    match names.as_slice() {
        ["dev" | "proc", _, ..] => may_be_absolute,
        // After `cd /dev`.
        ["stdin"] | ["fd", _] => true,
        _ => false,
    }
}

/// Returns whether the script of an awk, a sed or a `make` is the output of another command: `-f <(…)`.
fn script_is_printed(name: &str, arguments: &[Word]) -> bool {
    let names_file = |value: &str| {
        let name = value.trim_end_matches('=');
        name == "-f"
            || name.len() > 2
                && ["--file", "--makefile"]
                    .iter()
                    .any(|long| long.starts_with(name))
    };
    let behind_option = arguments
        .windows(2)
        .any(|pair| names_file(&pair[0].value) && pair[1].is_printed);
    let attached = arguments
        .iter()
        .any(|word| word.varies && names_file(&word.value));
    (programs::is_awk(name) || matches!(name, "sed" | "gsed" | "make" | "gmake"))
        && (behind_option || attached)
}

/// Returns whether it starts a shell that reads the standard input.
fn opens_a_shell(name: &str, arguments: &[Word]) -> bool {
    let has = |letters: [char; 2], long: [&str; 2]| {
        arguments
            .iter()
            .any(|word| match word.value.strip_prefix("--") {
                Some(option) => long.contains(&option),
                None => word.is_option() && word.value.contains(letters),
            })
    };
    match name {
        "su" => !has(['c', 'c'], ["command", "session-command"]),
        "sudo" | "doas" => has(['s', 'i'], ["shell", "login"]),
        "newgrp" => true,
        _ => false,
    }
}

/// Returns whether its input is only text; a wrapper passes it on.
fn takes_text(name: &str, arguments: &[Word]) -> bool {
    let is_text = |name: &str| {
        options::is_harmless(name) || has(ABOUT_TEXT, name) || has(WRITERS, name) || name == "patch"
    };
    let hands_on = programs::is_wrapper(name) || programs::is_shell(name);
    is_text(name)
        || hands_on
            && arguments
                .iter()
                .any(|word| is_text(plain::name(&word.value)))
}

/// Adds the commands with which a program that reads commands would certainly write elsewhere.
fn sure_writes(text: &str, found: &mut Vec<Inner>) {
    for line in text.lines().take(MOST_LINES) {
        for script in within::embedded(line) {
            let words: Vec<Word> = script.split_whitespace().map(Word::fixed).collect();
            if remote::surely_writes(&words) {
                found.push(Inner::Words(words));
            }
        }
    }
}
