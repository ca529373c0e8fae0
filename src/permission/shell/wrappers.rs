//! What the commands of wrapper programs run in turn, for deny only.

mod interpreters;

use super::input;
use super::options;
use super::plain;
use super::programs;
use super::remote;
use super::socat;
use super::tables::elsewhere::GIT_TAKES_COMMANDS;
use super::tables::has;
use super::tables::programs::{
    ABOUT_TEXT, COMMAND_VARIABLES, CONFIGURING_VARIABLES, OPTION_VARIABLES, PROMPTS,
};
use super::tree::{Input, Written};
use super::word::Word;

pub(super) use interpreters::shell;
use interpreters::{awk, code, evaluated, evaluator, sed};

/// Words of one command beyond which a wrapper is not followed.
const MAX_WORDS: usize = 200;

/// Most letters of a cluster of short options after which a command is looked for.
const MOST_LETTERS: usize = 16;

/// What a command runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// A command in these words.
    Words(Vec<Word>),
    /// A text of shell commands.
    Script(String),
    /// Something that is not known before it runs, and why.
    Unseen(String),
}

/// What `command` runs besides itself.
pub(super) fn inner(command: &Written) -> Vec<Inner> {
    let mut found = Vec::new();
    let Some(program) = command.words.first() else {
        return found;
    };
    let plainly_fixed = !program.varies || matches!(program.value.as_str(), "[" | "[[");
    if !plainly_fixed {
        found.push(Inner::Unseen(
            "the program is known only when it runs".to_owned(),
        ));
        return found;
    }
    if command.words.len() > MAX_WORDS && programs::is_wrapper(plain::name(&program.value)) {
        found.push(Inner::Unseen(
            "a wrapper has too many words to look through".to_owned(),
        ));
        return found;
    }
    runs(&command.words, &command.input, &mut found);
    found
}

/// What the values of these variables run, sooner or later.
pub(super) fn of_variables(assignments: &[(String, Word)]) -> Vec<Inner> {
    let mut found = Vec::new();
    for (name, value) in assignments {
        assigned(name, value, &mut found);
    }
    found
}

/// Variables whose value is a command, or a file of them.
fn assigned(name: &str, value: &Word, found: &mut Vec<Inner>) {
    if has(COMMAND_VARIABLES, name) {
        found.push(match value.known() {
            Some(script) => Inner::Script(script.to_owned()),
            None => Inner::Unseen(format!(
                "`{name}` holds a command that is known only when it runs"
            )),
        });
    }
    if has(PROMPTS, name) {
        evaluator(std::slice::from_ref(value), found);
    }
    if has(OPTION_VARIABLES, name) {
        sure_writes(std::slice::from_ref(value), found);
    }
    if name.starts_with("GIT_CONFIG") || has(CONFIGURING_VARIABLES, name) {
        found.push(Inner::Unseen(format!(
            "`{name}` changes what later words mean"
        )));
    }
}

fn runs(words: &[Word], input: &Input, found: &mut Vec<Inner>) {
    let Some((program, arguments)) = words.split_first() else {
        return;
    };
    let name = plain::name(&program.value);
    if programs::is_shell(name) {
        return shell(arguments, input, found);
    }
    if programs::is_source(name) {
        let is_plain = arguments
            .first()
            .is_some_and(|file| !file.varies && !file.value.starts_with("/dev/"));
        if !is_plain {
            found.push(Inner::Unseen(
                "it sources something known only when it runs".to_owned(),
            ));
        }
        return;
    }
    if let Some(options) = programs::code_options(name) {
        code(&options, arguments, input, found);
    }
    input::commands(name, arguments, input, found);
    if programs::is_awk(name) {
        awk(arguments, found);
    }
    let has_option = |letter: &str| arguments.iter().any(|word| word.value.starts_with(letter));
    if programs::is_evaluator(name) && (name != "printf" || has_option("-v")) {
        evaluator(arguments, found);
    }
    option_commands(name, arguments, found);
    if !is_about_text(name) {
        sure_writes(arguments, found);
    }
    match name {
        "sed" | "gsed" => sed(arguments, found),
        "socat" => addresses(arguments, found),
        "eval" => evaluated(arguments, found),
        "trap" if arguments.iter().any(|word| word.varies) => evaluated(arguments, found),
        "alias" if !arguments.is_empty() => {
            found.push(Inner::Unseen(
                "an alias changes what later words mean".to_owned(),
            ));
        }
        "find" => after(
            arguments,
            &["-exec", "-execdir", "-ok", "-okdir"],
            input,
            found,
        ),
        "fd" | "fdfind" => fd(arguments, input, found),
        "git" => git(arguments, found),
        "parallel" => found.push(Inner::Unseen(
            "it puts commands together when it runs".to_owned(),
        )),
        "at" | "batch" | "crontab" if *input != Input::Nothing => {
            found.push(Inner::Unseen(format!("`{name}` runs later what it reads")));
        }
        _ => {}
    }
    if programs::is_wrapper(name) {
        wrapped(name, arguments, input, found);
    } else if let Some(count) = programs::runner(&known(words)) {
        suffixes(&words[count.min(words.len())..], input, found);
    }
}

