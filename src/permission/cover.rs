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
use super::effort::{Backtracks, Effort};
use super::pattern::{Pattern, PatternScope};
use super::shell::{Risk, Simple, Word};
use super::spelled;

/// Text that no pattern spells.
const STRANGE: &str = "Zq7";

/// Text that only a wildcard for everything takes in: all signs of a keyboard, and blanks between them.
const ANYTHING: &str = "Zq7 -Zq7 --zq7=/zq7/../Zq7 'Zq7' \"zq7\" \\ ; | & $(zq7) `zq7` < > * ? [z] {z,q} ~ # ! @ % ^ , . : + _ 0 9";

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
    effort: &Effort,
) -> Option<Uncovered> {
    let tool = &action.tool;
    let suffix = action.suffix(&command.text);
    let before = format!("tool:{tool}:");
    let trial = Trial::new(pattern, effort, &before, &command.text, &suffix);
    let of_suffix = format!("tool:{tool}:{}", command.text);
    let beside = Trial::new(pattern, effort, &of_suffix, &suffix, "");
    let excluded = || match pattern.scope(tool) {
        PatternScope::AllBut => {
            let mut forms = command.forms().into_iter();
            forms.find(|form| !trial.fits(&trial.whole(), form))
        }
        PatternScope::Everything | PatternScope::Narrow => None,
    };
    // As soon as nothing is left to try with, the answer is known.
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

/// Why `pattern`, which matches the URL of `tool`, does not cover it.
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

/// Tries changes of a text on one pattern, as far as the effort is left.
struct Trial<'a> {
    pattern: &'a Pattern,
    effort: &'a Effort,
    before: &'a str,
    text: &'a str,
    after: &'a str,
    gave_up: Cell<bool>,
}

impl<'a> Trial<'a> {
    /// Changes will be made in `text`, between `before` and `after`.
    fn new(
        pattern: &'a Pattern,
        effort: &'a Effort,
        before: &'a str,
        text: &'a str,
        after: &'a str,
    ) -> Self {
        Self {
            pattern,
            effort,
            before,
            text,
            after,
            gave_up: Cell::new(false),
        }
    }

    fn whole(&self) -> Range<usize> {
        0..self.text.len()
    }

    /// Whether the pattern still matches with `other` at `place`. What cannot be tried counts as a wildcard, and as
    /// [`Uncovered::Untried`].
    fn fits(&self, place: &Range<usize>, other: &str) -> bool {
        self.fits_cut(self.text, place, other)
    }

    /// The same with `text`, a beginning of this one.
    fn fits_cut(&self, text: &str, place: &Range<usize>, other: &str) -> bool {
        // No text is built that is not tried.
        if self.is_over() {
            return true;
        }
        let changed = format!(
            "{}{}{other}{}{}",
            self.before,
            text.get(..place.start).unwrap_or_default(),
            text.get(place.end..).unwrap_or_default(),
            self.after
        );
        self.pattern
            .matches_within(&changed, self.effort)
            .unwrap_or_else(|_| {
                self.gave_up.set(true);
                true
            })
    }

    /// Whether the pattern spells all letters at `places`; `None` where that is found by trying only.
    fn spells(&self, places: &[Range<usize>]) -> Option<bool> {
        if self.is_over() {
            return Some(false);
        }
        let expression = self.pattern.spelled()?;
        let marked = spelled::mark(self.text, places)?;
        let text = format!("{}{marked}{}", self.before, self.after);
        if !self.effort.may_match(text.len(), Backtracks::Never) {
            return Some(false);
        }
        Some(expression.is_match(&text))
    }

    fn is_over(&self) -> bool {
        self.gave_up.get() || self.effort.is_spent()
    }

    fn failed(&self) -> Option<Uncovered> {
        self.is_over().then_some(Uncovered::Untried)
    }
}

