//! Whether a pattern covers what it matches, or the match is only due to a wildcard.
//!
//! `git log .*` matches `git log --output=x`, and `https://docs.rs.*` matches `https://docs.rs.evil.example/`: the wildcard
//! matched what nobody meant. To see how far a pattern determines a text, parts of the text are exchanged; where the
//! pattern still matches, a wildcard was at work.
//!
//! This errs towards asking (`docs/decisions/0108-why-probing-errs-towards-asking.md` has the whole argument):
//!
//! - It only takes away. A pattern that covers has matched the whole action before.
//! - A letter that a wildcard took in can be exchanged: whatever else the wildcard takes fits in the same place, and
//!   the rest of the text is matched as before. So every letter that must be spelled is exchanged for those next to
//!   it in the alphabet, and any range of three letters or more is found, whatever it leaves out.
//! - What cannot be tried (the engine gives up, there is too much of it) is not covered.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use super::action::Action;
use super::pattern::{Pattern, PatternScope};
use super::shell::{Risk, Simple};

/// Text that no pattern spells.
const STRANGE: &str = "Zq7";

/// Why a pattern that matches does not cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Uncovered {
    /// A wildcard covers an option, code or a command that must be spelled.
    Swallowed(String),
    /// The command contains what the pattern excludes, in another spelling.
    Excluded(String),
    /// A wildcard completes a name: of a program, a subcommand or a host.
    Completed(String),
    /// `..` leads out of the folder that the pattern names.
    Climbs(String),
    /// A wildcard inside one argument matches further ones too.
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

/// Why `pattern`, which matches `command` of `action`, does not cover it.
pub(super) fn uncovered_part(
    pattern: &Pattern,
    action: &Action,
    command: &Simple,
    spent: &Spent,
) -> Option<Uncovered> {
    let tool = &action.tool;
    let suffix = action.suffix(&command.text);
    let trial = Trial::of(pattern, spent);
    let matches = |text: &str| trial.matches(&format!("tool:{tool}:{text}{suffix}"));
    let elsewhere = |suffix: &str| trial.matches(&format!("tool:{tool}:{}{suffix}", command.text));
    let excluded = || match pattern.scope(tool) {
        PatternScope::AllBut => command.forms().into_iter().find(|form| !matches(form)),
        PatternScope::Everything | PatternScope::Narrow => None,
    };
    surroundings(action, &suffix, &elsewhere)
        .or_else(|| excluded().map(Uncovered::Excluded))
        .or_else(|| swallowed(command, &matches))
        .or_else(|| completed(command, &matches))
        .or_else(|| climbs(command, &matches))
        .or_else(|| spills(command, &matches))
        .or_else(|| urls(command, &matches))
        .or_else(|| trial.failed())
}

/// Why `pattern`, which matches the URL of `tool`, does not cover it.
pub(super) fn uncovered_url(pattern: &Pattern, tool: &str, url: &str) -> Option<Uncovered> {
    let spent = Spent::default();
    let trial = Trial::of(pattern, &spent);
    let matches = |text: &str| trial.matches(&format!("tool:{tool}:{text}"));
    url_in(url, &(0..url.len()), &matches).or_else(|| trial.failed())
}

/// Bytes that were tried for one decision, whatever the pattern and the command.
#[derive(Debug, Default)]
pub(super) struct Spent(Cell<usize>);

/// Tries texts on one pattern, and keeps what that costs.
struct Trial<'a> {
    pattern: &'a Pattern,
    bytes: Cell<usize>,
    spent: &'a Spent,
    gave_up: Cell<bool>,
}

impl<'a> Trial<'a> {
    /// Bytes that are tried on a pattern for one command: a few hundred times the longest line that a person writes, and
    /// less than a second of work.
    const MOST_BYTES: usize = 32 << 20;

    /// The same for all commands of a line and all patterns of a profile.
    const MOST_IN_ALL: usize = 4 * Self::MOST_BYTES;

    fn of(pattern: &'a Pattern, spent: &'a Spent) -> Self {
        Self {
            pattern,
            bytes: Cell::new(0),
            spent,
            gave_up: Cell::new(false),
        }
    }

    /// Whether the pattern matches `text`; what cannot be tried counts as a wildcard, and as [`Uncovered::Untried`].
    fn matches(&self, text: &str) -> bool {
        for spent in [&self.bytes, &self.spent.0] {
            spent.set(spent.get().saturating_add(text.len()));
        }
        if self.is_spent() {
            return true;
        }
        self.pattern.matches(text).unwrap_or_else(|_| {
            self.gave_up.set(true);
            true
        })
    }

    fn is_spent(&self) -> bool {
        self.bytes.get() > Self::MOST_BYTES || self.spent.0.get() > Self::MOST_IN_ALL
    }