fn known(words: &[Word]) -> Vec<&str> {
    words
        .iter()
        .map(|word| word.known().unwrap_or("$"))
        .collect()
}

/// A wrapper runs what follows it, wherever its own options end: the command may begin at any word.
fn wrapped(name: &str, arguments: &[Word], input: &Input, found: &mut Vec<Inner>) {
    let mut arguments = arguments.to_vec();
    if matches!(name, "xargs" | "gxargs" | "parallel" | "entr" | "watchexec") {
        arguments.push(Word::unknown());
    }
    for word in &arguments {
        // A command in one word: `su -c '…'`, `env -S '…'`, `watch '…'`.
        let tail = word
            .value
            .split_once('=')
            .map_or(word.value.as_str(), |(_, tail)| tail);
        for script in [word.value.as_str(), tail]
            .into_iter()
            .chain(behind_letters(&word.value))
        {
            if script.contains(char::is_whitespace) {
                found.push(Inner::Script(script.to_owned()));
            }
        }
    }
    suffixes(&arguments, input, found);
}

/// What may follow each letter of a cluster of short options: `-vS'git push'`.
fn behind_letters(word: &str) -> impl Iterator<Item = &str> {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let count = letters
        .bytes()
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    (1..=count.min(MOST_LETTERS)).map(move |at| &letters[at..])
}

fn suffixes(words: &[Word], input: &Input, found: &mut Vec<Inner>) {
    let can_begin = |word: &Word| !word.is_option() && !word.value.contains('=');
    let mut has_program = false;
    for (index, word) in words.iter().enumerate() {
        if !can_begin(word) {
            continue;
        }
        let rest = &words[index..];
        if word.varies {
            if !has_program {
                found.push(Inner::Unseen(
                    "the program is known only when it runs".to_owned(),
                ));
            }
            return;
        }
        // A number is an option's value (`timeout 5`), not the program.
        has_program |= !word.value.starts_with(|c: char| c.is_ascii_digit());
        found.push(Inner::Words(rest.to_vec()));
        let name = plain::name(&word.value);
        if !programs::is_wrapper(name) || name == "eval" {
            runs(rest, input, found);
        }
    }
}

/// Commands that addresses of socat run.
fn addresses(arguments: &[Word], found: &mut Vec<Inner>) {
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

/// Commands that are the value of an option, attached or in the next word.
fn option_commands(name: &str, arguments: &[Word], found: &mut Vec<Inner>) {
    for option in programs::command_options(name) {
        for (index, word) in arguments.iter().enumerate() {
            let begins = match option.strip_prefix("--") {
                // Any beginning of a long option counts as that option.
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
                found.extend(embedded(&value.value).into_iter().map(Inner::Script));
            }
        }
    }
}

/// `text` from each place on where a word begins in it: `exec=git push`, `+!git push`, `1e git push`.
pub(super) fn embedded(text: &str) -> Vec<String> {
    /// Places that are tried.
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

/// Words that an unknown program may run, and that certainly write elsewhere if it does.
fn sure_writes(arguments: &[Word], found: &mut Vec<Inner>) {
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

/// Whether its arguments are only text, such as words to search for or a message, or are judged in another way.
fn is_about_text(name: &str) -> bool {
    options::is_harmless(name)
        || programs::is_wrapper(name)
        || programs::is_shell(name)
        || has(ABOUT_TEXT, name)
}

/// The commands after any of `options`.
fn after(arguments: &[Word], options: &[&str], input: &Input, found: &mut Vec<Inner>) {
    for (index, word) in arguments.iter().enumerate() {
        if options.contains(&word.value.as_str()) {
            suffixes(&arguments[index + 1..], input, found);
        }
    }
}

/// The commands that fd runs for what it finds; the first word of one may be attached to its option.
fn fd(arguments: &[Word], input: &Input, found: &mut Vec<Inner>) {
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

/// git runs commands given as configuration and to some of its subcommands.
fn git(arguments: &[Word], found: &mut Vec<Inner>) {
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
