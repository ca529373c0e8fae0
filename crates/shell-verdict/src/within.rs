//! Commands inside the arguments of one program: values of its options, scripts of its own, texts that bash evaluates. For deny only.

use std::sync::LazyLock;

use regex::Regex;

use super::options;
use super::programs;
use super::remote;
use super::scripts;
use super::socat;
use super::tables::elsewhere::GIT_TAKES_COMMANDS;
use super::tables::has;
use super::tables::programs::{ABOUT_TEXT, CONFIGURING_VARIABLES};
use super::tree::Input;
use super::word::Word;
use super::wrappers::{Inner, MAX_WORDS, MOST_LETTERS, assigned, suffixes};

/// Adds texts in which bash runs `$(…)` although they are quoted.
pub(super) fn evaluator(arguments: &[Word], found: &mut Vec<Inner>) {
    for word in arguments.iter().filter_map(Word::known) {
        if word.contains("$(") || word.contains('`') || word.contains("<(") {
            found.push(Inner::Script(word.to_owned()));
        }
    }
}

/// Adds variables that a builtin or `env` sets by name: `read 'BASH_CMDS[x]'`.
pub(super) fn variables(arguments: &[Word], found: &mut Vec<Inner>) {
    for word in arguments {
        let (name, value) = word.value.split_once('=').unwrap_or((&word.value, ""));
        let name = name.split(['[', '+']).next().unwrap_or_default();
        if has(CONFIGURING_VARIABLES, name) && word.value.len() > name.len()
            || matches!(name, "BASH_CMDS" | "BASH_ALIASES")
        {
            assigned(name, &Word::fixed(value), found);
        }
    }
}

/// Adds commands after one of the program's own words or signs, such as `shell` of gdb, and other names for programs.
pub(super) fn escapes(name: &str, arguments: &[Word], found: &mut Vec<Inner>) {
    for escape in programs::shell_escapes(name) {
        escaped(escape, arguments, found);
    }
    if name == "hash" && arguments.iter().any(|word| word.value.starts_with("-p")) {
        found.push(Inner::Unseen(
            "it changes which program a later word means".to_owned(),
        ));
    }
}

/// Adds commands after `escape`, if that is a word or a sign by itself.
fn escaped(escape: &str, arguments: &[Word], found: &mut Vec<Inner>) {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    for word in arguments {
        for (at, _) in word.value.match_indices(escape).take(MOST_LETTERS) {
            let (before, behind) = (&word.value[..at], &word.value[at + escape.len()..]);
            let is_sign = escape.ends_with('!');
            if !before.ends_with(is_letter) && (is_sign || behind.starts_with(char::is_whitespace))
            {
                found.push(Inner::Script(behind.trim_start().to_owned()));
            }
        }
    }
}

/// Adds commands that begin anywhere inside a word.
fn inside(word: &Word, found: &mut Vec<Inner>) {
    found.extend(embedded(&word.value).into_iter().map(Inner::Script));
}

/// Adds commands that socat addresses run.
pub(super) fn addresses(arguments: &[Word], found: &mut Vec<Inner>) {
    for word in arguments {
        if word.varies {
            found.push(Inner::Unseen(
                "an address of socat is known only when it runs".to_owned(),
            ));
        }
        match socat::commands(&word.value) {
            Some(commands) => found.extend(commands.into_iter().map(Inner::Script)),
            None => found.push(Inner::Unseen(
                "an address of socat has too many parts to look through".to_owned(),
            )),
        }
    }
}

/// Adds commands that are the value of an option, attached or in the next word.
pub(super) fn option_commands(name: &str, arguments: &[Word], found: &mut Vec<Inner>) {
    for option in programs::command_options(name) {
        for (index, word) in arguments.iter().enumerate() {
            let begins = match option.strip_prefix("--") {
                // Any beginning of a long option is accepted for it.
                Some(long) => word.value.strip_prefix("--").is_some_and(|word| {
                    let given = word.split('=').next().unwrap_or(word);
                    !given.is_empty() && long.starts_with(given)
                }),
                None => word.value.starts_with(option),
            };
            if !begins {
                continue;
            }
            for value in [Some(word), arguments.get(index + 1)].into_iter().flatten() {
                inside(value, found);
            }
        }
    }
}

/// Returns `text` from each position on where a word begins in it: `exec=git push`, `+!git push`, `1e git push`.
pub(super) fn embedded(text: &str) -> Vec<String> {
    /// Positions that are tried.
    const MOST: usize = 24;
    let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    // The value of a short option is attached to it: `-Ogit push`.
    let attached = text.starts_with('-') && text.is_char_boundary(2);
    let mut places: Vec<usize> = attached.then_some(2).into_iter().collect();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if is_word(c) && !is_word(before) && places.len() < MOST {
            places.push(at);
        }
        before = c;
    }
    places
        .into_iter()
        .filter_map(|at| text.get(at..))
        .map(|rest| rest.trim_end_matches([')', '\'', '"', '`', '}']).to_owned())
        .filter(|rest| rest.contains(char::is_whitespace))
        .collect()
}