    fn failed(&self) -> Option<Uncovered> {
        (self.gave_up.get() || self.is_spent()).then_some(Uncovered::Untried)
    }
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

/// The words `in` and `with hooks` must be spelled, or `make( .*)?` would mean `make` in any folder.
fn surroundings(action: &Action, suffix: &str, matches: &Matches<'_>) -> Option<Uncovered> {
    let mut places = action.surroundings().connectives(suffix).into_iter();
    let swallowed = places.find(|place| {
        let word = suffix.get(place.clone()).unwrap_or_default();
        let mut others = neighbours(word).into_iter();
        others.any(|other| matches(&replaced(suffix, place, &other)))
            || free_letters(suffix, place, matches).any(|is_free| is_free)
    })?;
    let rest = suffix.get(swallowed.start..).unwrap_or_default();
    Some(Uncovered::Swallowed(rest.to_owned()))
}

fn swallowed(command: &Simple, matches: &Matches<'_>) -> Option<Uncovered> {
    command.risks().into_iter().find_map(|risk| {
        let place = match &risk {
            Risk::Option(place) | Risk::Whole(place) => place,
        };
        let word = command.text.get(place.clone())?;
        let mut others = neighbours(word);
        if matches!(risk, Risk::Whole(_)) {
            others.push(format!("{word}{STRANGE}"));
        }
        let is_swallowed = others
            .iter()
            .any(|other| matches(&replaced(&command.text, place, other)))
            || free_letters(&command.text, place, matches).any(|is_free| is_free);
        is_swallowed.then(|| Uncovered::Swallowed(word.to_owned()))
    })
}

/// Words that differ from `word` in one letter, and strange ones.
fn neighbours(word: &str) -> Vec<String> {
    /// Letters that are exchanged; a pattern that spells a word spells its beginning.
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

/// For each letter and digit at `place` of `text`, whether a wildcard matched it.
///
/// A wildcard did if two of the four letters next to it in the alphabet match as well: a range of three or more that
/// contains the letter contains two of them. A single one may be spelled: `bash|dash`.
fn free_letters<'a>(
    text: &'a str,
    place: &Range<usize>,
    matches: &'a Matches<'_>,
) -> impl Iterator<Item = bool> + 'a {
    let bytes = text.as_bytes().get(place.clone()).unwrap_or_default();
    let letters = bytes.iter().zip(place.clone());
    letters
        .filter(|(letter, _)| letter.is_ascii_alphanumeric())
        .map(move |(letter, at)| {
            let near = [-2_i8, -1, 1, 2].map(|step| letter.wrapping_add_signed(step));
            let is_of_its_row = |other: &u8| {
                other.is_ascii_digit() == letter.is_ascii_digit()
                    && other.is_ascii_lowercase() == letter.is_ascii_lowercase()
                    && other.is_ascii_alphanumeric()
            };
            near.into_iter()
                .filter(is_of_its_row)
                .filter(|other| {
                    let other = char::from(*other).to_string();
                    matches(&replaced(text, &(at..at + 1), &other))
                })
                .nth(1)
                .is_some()
        })
}

/// Whether wildcards matched all letters at `place`, and there are any.
fn is_all_free(text: &str, place: &Range<usize>, matches: &Matches<'_>) -> bool {
    let mut free = free_letters(text, place, matches).peekable();
    free.peek().is_some() && free.all(|is_free| is_free)
}

/// A wildcard must not complete the name of a program, nor the subcommand of a program that takes one.
fn completed(command: &Simple, matches: &Matches<'_>) -> Option<Uncovered> {
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
        let version = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let start = word.place().start;
        let free = free_letters(&command.text, &(start..start + version.len()), matches);
        let free: Vec<bool> = free.collect();
        let is_mixed = free.contains(&true) && free.contains(&false);
        if !is_free && (is_mixed || (1..name.len()).any(ends_open)) {
            return Some(Uncovered::Completed(name.to_owned()));
        }
    }
    None
}

/// `docs/../../x` is `../x`, and a pattern must match it as such too.
fn climbs(command: &Simple, matches: &Matches<'_>) -> Option<Uncovered> {
    let climbing = command
        .arguments()
        .iter()
        .filter(|word| word.value().split('/').any(|part| part == ".."));
    for word in climbing {
        let direct = direct_path(word.value());
        if direct != word.value() && !matches(&replaced(&command.text, &word.place(), &direct)) {
            return Some(Uncovered::Climbs(word.value().to_owned()));
        }
    }
    None
}

/// `path` with each `..` removing the name before it. What comes before `=` stays.
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

