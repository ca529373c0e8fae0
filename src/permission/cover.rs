//! Decides whether a pattern covers its match, or the match is only due to a wildcard.
//!
//! `git log .*` matches `git log --output=x`, and `https://docs.rs.*` matches `https://docs.rs.evil.example/`: the
//! wildcard matched text that was not intended. To see how far a pattern determines a text, parts of the text are
//! exchanged; if the pattern still matches, a wildcard was at work.
//!
//! This errs towards asking (`docs/decisions/0108-why-probing-errs-towards-asking.md` has the whole argument):
//!
//! - It only narrows. A pattern that covers has already matched the whole action.
//! - A letter that a wildcard matched can be exchanged: other text that the wildcard matches fits in the same place,
//!   and the rest of the text is matched as before. So every letter that must be spelled is exchanged for its
//!   neighbours in the alphabet, which finds any range of three letters or more, no matter what it leaves out.
//! - Text that cannot be tried (the engine gives up, there is too much of it) is not covered.

mod trial;
mod urls;

use std::fmt;
use std::ops::Range;

use self::trial::{Trial, free_letters, is_all_free, neighbours, unspelled};
use self::urls::{url_in, urls};
use super::action::Action;
use super::effort::Effort;
use super::pattern::{Pattern, PatternScope};
use shell_verdict::{Risk, Simple};

/// Text that no pattern spells.
const STRANGE: &str = "Zq7";

/// Text that only a wildcard for everything matches: all signs of a keyboard, with blanks between them.
const ANYTHING: &str = "Zq7 -Zq7 --zq7=/zq7/../Zq7 'Zq7' \"zq7\" \\ ; | & $(zq7) `zq7` < > * ? [z] {z,q} ~ # ! @ % ^ , . : + _ 0 9";

/// Why a pattern that matches does not cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Uncovered {
    /// A wildcard covers an option, code or a command that must be spelled.
    Swallowed(String),
    /// The command contains text that the pattern excludes, in another spelling.
    Excluded(String),
    /// A wildcard completes a name: of a program, a subcommand or a host.
    Completed(String),
    /// `..` leads out of the folder that the pattern names.
    Climbs(String),
    /// A wildcard inside one argument also matches further arguments.
    Spills(String),
    /// The URL names a user, so that its beginning is not its host.
    HidesHost(String),
    /// The engine gave up, or there was too much to try.
    Untried,
}

impl fmt::Display for Uncovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swallowed(word) => {
                write!(f, "only a wildcard covers `{word}`, which must be spelled")
            }
            Self::Excluded(form) => write!(f, "it is `{form}` in another spelling"),
            Self::Completed(name) => write!(f, "only a wildcard completes the name `{name}`"),
            Self::Climbs(path) => {
                write!(f, "`{path}` leads out of the folder that the pattern names")
            }
            Self::Spills(word) => write!(f, "a wildcard inside another argument covers `{word}`"),
            Self::HidesHost(url) => write!(f, "`{url}` does not begin with its host"),
            Self::Untried => write!(f, "it takes too long to see what the pattern covers of it"),
        }
    }
}

/// Returns why `pattern`, which matches `command` of `action`, does not cover it.
pub(super) fn uncovered_part(
    pattern: &Pattern,
    action: &Action,
    command: &Simple,
    effort: &Effort,
) -> Option<Uncovered> {
    let tool = &action.tool;
    let suffix = action.suffix(command.text());
    let before = format!("tool:{tool}:");
    let trial = Trial::new(pattern, effort, &before, command.text(), &suffix);
    let of_suffix = format!("tool:{tool}:{}", command.text());
    let beside = Trial::new(pattern, effort, &of_suffix, &suffix, "");
    let excluded = || match pattern.scope(tool) {
        PatternScope::AllBut => {
            let mut forms = command.forms().into_iter();
            forms.find(|form| !trial.fits(&trial.whole(), form))
        }
        PatternScope::Everything | PatternScope::Narrow => None,
    };
    // Once no effort is left to try with, the answer is known.
    let checks: [&dyn Fn() -> Option<Uncovered>; 7] = [
        &|| surroundings(action, &beside),
        &|| excluded().map(Uncovered::Excluded),
        &|| swallowed(command, &trial),
        &|| completed(command, &trial),
        &|| climbs(command, &trial),
        &|| spills(command, &trial),
        &|| urls(command, &trial),
    ];
    let failed = || trial.failed().or_else(|| beside.failed());
    checks
        .into_iter()
        .find_map(|check| failed().or_else(check).or_else(failed))
        .map(|found| failed().unwrap_or(found))
}

/// Returns why `pattern`, which matches the URL of `tool`, does not cover it.
pub(super) fn uncovered_url(
    pattern: &Pattern,
    tool: &str,
    url: &str,
    effort: &Effort,
) -> Option<Uncovered> {
    let before = format!("tool:{tool}:");
    let trial = Trial::new(pattern, effort, &before, url, "");
    let found = url_in(&trial, &(0..url.len()));
    trial.failed().or(found)
}

