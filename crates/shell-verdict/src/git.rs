//! The parts of a git command that must be spelled besides its options: its subcommand, code, and words that change
//! what runs later.

use super::remote;
use super::risk::{Risk, operands};
use super::tables::elsewhere::{
    GIT_BEFORE_HARMLESS, GIT_CONFIG_OPTIONS, GIT_CONFIG_READS, GIT_CONFIG_VERBS, GIT_PLAIN,
    GIT_REMOTES, GIT_RUNS_OTHERS,
};
use super::tables::has;
use super::word::Word;

/// Returns the position of git's subcommand, after the options before it and their values.
pub(super) fn subcommand(arguments: &[Word]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.is_option()) {
        at += 1 + usize::from(remote::takes_next(&word.value));
    }
    (at < arguments.len()).then_some(at)
}

/// Returns options before git's subcommand that may name another repository, configuration or program.
pub(super) fn before_subcommand(arguments: &[Word]) -> Vec<Risk> {
    let before = arguments.iter().enumerate().take_while({
        let subcommand = subcommand(arguments).unwrap_or(arguments.len());
        move |(at, _)| *at < subcommand
    });
    before
        .filter(|(_, word)| !has(GIT_BEFORE_HARMLESS, &word.value))
        .map(|(_, word)| Risk::Whole(word.place.clone()))
        .collect()
}

/// Returns the words of git that are code, that change what later commands run, or that name a program or an alias.
pub(super) fn code(arguments: &[Word]) -> Vec<&Word> {
    let Some(at) = subcommand(arguments) else {
        return Vec::new();
    };
    let (subcommand, rest) = (&arguments[at], &arguments[at + 1..]);
    let name = subcommand.value.as_str();
    let mut code: Vec<&Word> = arguments
        .iter()
        .filter(|word| {
            word.value.contains("::") && !word.value.contains("://") && !word.value.contains(' ')
        })
        .collect();
    if !has(GIT_PLAIN, name) {
        code.push(subcommand);
    }
    // The effect of an alias on its words is not known.
    if has(GIT_RUNS_OTHERS, name) || !remote::is_git_command(name) {
        code.extend(rest);
    }
    if name == "config" && !only_reads_configuration(rest) {
        code.extend(rest);
    }
    // `a:b` pushes to another branch than the one named, `:b` deletes one and `+a` overwrites one.
    if name == "push" {
        let operands = operands(rest);
        code.extend(operands.first().filter(|word| may_be_a_folder(&word.value)));
        let references = operands.into_iter().skip(1);
        code.extend(
            references.filter(|word| word.value.contains(':') || word.value.starts_with('+')),
        );
    }
    code
}

/// Returns whether git may take `repository` for a folder: a push to a folder runs the hooks in it.
fn may_be_a_folder(repository: &str) -> bool {
    let is_address = repository
        .split_once(':')
        .is_some_and(|(before, _)| !before.is_empty() && !before.contains('/') && before != "file");
    !is_address && !has(GIT_REMOTES, repository)
}

/// Returns whether `git config` with these words shows settings and changes none.
fn only_reads_configuration(rest: &[Word]) -> bool {
    let (options, operands): (Vec<&Word>, Vec<&Word>) =
        rest.iter().partition(|word| word.is_option());
    let option = |word: &Word| word.value.split('=').next().unwrap_or_default().to_owned();
    if !options
        .iter()
        .all(|word| has(GIT_CONFIG_OPTIONS, &option(word)))
    {
        return false;
    }
    let asks = options
        .iter()
        .any(|word| has(GIT_CONFIG_READS, &option(word)));
    match operands.split_first() {
        None => true,
        Some((verb, names)) if has(GIT_CONFIG_VERBS, &verb.value) => {
            matches!(verb.value.as_str(), "get" | "list") && (names.len() <= 1 || asks)
        }
        Some((_, values)) => asks || values.is_empty(),
    }
}
