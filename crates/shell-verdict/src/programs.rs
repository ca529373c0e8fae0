//! Programs with commands or code among their arguments, by the way they use them.

use super::options::Options;
use super::tables::has;
use super::tables::programs::*;

/// Returns whether it reads shell commands.
pub(super) fn is_shell(name: &str) -> bool {
    has(SHELLS, name)
}

/// Returns whether it runs the command that follows it.
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name) || name.starts_with("ld-linux")
}

/// Returns whether it is a builtin that evaluates the brackets of a variable's name.
pub(super) fn is_evaluator(name: &str) -> bool {
    has(EVALUATORS, name)
}

/// Returns whether its subcommand changes what later commands run.
pub(super) fn configures(name: &str, subcommand: &str) -> bool {
    let mut entries = CONFIGURES.iter();
    entries.any(|(programs, subcommands)| {
        let mut subcommands = subcommands.split_whitespace();
        has(programs, name) && subcommands.any(|known| stands_for(name, subcommand, known))
    })
}

/// Returns whether `word` is the subcommand `known` of a program, or may be an abbreviation of it that the program
/// accepts.
pub(super) fn stands_for(program: &str, word: &str, known: &str) -> bool {
    let may_abbreviate = || {
        !word.is_empty()
            && known.starts_with(word)
            && Options::of(program, "").lack_subcommand(word)
    };
    word == known || may_abbreviate()
}

/// Returns whether it treats its standard input as data, regardless of its arguments.
pub(super) fn is_filter(name: &str) -> bool {
    FILTERS.contains(&name)
}

/// Returns the words and signs in its arguments that a shell command follows.
pub(super) fn shell_escapes(name: &str) -> impl Iterator<Item = &'static str> + use<> {
    options_in(&SHELL_ESCAPES, name).into_iter().flatten()
}

/// Returns its options that take a command as their value.
pub(super) fn command_options(name: &str) -> impl Iterator<Item = &'static str> + use<> {
    options_in(&COMMAND_OPTIONS, name).into_iter().flatten()
}

/// Returns whether it reads a file of shell commands into this shell.
pub(super) fn is_source(name: &str) -> bool {
    has(SOURCES, name)
}

/// Returns whether it changes what later words of this shell mean.
pub(super) fn changes_the_shell(name: &str) -> bool {
    has(CHANGE_THE_SHELL, name)
}

/// Returns how many words come before the command it runs, if it is a runner.
pub(super) fn runner(words: &[&str]) -> Option<usize> {
    let (name, rest) = words.split_first()?;
    // Options may come in between.
    let plain: Vec<&str> = rest
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-') || *word == "-jar")
        .collect();
    let paths = RUNNERS
        .iter()
        .filter(|(programs, _)| has(programs, name))
        .flat_map(|(_, paths)| paths.split(", "));
    paths
        .map(|path| match path {
            "-" => Vec::new(),
            path => path.split(' ').collect(),
        })
        .filter(|path| {
            let mut pairs = path.iter().zip(&plain);
            plain.len() >= path.len() && pairs.all(|(known, word)| stands_for(name, word, known))
        })
        .map(|path| path.len() + 1)
        .max()
}

/// Returns whether it runs commands in a container, a cluster or its own shell, where our rules do not reach.
pub(super) fn runs_elsewhere(name: &str) -> bool {
    has(RUN_ELSEWHERE, name)
}

/// Returns the options that code follows, if it is an interpreter.
pub(super) fn code_options(name: &str) -> Option<Vec<&'static str>> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let options = options_in(&INTERPRETERS, name).or_else(|| options_in(&INTERPRETERS, bare))?;
    Some(options.filter(|option| *option != "-").collect())
}

/// Returns the options that `table` has for the program `name`.
fn options_in(
    table: &[(&'static str, &'static str)],
    name: &str,
) -> Option<impl Iterator<Item = &'static str> + use<>> {
    let (_, options) = table.iter().find(|(programs, _)| has(programs, name))?;
    Some(options.split_whitespace())
}

/// Returns whether its standard input consists of commands of its own, some of which run others.
pub(super) fn takes_commands(name: &str) -> bool {
    has(TAKE_COMMANDS, name)
}

/// Returns whether it is one of the awks, which take code as their first argument.
pub(super) fn is_awk(name: &str) -> bool {
    has(AWKS, name)
}

/// Returns whether code in another language can start programs or hides what it does.
pub(super) fn spawns(code: &str) -> bool {
    SPAWNS.iter().any(|sign| code.contains(sign))
}
