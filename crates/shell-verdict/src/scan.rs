//! Parts of the raw text that bash reads differently from the parser, or a person differently from both.

use std::borrow::Cow;
use std::sync::LazyLock;

use chorus_text::{is_hidden, look_alikes, one_line};
use regex::Regex;

/// Returns why no narrow pattern may allow the text, if so.
pub(super) fn doubt(command: &str) -> Option<String> {
    if command.contains("\\\n") {
        return Some("a backslash joins two of its lines".to_owned());
    }
    if let Some(c) = command.chars().find(|c| is_hidden(*c)) {
        return Some(format!(
            "it holds the hidden character U+{:04X}",
            u32::from(c)
        ));
    }
    let (word, plain) = look_alikes([command]).into_iter().next()?;
    Some(format!(
        "`{}` looks like `{}`",
        one_line(&word, 40),
        one_line(&plain, 40)
    ))
}

/// Most brackets, bars and redirections in a text that is parsed.
///
/// The parser takes quadratic time for some chains of them. It reads this many within a few milliseconds, and no person
/// writes as many outside a file's content.
const MAX_TANGLES: usize = 600;

/// Returns whether parsing `command` could take too long.
pub(super) fn is_tangled(command: &str) -> bool {
    let tangles = |text: &str| {
        text.bytes().filter(|byte| b"(|<".contains(byte)).count() + text.matches("${").count()
    };
    match heredoc_of_first_line(command) {
        Some((first, rest)) => tangles(first) + tangles(rest) > MAX_TANGLES,
        None => tangles(command) > MAX_TANGLES,
    }
}

/// A character after a brace, with or without the digits of a range in between, that the parser must not see.
const BEHIND_BRACE: &str = r"\{[0-9]*(?:\.\.[0-9]*)?([^\x{0}-\x{FF}])";

/// Returns the text that the parser reads instead of `command`, with as many bytes; `None` if that could mean something
/// else.
///
/// After a brace its scanner calls C's `isdigit` with any character. That reads a table of 384 entries without a bounds
/// check, and crashes the process for characters beyond plane 14. No such character is a digit, so it is replaced with
/// letters. Letters could end a here-document whose delimiter has a brace, so nothing is read if there is such a
/// delimiter.
pub(super) fn for_parser(command: &str) -> Option<Cow<'_, [u8]>> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(BEHIND_BRACE).ok());
    if command.is_ascii() {
        return Some(Cow::Borrowed(command.as_bytes()));
    }
    let found = PATTERN.as_ref()?.captures_iter(command);
    let places: Vec<_> = found
        .filter_map(|found| Some(found.get(1)?.range()))
        .collect();
    if places.is_empty() {
        return Some(Cow::Borrowed(command.as_bytes()));
    }
    let may_delimit = |line: &str| line.contains("<<") && line.contains('{');
    if command.contains("\\\n") || command.lines().any(may_delimit) {
        return None;
    }
    let mut bytes = command.as_bytes().to_vec();
    for place in places {
        bytes.get_mut(place)?.fill(b'x');
    }
    Some(Cow::Owned(bytes))
}

/// Returns the parts of `command` around a here-document that its first line begins: `cat > x <<'EOF'`.
///
/// Only if nothing on that line could make the parser read it differently.
fn heredoc_of_first_line(command: &str) -> Option<(&str, &str)> {
    let (first, rest) = command.split_once('\n')?;
    let (before, after) = first.split_once("<<")?;
    let is_plain = |text: &str| {
        text.chars()
            .all(|c| c.is_alphanumeric() || " ./>_-".contains(c))
    };
    let word = after.trim_start_matches('-').trim();
    let delimiter = word.trim_matches(['\'', '"']);
    let is_word = !delimiter.is_empty()
        && delimiter
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let body: usize = rest
        .split_inclusive('\n')
        .take_while(|line| line.trim() != delimiter)
        .map(str::len)
        .sum();
    // Only a quoted delimiter makes the body mere text.
    let is_text = word.len() == delimiter.len() + 2;
    (is_plain(before) && is_word && is_text).then(|| (first, rest.get(body..).unwrap_or_default()))
}

/// Returns the readings of `command` besides the plain one that a deny must also be matched against.
///
/// Bash joins lines that end in a backslash before it reads them, even inside words. For bash, control characters are
/// parts of words; for the parser they are blanks.
pub(super) fn other_readings(command: &str) -> Vec<String> {
    let mut readings = Vec::new();
    if command.contains("\\\n") {
        readings.push(command.replace("\\\n", ""));
    }
    let is_odd = |c: char| is_hidden(c);
    if command.contains(is_odd) {
        readings.push(command.replace(is_odd, " "));
        readings.push(command.replace(is_odd, ""));
    }
    readings
}