/// Checks that the words `in` and `with hooks` are spelled; otherwise `make( .*)?` would mean `make` in any folder.
fn surroundings(action: &Action, beside: &Trial<'_>) -> Option<Uncovered> {
    let places = action.surroundings().connectives(beside.text);
    let swallowed = unspelled(beside, &places, |place| {
        let word = beside.text.get(place.clone()).unwrap_or_default();
        let mut others = neighbours(word).into_iter();
        others.any(|other| beside.fits(place, &other))
            || free_letters(beside, place).any(|is_free| is_free)
    })?;
    let rest = beside.text.get(swallowed.start..).unwrap_or_default();
    Some(Uncovered::Swallowed(rest.to_owned()))
}

fn swallowed(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    let risks = command.risks();
    let place_of = |risk: &Risk| match risk {
        Risk::Option(place) | Risk::Whole(place) => place.clone(),
    };
    let places: Vec<Range<usize>> = risks.iter().map(place_of).collect();
    let is_whole = |place: &Range<usize>| risks.contains(&Risk::Whole(place.clone()));
    let swallowed = unspelled(trial, &places, |place| {
        let word = command.text().get(place.clone()).unwrap_or_default();
        let mut others = neighbours(word);
        if is_whole(place) {
            others.push(format!("{word}{STRANGE}"));
        }
        others.iter().any(|other| trial.fits(place, other))
            || free_letters(trial, place).any(|is_free| is_free)
    })?;
    let word = command.text().get(swallowed)?;
    Some(Uncovered::Swallowed(word.to_owned()))
}

/// Checks that no wildcard completes the name of a program, or the subcommand of a program that takes one.
fn completed(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    const WITH_SUBCOMMANDS: [&str; 7] = ["git", "cargo", "gh", "npm", "docker", "kubectl", "doctl"];
    let (program, arguments) = command.words().split_first()?;
    let subcommand = arguments
        .first()
        .filter(|word| WITH_SUBCOMMANDS.contains(&program.value()) && !word.is_option());
    for word in [Some(program), subcommand].into_iter().flatten() {
        let place = word.place();
        let name = command.text().get(place.clone())?;
        let is_of_version = |c: char| c.is_ascii_digit() || c == '.';
        // `python.*` is also `python3.12`.
        let length = match name.trim_end_matches(is_of_version).len() {
            0 => name.len(),
            length => length,
        };
        let bare = place.start..place.start + length;
        if trial.spells(std::slice::from_ref(&bare)) == Some(true) || trial.fits(&place, STRANGE) {
            continue;
        }
        let ends_open = |end: usize| {
            let begins = name.get(..end).filter(|_| end < length);
            begins.is_some_and(|begins| trial.fits(&place, &format!("{begins}{STRANGE}")))
        };
        let free: Vec<bool> = free_letters(trial, &bare).collect();
        let is_mixed = free.contains(&true) && free.contains(&false);
        if is_mixed || (1..name.len()).any(ends_open) {
            return Some(Uncovered::Completed(name.to_owned()));
        }
    }
    None
}

/// Checks that the pattern also matches a path without its `..`: `docs/../../x` is `../x`.
fn climbs(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    let climbing = command
        .arguments()
        .iter()
        .filter(|word| word.value().split('/').any(|part| part == ".."));
    for word in climbing {
        let direct = direct_path(word.value());
        if direct != word.value() && !trial.fits(&word.place(), &direct) {
            return Some(Uncovered::Climbs(word.value().to_owned()));
        }
    }
    None
}

/// Returns `path` with each `..` removing the name before it. The part before `=` stays.
fn direct_path(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "." => {}
            ".." if names.last().is_some_and(|last| !matches!(*last, ".." | "")) => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Checks that a wildcard that begins inside a name ends with it: `cat docs/.*` is not `cat docs/a /etc/shadow`, and
/// `git push origin feature-.*` is not `git push origin feature-x main`. The same applies to one after a file's name.
fn spills(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    let operands: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| !word.is_option())
        .collect();
    let free_from = |other: &str| {
        let mut operands = operands.iter().take_while(|_| !trial.is_over());
        operands.position(|word| trial.fits(&(word.place().start..command.text().len()), other))
    };
    // From here on a wildcard matches any text, so it begins inside none of these.
    let all_free = free_from(STRANGE);
    // From here on a wildcard matches any number of any words, so no word is bound to anything.
    let unbound = free_from(ANYTHING).unwrap_or(operands.len());
    for (index, word) in operands.iter().enumerate().take(unbound) {
        if trial.is_over() {
            return None;
        }
        let place = word.place();
        let source = command.text().get(place.clone())?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_file = source.contains(['/', '.']) || command.takes_files();
        let begins_inside = all_free.is_none_or(|free| index < free)
            && free_letters(trial, &place).last() == Some(true);
        if !(is_file || begins_inside) || is_number(source) {
            continue;
        }
        let is_bound = !trial.fits(&place, STRANGE);
        let ends_open = begins_inside || trial.fits(&place, &format!("{source}{STRANGE}"));
        if !is_bound || !ends_open {
            continue;
        }
        let alone = command.text().get(..place.end)?;
        for later in operands
            .iter()
            .skip(index + 1)
            .take_while(|_| !trial.is_over())
        {
            let other = command.text().get(later.place())?;
            let is_free = trial.fits(&later.place(), STRANGE) || is_all_free(trial, &later.place());
            // Text that would be allowed in place of the first argument is allowed after it.
            let fits = trial.fits_cut(alone, &place, &direct_path(other));
            if is_free && !fits && !is_number(other) {
                return Some(Uncovered::Spills(other.to_owned()));
            }
        }
    }
    None
}
