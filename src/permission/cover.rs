//! Whether a pattern covers what it matches, or only its wildcard swallows it.
//!
//! `git log .*` matches `git log --output=x`, and `https://docs.rs.*` matches `https://docs.rs.evil.example/`: the
//! wildcard took in what nobody meant. To see how far a pattern binds a text, parts of the text are exchanged; where
//! the pattern does not notice, a wildcard stood.

use std::fmt;
use std::ops::Range;

use super::action::Action;
use super::pattern::{Pattern, Reach};
use super::shell::{Risk, Simple};

/// Text that no pattern spells.
const STRANGE: &str = "Zq7";

/// Why a pattern that matches does not cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// A wildcard covers an option, code or a command that must be spelled.
    Swallowed(String),
    /// What the pattern excludes, the command does in another spelling.
    Excluded(String),
    /// A wildcard completes a name: of a program, a subcommand or a host.
    Completed(String),
    /// `..` leads out of the folder that the pattern names.
    Climbs(String),
    /// A wildcard inside one argument takes in further ones.
    Spills(String),
    /// The URL names a user, so that its beginning is not its host.
    HidesHost(String),
}

impl fmt::Display for Gap {
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
        }
    }
}

/// Why `pattern`, which matches `command` of `action`, does not cover it.
pub(super) fn gap(pattern: &Pattern, action: &Action, command: &Simple) -> Option<Gap> {
    let tool = &action.tool;
    let suffix = action.suffix(&command.text);
    // An engine that gives up counts as a wildcard.
    let matches = |text: &str| {
        pattern
            .matches(&format!("tool:{tool}:{text}{suffix}"))
            .unwrap_or(true)
    };
    let elsewhere = |suffix: &str| {
        pattern
            .matches(&format!("tool:{tool}:{}{suffix}", command.text))
            .unwrap_or(true)
    };
    if let Some(gap) = surroundings(action, &suffix, &elsewhere) {
        return Some(gap);
    }
    if pattern.reach(tool) == Reach::AllBut {
        let differs = command.forms().into_iter().find(|form| !matches(form));
        if let Some(form) = differs {
            return Some(Gap::Excluded(form));
        }
    }
    swallowed(command, &matches)
        .or_else(|| completed(command, &matches))
        .or_else(|| climbs(command, &matches))
        .or_else(|| spills(command, &matches))
        .or_else(|| urls(command, &matches))
}

/// Why `pattern`, which matches the URL of `tool`, does not cover it.
pub(super) fn url_gap(pattern: &Pattern, tool: &str, url: &str) -> Option<Gap> {
    let matches = |text: &str| {
        pattern
            .matches(&format!("tool:{tool}:{text}"))
            .unwrap_or(true)
    };
    url_in(url, &(0..url.len()), &matches)
}

type Matches<'a> = dyn Fn(&str) -> bool + 'a;

fn replaced(text: &str, place: &Range<usize>, other: &str) -> String {
    let (before, after) = (text.get(..place.start), text.get(place.end..));
    format!(
        "{}{other}{}",
        before.unwrap_or_default(),
        after.unwrap_or_default()
    )
}

/// The words `in` and `with hooks` must be spelled, or `make( .*)?` would be `make` in any folder.
fn surroundings(action: &Action, suffix: &str, matches: &Matches<'_>) -> Option<Gap> {
    let mut places = action.surroundings().connectives(suffix).into_iter();
    let swallowed = places.find(|place| {
        let word = suffix.get(place.clone()).unwrap_or_default();
        let mut others = neighbours(word).into_iter();
        others.any(|other| matches(&replaced(suffix, place, &other)))
    })?;
    let rest = suffix.get(swallowed.start..).unwrap_or_default();
    Some(Gap::Swallowed(rest.to_owned()))
}

fn swallowed(command: &Simple, matches: &Matches<'_>) -> Option<Gap> {
    command.risks().into_iter().find_map(|risk| {
        let place = match &risk {
            Risk::Option(place) | Risk::Whole(place) => place,
        };
        let word = command.text.get(place.clone())?;
        let mut others = neighbours(word);
        if matches!(risk, Risk::Whole(_)) {
            others.push(format!("{word}{STRANGE}"));
        }
        others
            .iter()
            .any(|other| matches(&replaced(&command.text, place, other)))
            .then(|| Gap::Swallowed(word.to_owned()))
    })
}

/// Words that differ from `word` in one letter, and strange ones.
fn neighbours(word: &str) -> Vec<String> {
    /// Letters exchanged; who spells a word spells its beginning.
    const LETTERS: usize = 12;
    let mut others = vec![
        STRANGE.to_owned(),
        format!("-{STRANGE}"),
        format!("--{STRANGE}"),
    ];
    for (index, letter) in word
        .char_indices()
        .filter(|(_, c)| c.is_ascii_alphanumeric())
        .take(LETTERS)
    {
        for other in ['q', 'z', 'a', 'Q', '7'] {
            if other != letter {
                others.push(replaced(word, &(index..index + 1), &other.to_string()));
            }
        }
    }
    others
}