/// The words `in` and `with hooks` must be spelled, or `make( .*)?` would mean `make` in any folder.
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
        let word = command.text.get(place.clone()).unwrap_or_default();
        let mut others = neighbours(word);
        if is_whole(place) {
            others.push(format!("{word}{STRANGE}"));
        }
        others.iter().any(|other| trial.fits(place, other))
            || free_letters(trial, place).any(|is_free| is_free)
    })?;
    let word = command.text.get(swallowed)?;
    Some(Uncovered::Swallowed(word.to_owned()))
}

/// The first of `places` that the pattern does not spell. `is_loose` tries one of them where that is not known otherwise.
fn unspelled(
    trial: &Trial<'_>,
    places: &[Range<usize>],
    is_loose: impl Fn(&Range<usize>) -> bool,
) -> Option<Range<usize>> {
    /// Places that are tried one by one, to name the right one.
    const TRIED: usize = 8;
    let first = places.first()?;
    match trial.spells(places) {
        Some(true) => None,
        Some(false) => {
            let mut some = places.iter().take(TRIED);
            let found = some.find(|place| {
                trial.spells(std::slice::from_ref(*place)) == Some(false) && !trial.is_over()
            });
            Some(found.unwrap_or(first).clone())
        }
        None => places
            .iter()
            .take_while(|_| !trial.is_over())
            .find(|place| is_loose(place))
            .cloned(),
    }
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
                let mut changed = word.to_owned();
                changed.replace_range(index..index + 1, &other.to_string());
                others.push(changed);
            }
        }
    }
    others
}

/// For each letter and digit at `place`, whether a wildcard matched it.
///
/// A wildcard did if two of the four letters next to it in the alphabet match as well: a range of three or more that
/// contains the letter contains two of them. A single one may be spelled: `bash|dash`.
fn free_letters<'a>(
    trial: &'a Trial<'_>,
    place: &Range<usize>,
) -> impl Iterator<Item = bool> + use<'a> {
    let bytes = trial.text.as_bytes();
    let bytes = bytes.get(place.clone()).unwrap_or_default();
    let letters = bytes.iter().zip(place.clone());
    letters
        .take_while(|_| !trial.is_over())
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
                .filter(|other| trial.fits(&(at..at + 1), &char::from(*other).to_string()))
                .nth(1)
                .is_some()
        })
}

/// Whether wildcards matched all letters at `place`, and there are any.
fn is_all_free(trial: &Trial<'_>, place: &Range<usize>) -> bool {
    let mut free = free_letters(trial, place).peekable();
    free.peek().is_some() && free.all(|is_free| is_free)
}

