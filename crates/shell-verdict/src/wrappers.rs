//! The commands that wrapper programs run, for deny only.

use super::input;
use super::plain;
use super::programs;
use super::tables::has;
use super::tables::programs::{
    COMMAND_VARIABLES, CONFIGURING_VARIABLES, OPTION_VARIABLES, PROMPTS,
};
use super::tree::{Input, Written};
use super::within::{
    addresses, after, escapes, evaluator, fd, git, is_about_text, option_commands, sed,
    sure_writes, variables,
};
use super::word::Word;

/// Words of one command after which a wrapper is not searched.
pub(super) const MAX_WORDS: usize = 200;

/// Most letters of a cluster of short options to search for a command after each.
pub(super) const MOST_LETTERS: usize = 16;

/// Most commands that are followed from one command: `poetry run poetry run …` begins a command at each word, and each
/// of those does too.
const MOST_FOUND: usize = 400;

/// A command that another command runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// A command in these words.
    Words(Vec<Word>),
    /// A text of shell commands.
    Script(String),
    /// A command that is not known before it runs, and why.
    Unseen(String),
}

/// Returns the commands that `command` runs besides itself.
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

/// Returns the commands that the values of these variables run, sooner or later.
pub(super) fn of_variables(assignments: &[(String, Word)]) -> Vec<Inner> {
    let mut found = Vec::new();
    for (name, value) in assignments {
        assigned(name, value, &mut found);
    }
    found
}

/// Adds the value of a variable that holds a command, or a file of commands.
pub(super) fn assigned(name: &str, value: &Word, found: &mut Vec<Inner>) {
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
            .is_some_and(|file| !file.varies && !input::is_stream(&file.value));
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
    if programs::is_evaluator(name) || name == "env" {
        variables(arguments, found);
    }
    escapes(name, words, found);
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

/// Adds the commands of a wrapper, which runs the words after its own options: the command may begin at any word.
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

/// Returns the text that may follow each letter of a cluster of short options: `-vS'git push'`.
fn behind_letters(word: &str) -> impl Iterator<Item = &str> {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let count = letters
        .bytes()
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    (1..=count.min(MOST_LETTERS)).map(move |at| &letters[at..])
}

pub(super) fn suffixes(words: &[Word], input: &Input, found: &mut Vec<Inner>) {
    let can_begin = |word: &Word| !word.is_option() && !word.value.contains('=');
    let mut has_program = false;
    if words.len() > MAX_WORDS {
        return found.push(Inner::Unseen(
            "a wrapper has too many words to look through".to_owned(),
        ));
    }
    for (index, word) in words.iter().enumerate() {
        if found.len() >= MOST_FOUND {
            return found.push(Inner::Unseen("it nests too many commands".to_owned()));
        }
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
        } else {
            escapes(name, &rest[1..], found);
        }
    }
}

pub(super) fn shell(arguments: &[Word], input: &Input, found: &mut Vec<Inner>) {
    let takes_text = |word: &&Word| match word.value.strip_prefix("--") {
        Some(long) => long.starts_with("com") || long.starts_with("init-c"),
        None => word.is_option() && word.value.contains(['c', 'C']),
    };
    if arguments.iter().any(|word| takes_text(&word)) {
        for word in arguments {
            let attached = word.value.split_once('=').map(|(_, script)| script);
            found.push(match word.known() {
                Some(_) if word.is_option() => match attached {
                    Some(script) => Inner::Script(script.to_owned()),
                    None => continue,
                },
                Some(script) => Inner::Script(script.to_owned()),
                None => {
                    Inner::Unseen("a shell is given commands known only when it runs".to_owned())
                }
            });
        }
        return;
    }
    let file = arguments
        .iter()
        .find(|word| !word.is_option() || word.varies);
    let reads_input = match file {
        Some(file) => file.varies || input::is_stream(&file.value),
        None => true,
    };
    if !reads_input && !arguments.iter().any(|word| word.value == "-s") {
        return;
    }
    match input {
        Input::Text(script) => found.push(Inner::Script(script.clone())),
        Input::Unknown => found.push(Inner::Unseen(
            "a shell reads commands known only when it runs".to_owned(),
        )),
        Input::Nothing if file.is_some() && reads_input => {
            found.push(Inner::Unseen(
                "a shell is given commands known only when it runs".to_owned(),
            ));
        }
        Input::Nothing => {}
    }
}

fn evaluated(arguments: &[Word], found: &mut Vec<Inner>) {
    let known: Option<Vec<&str>> = arguments.iter().map(Word::known).collect();
    found.push(match known {
        Some(words) => Inner::Script(words.join(" ")),
        None => Inner::Unseen("it evaluates what is known only when it runs".to_owned()),
    });
}

fn code(options: &[&str], arguments: &[Word], input: &Input, found: &mut Vec<Inner>) {
    let is_code = |word: &Word| {
        options.iter().any(|option| {
            word.value == *option
                || (word.value.starts_with(option)
                    && !option.starts_with("--")
                    && option.len() == 2)
                || (word.is_option()
                    && !word.value.starts_with("--")
                    && option.len() == 2
                    && word.value.contains(&option[1..]))
        })
    };
    let mut inline = arguments
        .iter()
        .skip_while(|word| !is_code(word))
        .peekable();
    if inline.peek().is_some() {
        let hides = inline.any(|word| word.varies || programs::spawns(&word.value));
        if hides {
            found.push(Inner::Unseen(
                "its code starts programs or hides what it does".to_owned(),
            ));
        }
        return;
    }
    let mut operands = arguments
        .iter()
        .enumerate()
        .filter(|(_, word)| !word.is_option() && word.value != "-");
    // The first one may be the value of an option before it.
    let first = operands.next();
    let second = operands
        .next()
        .filter(|_| first.is_some_and(|(at, _)| at > 0));
    let is_hidden = |word: &Word| word.is_printed || input::is_stream(&word.value);
    if [first, second]
        .into_iter()
        .flatten()
        .any(|(_, word)| word.is_printed)
    {
        found.push(Inner::Unseen(
            "its code is what another command prints".to_owned(),
        ));
    }
    let has_file = first.is_some_and(|(_, word)| !is_hidden(word))
        && second.is_none_or(|(_, word)| !is_hidden(word));
    match input {
        _ if has_file => {}
        Input::Nothing => {}
        Input::Text(code) if !programs::spawns(code) => {}
        Input::Text(_) | Input::Unknown => {
            found.push(Inner::Unseen(
                "an interpreter reads code that cannot be judged".to_owned(),
            ));
        }
    }
}

fn awk(arguments: &[Word], found: &mut Vec<Inner>) {
    let starts = arguments.iter().any(|word| {
        word.varies && word.rewritten.is_none()
            || ["system", "getline", "|"]
                .iter()
                .any(|sign| word.value.contains(sign))
    });
    if starts {
        found.push(Inner::Unseen("its code may start programs".to_owned()));
    }
}
