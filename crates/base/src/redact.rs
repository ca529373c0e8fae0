//! Keeps secrets out of everything that leaves the daemon.
//!
//! The redactor knows the values of the configured secrets, so it removes exactly these. It also knows each value in
//! Base64 at every alignment, in hexadecimal, and with any of its characters in URL encoding. It also masks tokens of
//! well-known shapes that are not ours, and the remains of a value where a text was cut.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use regex::{Regex, RegexBuilder};

use super::{long, shapes};

#[cfg(test)]
mod tests;

pub use super::shapes::PLACEHOLDER;

/// Shortest value, in bytes, that is treated as a secret: masking `main` or `1234` everywhere would hide nothing and
/// break much.
const SHORTEST: usize = 8;

/// Length in bytes from which a single line of a secret counts as a secret: a key shown in part is a key shown.
const SECRET_LINE: usize = 20;

/// Marks the place where a text was cut.
const CUT: char = '…';

/// Most bytes that a stream holds back while something in it may still become a secret.
const MOST_HELD: usize = 32 * 1024;

/// Removes configured secrets and tokens of known shapes from text. A clone is cheap and shares newly learned secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<ArcSwap<Known>>,
}

/// The known secrets, in all their spellings.
#[derive(Default)]
struct Known {
    values: Vec<String>,
    /// Each as written, and each of its lines that counts as a secret.
    plain: Vec<String>,
    /// All runs of 8 bytes in them: the remains of a cut secret begin and end with one.
    runs: HashSet<[u8; SHORTEST]>,
    secrets: Option<Regex>,
    /// Whether a secret contains white space, so that a stream cannot be cut at white space.
    holds_blanks: bool,
    /// Longest spelling of a secret in bytes.
    longest: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// Creates a redactor for these secrets. Values of fewer than 8 bytes are ignored.
    pub fn new(secrets: Vec<String>) -> Self {
        Self {
            known: Arc::new(ArcSwap::from_pointee(Known::of(secrets))),
        }
    }

    /// Adds these secrets from now on.
    pub fn learn(&self, secrets: Vec<String>) {
        let known = self.known.load();
        if secrets.iter().all(|secret| known.values.contains(secret)) {
            return;
        }
        let all = known.values.iter().cloned().chain(secrets).collect();
        self.known.store(Arc::new(Known::of(all)));
    }

    /// Returns `text` without secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        long::work_on(text.len(), || self.known.load().redact(text))
    }

    /// Creates a redactor for a text that comes in pieces.
    pub fn stream(&self) -> RedactedStream {
        RedactedStream {
            known: self.known.load_full(),
            held: String::new(),
            looks_at: 0,
        }
    }
}

/// Applies `change` to `text`, without a copy if nothing changes.
fn then<'a>(text: Cow<'a, str>, change: impl FnOnce(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => change(text),
        Cow::Owned(text) => match change(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(changed) => Cow::Owned(changed),
        },
    }
}

impl Known {
    fn of(values: Vec<String>) -> Self {
        let whole = values.iter().map(|secret| secret.trim());
        let lines = values
            .iter()
            .flat_map(|secret| secret.lines())
            .map(str::trim)
            .filter(|line| line.len() >= SECRET_LINE);
        let mut secrets: Vec<&str> = whole
            .chain(lines)
            .filter(|secret| secret.len() >= SHORTEST)
            .collect();
        // Longer ones first: a secret may begin with another.
        secrets.sort_by_key(|secret| (std::cmp::Reverse(secret.len()), *secret));
        secrets.dedup();
        let spellings: Vec<String> = secrets
            .iter()
            .flat_map(|secret| spellings(secret))
            .collect();
        if spellings.is_empty() {
            return Self {
                values,
                ..Self::default()
            };
        }
        Self {
            secrets: RegexBuilder::new(&spellings.join("|"))
                .size_limit(256 << 20)
                .build()
                .ok(),
            holds_blanks: secrets
                .iter()
                .any(|secret| secret.contains(char::is_whitespace)),
            longest: secrets
                .iter()
                .map(|secret| secret.len() * 3)
                .max()
                .unwrap_or_default(),
            plain: secrets.iter().map(|&secret| secret.to_owned()).collect(),
            runs: secrets
                .iter()
                .flat_map(|secret| secret.as_bytes().array_windows())
                .copied()
                .collect(),
            values,
        }
    }

    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let exact = match &self.secrets {
            Some(secrets) => secrets.replace_all(text, PLACEHOLDER),
            None => Cow::Borrowed(text),
        };
        let shaped = then(exact, shapes::mask);
        then(shaped, |text| self.mask_cut(text))
    }

    /// Returns `text` without the remains of a secret at a place where something was cut out, marked by [`CUT`].
    fn mask_cut<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = String::new();
        let mut done = 0;
        for (at, cut) in text.match_indices(CUT) {
            if at < done {
                continue;
            }
            let after = at + cut.len();
            let begun = self.begun_at_end(&text[done..at]);
            let ended = self.ended_at_start(&text[after..]);
            if begun + ended == 0 {
                continue;
            }
            masked.push_str(&text[done..at - begun]);
            masked.push_str(PLACEHOLDER);
            masked.push_str(cut);
            done = after + ended;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        masked.push_str(&text[done..]);
        Cow::Owned(masked)
    }

    /// Returns how many bytes at the end of `text` are the beginning of a secret: at least 8, or none.
    fn begun_at_end(&self, text: &str) -> usize {
        let last = text.as_bytes().last_chunk();
        if !last.is_some_and(|run| self.runs.contains(run)) {
            return 0;
        }
        let parts = self.plain.iter().flat_map(|secret| {
            let sizes = SHORTEST..secret.len();
            sizes.filter_map(|size| secret.get(..size))
        });
        let begun = parts.filter(|part| text.ends_with(part));
        begun.map(str::len).max().unwrap_or_default()
    }

    /// Returns how many bytes at the beginning of `text` are the end of a secret: at least 8, or none.
    fn ended_at_start(&self, text: &str) -> usize {
        let first = text.as_bytes().first_chunk();
        if !first.is_some_and(|run| self.runs.contains(run)) {
            return 0;
        }
        let parts = self.plain.iter().flat_map(|secret| {
            let starts = 1..=secret.len().saturating_sub(SHORTEST);
            starts.filter_map(|start| secret.get(start..))
        });
        let ended = parts.filter(|part| text.starts_with(part));
        ended.map(str::len).max().unwrap_or_default()
    }

    /// Returns `place`, or the beginning of the secret that contains it.
    fn before_any_across(&self, text: &str, place: usize) -> usize {
        let across = |found: &regex::Match<'_>| found.start() < place && place < found.end();
        let secret = self
            .secrets
            .as_ref()
            .and_then(|secrets| secrets.find_iter(text).find(across));
        let place = secret.map_or(place, |found| found.start());
        shapes::find(text)
            .find(|found| found.start() < place && place < found.end())
            .map_or(place, |found| found.start())
    }
}