/// A wildcard must not complete the name of a program, nor the subcommand of a program that takes one.
fn completed(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    const WITH_SUBCOMMANDS: [&str; 7] = ["git", "cargo", "gh", "npm", "docker", "kubectl", "doctl"];
    let (program, arguments) = command.words.split_first()?;
    let subcommand = arguments
        .first()
        .filter(|word| WITH_SUBCOMMANDS.contains(&program.value()) && !word.is_option());
    for word in [Some(program), subcommand].into_iter().flatten() {
        let place = word.place();
        let name = command.text.get(place.clone())?;
        let is_of_version = |c: char| c.is_ascii_digit() || c == '.';
        // `python.*` is `python3.12` too.
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

/// `docs/../../x` is `../x`, and a pattern must match it as such too.
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
fn spills(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    let operands: Vec<_> = command
        .arguments()
        .iter()
        .filter(|word| !word.is_option())
        .collect();
    let free_from = |other: &str| {
        let mut operands = operands.iter().take_while(|_| !trial.is_over());
        operands.position(|word| trial.fits(&(word.place().start..command.text.len()), other))
    };
    // From here on a wildcard takes in whatever stands there, so that it begins inside none of these.
    let all_free = free_from(STRANGE);
    // From here on one takes in any number of any words: none of them is bound to anything.
    let unbound = free_from(ANYTHING).unwrap_or(operands.len());
    for (index, word) in operands.iter().enumerate().take(unbound) {
        if trial.is_over() {
            return None;
        }
        let place = word.place();
        let source = command.text.get(place.clone())?;
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
        let alone = command.text.get(..place.end)?;
        for later in operands
            .iter()
            .skip(index + 1)
            .take_while(|_| !trial.is_over())
        {
            let other = command.text.get(later.place())?;
            let is_free = trial.fits(&later.place(), STRANGE) || is_all_free(trial, &later.place());
            // What would be allowed in place of the first argument is allowed after it.
            let fits = trial.fits_cut(alone, &place, &direct_path(other));
            if is_free && !fits && !is_number(other) {
                return Some(Uncovered::Spills(other.to_owned()));
            }
        }
    }
    None
}

fn urls(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    let arguments = || {
        let words = command.arguments().iter();
        words.take_while(|_| !trial.is_over())
    };
    let is_url = |word: &&Word| word.value().contains("://");
    if let Some(uncovered) = arguments()
        .filter(is_url)
        .find_map(|word| url_in(trial, &word.place()))
    {
        return Some(uncovered);
    }
    // When the pattern determines one URL, it must determine all of them.
    let free = |place: &Range<usize>| trial.fits(place, STRANGE);
    if arguments().filter(is_url).all(|word| free(&word.place())) {
        return None;
    }
    let is_fetcher = is_fetcher(command);
    arguments()
        .filter(|word| !word.is_option() && (is_url(word) || is_fetcher))
        .find(|word| free(&word.place()) || is_all_free(trial, &word.place()))
        .map(|word| Uncovered::Spills(word.value().to_owned()))
}

fn is_fetcher(command: &Simple) -> bool {
    command
        .words
        .first()
        .is_some_and(|program| matches!(program.value(), "curl" | "wget" | "http" | "xh"))
}

/// The URL at `place` of `text`: its host must be determined up to its end, or not at all.
fn url_in(trial: &Trial<'_>, place: &Range<usize>) -> Option<Uncovered> {
    let text = trial.text;
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
    if trial.spells(std::slice::from_ref(&at)) != Some(true) {
        let ends_open = |end: usize| {
            let begins = host.get(..end);
            begins.is_some_and(|begins| trial.fits(&at, &format!("{begins}{STRANGE}.invalid")))
        };
        let is_open = ends_open(0);
        let is_free = is_open || is_all_free(trial, &at);
        let is_completed =
            !is_open && ((1..host.len()).any(ends_open) || is_open_at_its_end(trial, &at));
        if is_completed || is_free && names_host_behind(trial, &(start..place.end), host) {
            return Some(Uncovered::Completed(host.to_owned()));
        }
    }
    let path_place = at.end..place.end;
    let path = text
        .get(path_place.clone())?
        .replace("%2e", ".")
        .replace("%2E", ".")
        .replace("%2f", "/")
        .replace("%2F", "/");
    if path.split(['/', '\\']).any(|part| part == "..")
        && !trial.fits(&path_place, &direct_path(&path))
    {
        return Some(Uncovered::Climbs(whole.to_owned()));
    }
    None
}

/// Whether the host that the pattern names stands behind the URL's own: `https://.*\.example\.com/.*` matches
/// `https://evil.example/x.example.com/`, for its wildcard takes in slashes.
fn names_host_behind(trial: &Trial<'_>, place: &Range<usize>, host: &str) -> bool {
    let fits = |address: &str| {
        let paths = ["", "/", "/zq", "/Zq7"].into_iter();
        let mut urls = paths.map(|path| format!("{address}{path}"));
        urls.any(|url| trial.fits(place, &url))
    };
    if fits(host) || fits("zq.invalid") {
        return false;
    }
    let behind = trial
        .text
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
fn is_open_at_its_end(trial: &Trial<'_>, place: &Range<usize>) -> bool {
    let host = trial.text.get(place.clone()).unwrap_or_default();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if digits(port) => name,
        _ => host,
    };
    if name.rsplit('.').next().is_none_or(digits) {
        return false;
    }
    let name = place.start..place.start + name.len();
    let free: Vec<bool> = free_letters(trial, &name).collect();
    free.last() == Some(&true) && free.contains(&false)
}