/// Adds words that an unknown program may run, and that certainly write elsewhere if it does.
pub(super) fn sure_writes(arguments: &[Word], found: &mut Vec<Inner>) {
    for (index, word) in arguments.iter().enumerate().take(MAX_WORDS) {
        let rest = &arguments[index..];
        if remote::surely_writes(rest) {
            found.push(Inner::Words(rest.to_vec()));
        }
        for script in embedded(&word.value) {
            let words: Vec<Word> = script.split_whitespace().map(Word::fixed).collect();
            if remote::surely_writes(&words) {
                found.push(Inner::Words(words));
            }
        }
    }
}

/// Returns whether its arguments are text to it, such as words to search for or a message, or are judged in another
/// way.
pub(super) fn is_about_text(name: &str) -> bool {
    options::is_harmless(name)
        || programs::is_wrapper(name)
        || programs::is_shell(name)
        || has(ABOUT_TEXT, name)
}

/// Adds the commands of a sed script: the command `e` runs a command, and a replacement with the flag `e` runs its
/// result.
pub(super) fn sed(arguments: &[Word], found: &mut Vec<Inner>) {
    static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:^|[;{}0-9$/!,~+\s])e[ \t]*(?P<command>[^\s/;}].*)$").ok()
    });
    // If an address has its own delimiters (`\xaxe id`), the text after it cannot be separated from it.
    static RUNS_WHAT_IT_READS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:^|[;{}0-9$/!,~+\s])e\s*(?:$|[;}])|(?:^|[;{},!\s])\\\S.*\S\s*e").ok()
    });
    let scripts = scripts::sed_scripts(arguments).into_iter();
    for (_, script) in scripts.filter(|(_, script)| !scripts::is_harmless_sed(script)) {
        let runs = RUNS.iter().flat_map(|runs| runs.captures_iter(script));
        let commands = runs.filter_map(|runs| runs.name("command"));
        found.extend(commands.map(|command| Inner::Script(command.as_str().to_owned())));
        let reads = RUNS_WHAT_IT_READS.as_ref();
        if reads.is_some_and(|reads| reads.is_match(script))
            || scripts::sed_runs_what_it_makes(script)
        {
            found.push(Inner::Unseen("sed runs what it reads".to_owned()));
        }
    }
}

/// Adds the commands after any of `options`.
pub(super) fn after(arguments: &[Word], options: &[&str], input: &Input, found: &mut Vec<Inner>) {
    for (index, word) in arguments.iter().enumerate() {
        if options.contains(&word.value.as_str()) {
            suffixes(&arguments[index + 1..], input, found);
        }
    }
}

/// Adds the commands that fd runs for its results; the first word of one may be attached to its option.
pub(super) fn fd(arguments: &[Word], input: &Input, found: &mut Vec<Inner>) {
    for (index, word) in arguments.iter().enumerate() {
        let rest = &arguments[index + 1..];
        let option = word.value.as_str();
        if let Some(long) = option.strip_prefix("--exec") {
            suffixes(
                &with_attached(long.split_once('=').map(|(_, first)| first), rest),
                input,
                found,
            );
        } else if option.starts_with('-') && !option.starts_with("--") {
            for (at, _) in option.match_indices(['x', 'X']).take(MOST_LETTERS) {
                let first = Some(&option[at + 1..]).filter(|first| !first.is_empty());
                suffixes(&with_attached(first, rest), input, found);
            }
        }
    }
}

fn with_attached(first: Option<&str>, rest: &[Word]) -> Vec<Word> {
    let first = first.map(|first| Word::fixed(first.trim_start_matches('=')));
    first.into_iter().chain(rest.iter().cloned()).collect()
}

/// Adds the commands that git runs from its configuration and for some of its subcommands.
pub(super) fn git(arguments: &[Word], found: &mut Vec<Inner>) {
    let mut words = arguments.iter().peekable();
    while let Some(option) = words.next_if(|word| word.is_option()) {
        if option.value != "-c" {
            continue;
        }
        let Some(setting) = words.next() else { break };
        let (key, value) = setting.value.split_once('=').unwrap_or_default();
        if key.to_ascii_lowercase().starts_with("alias.") && !value.starts_with('!') {
            found.push(Inner::Script(format!("git {value}")));
        }
        found.push(Inner::Script(value.trim_start_matches('!').to_owned()));
    }
    let subcommand = words
        .next()
        .map(|word| word.value.as_str())
        .unwrap_or_default();
    if matches!(subcommand, "clone" | "grep" | "fetch" | "ls-remote") {
        // `clone -u`, `grep -O`.
        let rest: Vec<Word> = words.clone().cloned().collect();
        sure_writes(&rest, found);
    }
    if !has(GIT_TAKES_COMMANDS, subcommand) {
        return;
    }
    for word in words.clone() {
        found.push(Inner::Script(word.value.trim_start_matches('!').to_owned()));
        if subcommand == "config" {
            found.push(Inner::Script(format!("git {}", word.value)));
        }
    }
    let rest: Vec<Word> = words.cloned().collect();
    if subcommand == "for-each-repo" {
        let operands = rest.iter().filter(|word| !word.is_option()).cloned();
        let operands: Vec<Word> = operands.collect();
        // `--config x push`: one of them may be the value of an option.
        for at in 0..operands.len().min(2) {
            let git = std::iter::once(Word::fixed("git"));
            found.push(Inner::Words(
                git.chain(operands[at..].iter().cloned()).collect(),
            ));
        }
    }
    suffixes(&rest, &Input::Nothing, found);
}