/// A wildcard that begins inside a name ends with it: `cat docs/.*` is not `cat docs/a /etc/shadow`, and `git push origin feature-.*`
/// is not `git push origin feature-x main`. One behind a file's name does so too.
fn spills(command: &Simple, matches: &Matches<'_>) -> Option<Uncovered> {
    let operands: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| !word.is_option())
        .collect();
    // From here on a wildcard takes in whatever stands there, so that it begins inside none of these.
    let all_free = operands.iter().position(|word| {
        let rest = word.place().start..command.text.len();
        matches(&replaced(&command.text, &rest, STRANGE))
    });
    for (index, word) in operands.iter().enumerate() {
        let source = command.text.get(word.place())?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_file = source.contains(['/', '.']) || command.takes_files();
        let begins_inside = all_free.is_none_or(|free| index < free)
            && free_letters(&command.text, &word.place(), matches).last() == Some(true);
        if !(is_file || begins_inside) || is_number(source) {
            continue;
        }
        let is_bound = !matches(&replaced(&command.text, &word.place(), STRANGE));
        let longer = format!("{source}{STRANGE}");
        let ends_open = begins_inside || matches(&replaced(&command.text, &word.place(), &longer));
        if !is_bound || !ends_open {
            continue;
        }
        for later in &operands[index + 1..] {
            let other = command.text.get(later.place())?;
            let is_free = matches(&replaced(&command.text, &later.place(), STRANGE))
                || is_all_free(&command.text, &later.place(), matches);
            // What would be allowed in place of the first argument is allowed after it.
            let alone = command.text.get(..word.place().end)?;
            let fits = matches(&replaced(alone, &word.place(), &direct_path(other)));
            if is_free && !fits && !is_number(other) {
                return Some(Uncovered::Spills(other.to_owned()));
            }
        }
    }
    None
}

fn urls(command: &Simple, matches: &Matches<'_>) -> Option<Uncovered> {
    let urls: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| word.value().contains("://"))
        .collect();
    for word in &urls {
        if let Some(uncovered) = url_in(&command.text, &word.place(), matches) {
            return Some(uncovered);
        }
    }
    // When the pattern determines one URL, it must determine all of them.
    let free = |place: Range<usize>| matches(&replaced(&command.text, &place, STRANGE));
    let is_loose =
        |place: Range<usize>| free(place.clone()) || is_all_free(&command.text, &place, matches);
    let loose: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| !word.is_option() && (word.value().contains("://") || is_fetcher(command)))
        .filter(|word| is_loose(word.place()))
        .collect();
    let some_bound = urls.iter().any(|word| !free(word.place()));
    loose
        .first()
        .filter(|_| some_bound)
        .map(|word| Uncovered::Spills(word.value().to_owned()))
}

fn is_fetcher(command: &Simple) -> bool {
    command
        .words
        .first()
        .is_some_and(|program| matches!(program.value(), "curl" | "wget" | "http" | "xh"))
}

/// The URL at `place` of `text`: its host must be determined up to its end, or not at all.
fn url_in(text: &str, place: &Range<usize>, matches: &Matches<'_>) -> Option<Uncovered> {
    let whole = text.get(place.clone())?;
    let start = place.start + whole.find("://")? + 3;
    let rest = text.get(start..place.end)?;
    let length = rest
        .find(['/', '?', '#', '\\', '"', '\''])
        .unwrap_or(rest.len());
    let host = &rest[..length];
    if host.contains('@') || rest.contains('\\') || host.contains('%') {
        return Some(Uncovered::HidesHost(whole.to_owned()));
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
    let is_free = ends_open(0) || is_all_free(text, &at, matches);
    let is_completed =
        !ends_open(0) && ((1..host.len()).any(ends_open) || is_open_at_its_end(text, &at, matches));
    if is_completed || is_free && names_host_behind(text, &(start..place.end), host, matches) {
        return Some(Uncovered::Completed(host.to_owned()));
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
        return Some(Uncovered::Climbs(whole.to_owned()));
    }
    None
}

/// Whether the host that the pattern names stands behind the URL's own: `https://.*\.example\.com/.*` matches
/// `https://evil.example/x.example.com/`, for its wildcard takes in slashes.
fn names_host_behind(text: &str, place: &Range<usize>, host: &str, matches: &Matches<'_>) -> bool {
    let fits = |address: &str| {
        let paths = ["", "/", "/zq", "/Zq7"].into_iter();
        let mut urls = paths.map(|path| replaced(text, place, &format!("{address}{path}")));
        urls.any(|url| matches(&url))
    };
    if fits(host) || fits("zq.invalid") {
        return false;
    }
    let behind = text
        .get(place.start + host.len()..place.end)
        .unwrap_or_default();
    behind
        .split(['/', '?', '#', '&', '=', '"', '\''])
        .filter(|part| part.contains('.'))
        .any(fits)
}

/// Whether a wildcard takes in the end of the host at `place` and not all of it.
///
/// A port and the last number of an address are not names that somebody else could register.
fn is_open_at_its_end(text: &str, place: &Range<usize>, matches: &Matches<'_>) -> bool {
    let host = text.get(place.clone()).unwrap_or_default();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if digits(port) => name,
        _ => host,
    };
    if name.rsplit('.').next().is_none_or(digits) {
        return false;
    }
    let name = place.start..place.start + name.len();
    let free: Vec<bool> = free_letters(text, &name, matches).collect();
    free.last() == Some(&true) && free.contains(&false)
}