/// Redacts a text that comes in pieces, wherever it is cut.
///
/// Text that may still become a secret is held back until more has come or the text ends.
pub struct RedactedStream {
    known: Arc<Known>,
    held: String,
    /// Held bytes at which it is searched again, so that not every piece causes a search.
    looks_at: usize,
}

impl fmt::Debug for RedactedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactedStream").finish_non_exhaustive()
    }
}

impl RedactedStream {
    /// Takes the next piece and returns what is safe to show.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        if self.held.len() < self.looks_at {
            return String::new();
        }
        let safe = self.safe();
        let shown = self.known.redact(&self.held[..safe]).into_owned();
        self.held.drain(..safe);
        self.looks_at = self.held.len() + self.held.len() / 8;
        shown
    }

    /// Ends the text and returns the rest of it.
    pub fn finish(self) -> String {
        self.known.redact(&self.held).into_owned()
    }

    /// Returns how many held bytes cannot be part of an unfinished secret.
    fn safe(&self) -> usize {
        let held = self.held.as_str();
        let mut safe = last_gap(held);
        if let Some(open) = shapes::unfinished(held) {
            safe = safe.min(open);
        }
        if self.known.holds_blanks {
            let late = held.len().saturating_sub(self.known.longest);
            safe = safe.min(last_gap(&held[..held.floor_char_boundary(late)]));
        }
        if held.len() - safe > MOST_HELD.max(2 * self.known.longest) {
            // No token is that long. Keep only the bytes that a secret could still need.
            safe = held.floor_char_boundary(held.len() - self.known.longest.max(1024));
        }
        self.known.before_any_across(held, safe)
    }
}

/// Returns the beginning of the last word of `text`. Lines of Base64 belong to one word, because encoders break them.
fn last_gap(text: &str) -> usize {
    let is_code = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    let mut start = text.len();
    loop {
        let word = text[..start].rfind(char::is_whitespace).map_or(0, |blank| {
            blank + text[blank..].chars().next().map_or(1, char::len_utf8)
        });
        start = word;
        let before = text[..start].trim_end_matches(['\r', '\n']);
        let broke_here = before.len() < start
            && !before.is_empty()
            && text[before.len()..start].matches('\n').count() == 1;
        let line = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        if !broke_here || line.len() < 60 || !line.bytes().all(is_code) {
            return start;
        }
        start = before.len();
    }
}

/// Returns patterns for every spelling of `secret`.
fn spellings(secret: &str) -> Vec<String> {
    let mut spellings = vec![url_encoded(secret)];
    let json = serde_json::Value::from(secret).to_string();
    if json.len() > secret.len() + 2 {
        spellings.push(regex::escape(&json[1..json.len() - 1]));
    }
    for offset in 0..3 {
        spellings.extend(base64_at(secret, offset));
    }
    spellings.push(hexadecimal(secret));
    spellings
}

/// Returns a pattern for each byte, as it is or in URL encoding; a blank also as `+`.
fn url_encoded(secret: &str) -> String {
    let mut pattern = String::new();
    for c in secret.chars() {
        let mut bytes = [0; 4];
        let encoded: String = c
            .encode_utf8(&mut bytes)
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        let plus = if c == ' ' { r"|\+" } else { "" };
        pattern.push_str(&format!(
            "(?:{}|(?i:{encoded}){plus})",
            regex::escape(&c.to_string())
        ));
    }
    pattern
}

/// Returns the Base64 characters of `secret` after `offset` other bytes, independent of these and of the bytes after
/// it.
fn base64_at(secret: &str, offset: usize) -> Vec<String> {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret.as_bytes());
    // Characters that contain bits of the bytes before or after are left out.
    let first = (offset * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    [
        BASE64_STANDARD.encode(&bytes),
        BASE64_URL_SAFE.encode(&bytes),
    ]
    .iter()
    .filter_map(|code| code.get(first..last))
    .map(|code| {
        // Encoders break lines.
        code.chars()
            .map(|c| regex::escape(&c.to_string()))
            .collect::<Vec<_>>()
            .join(r"(?:\r?\n)?")
    })
    .collect()
}

fn hexadecimal(secret: &str) -> String {
    let digits: Vec<String> = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("(?i:{})", digits.join(r"(?:\r?\n)?"))
}