/// A wildcard must not complete the name of a program, nor the subcommand of a program that takes one.
fn completed(command: &Simple, matches: &Matches<'_>) -> Option<Gap> {
    const WITH_SUBCOMMANDS: [&str; 7] = ["git", "cargo", "gh", "npm", "docker", "kubectl", "doctl"];
    let (program, arguments) = command.words.split_first()?;
    let subcommand = arguments
        .first()
        .filter(|word| WITH_SUBCOMMANDS.contains(&program.value()) && !word.is_option());
    for word in [Some(program), subcommand].into_iter().flatten() {
        let name = command.text.get(word.place())?;
        let ends_open = |end: usize| {
            let rest = name.get(end..).unwrap_or_default();
            let is_version = rest
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            !is_version
                && name.is_char_boundary(end)
                && matches(&replaced(
                    &command.text,
                    &word.place(),
                    &format!("{}{STRANGE}", &name[..end]),
                ))
        };
        let is_free = matches(&replaced(&command.text, &word.place(), STRANGE));
        if !is_free && (1..name.len()).any(ends_open) {
            return Some(Gap::Completed(name.to_owned()));
        }
    }
    None
}

/// `docs/../../x` is `../x`, and a pattern must match it as such too.
fn climbs(command: &Simple, matches: &Matches<'_>) -> Option<Gap> {
    let climbing = command
        .arguments()
        .iter()
        .filter(|word| word.value().split('/').any(|part| part == ".."));
    for word in climbing {
        let direct = direct_path(word.value());
        if direct != word.value() && !matches(&replaced(&command.text, &word.place(), &direct)) {
            return Some(Gap::Climbs(word.value().to_owned()));
        }
    }
    None
}

/// `path` with each `..` taking back the name before it. What stands before `=` stays.
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

/// A wildcard that begins inside a file's name ends with it: `cat docs/.*` is not `cat docs/a /etc/shadow`.
fn spills(command: &Simple, matches: &Matches<'_>) -> Option<Gap> {
    let operands: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| !word.is_option())
        .collect();
    for (index, word) in operands.iter().enumerate() {
        let source = command.text.get(word.place())?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_file = source.contains(['/', '.']) || command.takes_files();
        if !is_file || is_number(source) {
            continue;
        }
        let is_bound = !matches(&replaced(&command.text, &word.place(), STRANGE));
        let ends_open = matches(&replaced(
            &command.text,
            &word.place(),
            &format!("{source}{STRANGE}"),
        ));
        if !is_bound || !ends_open {
            continue;
        }
        for later in &operands[index + 1..] {
            let other = command.text.get(later.place())?;
            let is_free = matches(&replaced(&command.text, &later.place(), STRANGE));
            // What would be allowed in the first one's place is allowed behind it.
            let alone = command.text.get(..word.place().end)?;
            let fits = matches(&replaced(alone, &word.place(), &direct_path(other)));
            if is_free && !fits && !is_number(other) {
                return Some(Gap::Spills(other.to_owned()));
            }
        }
    }
    None
}

fn urls(command: &Simple, matches: &Matches<'_>) -> Option<Gap> {
    let urls: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| word.value().contains("://"))
        .collect();
    for word in &urls {
        if let Some(gap) = url_in(&command.text, &word.place(), matches) {
            return Some(gap);
        }
    }
    // When one URL is bound, the others must be.
    let free = |place: Range<usize>| matches(&replaced(&command.text, &place, STRANGE));
    let loose: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| !word.is_option() && (word.value().contains("://") || is_fetcher(command)))
        .filter(|word| free(word.place()))
        .collect();
    let some_bound = urls.iter().any(|word| !free(word.place()));
    loose
        .first()
        .filter(|_| some_bound)
        .map(|word| Gap::Spills(word.value().to_owned()))
}

fn is_fetcher(command: &Simple) -> bool {
    command
        .words
        .first()
        .is_some_and(|program| matches!(program.value(), "curl" | "wget" | "http" | "xh"))
}

/// The URL at `place` of `text`: its host must be bound to its end, or not at all.
fn url_in(text: &str, place: &Range<usize>, matches: &Matches<'_>) -> Option<Gap> {
    let whole = text.get(place.clone())?;
    let start = place.start + whole.find("://")? + 3;
    let rest = text.get(start..place.end)?;
    let length = rest
        .find(['/', '?', '#', '\\', '"', '\''])
        .unwrap_or(rest.len());
    let host = &rest[..length];
    if host.contains('@') || rest.contains('\\') || host.contains('%') {
        return Some(Gap::HidesHost(whole.to_owned()));
    }
    let at = start..start + length;
    let ends_open = |end: usize| {
        host.is_char_boundary(end)
            && matches(&replaced(
                text,
                &at,
                &format!("{}{STRANGE}.invalid", &host[..end]),
            ))
    };
    if !ends_open(0) && (1..host.len()).any(ends_open) {
        return Some(Gap::Completed(host.to_owned()));
    }
    let path_place = at.end..place.end;
    let path = text
        .get(path_place.clone())?
        .replace("%2e", ".")
        .replace("%2E", ".")
        .replace("%2f", "/")
        .replace("%2F", "/");
    if path.split(['/', '\\']).any(|part| part == "..")
        && !matches(&replaced(text, &path_place, &direct_path(&path)))
    {
        return Some(Gap::Climbs(whole.to_owned()));
    }
    None
}
