//! Replaces a piece of text that a model quoted, and explains if the quoted text is missing. Pure.

use std::ops::Range;

use super::error::ToolError;
use super::files::MOST_EDITED;
use super::lines::{self, Ending};
use crate::workspace::WorkspacePath;

/// Most lines that are compared with the first line of the piece.
const COMPARED: usize = 20_000;

/// Longest such line in bytes; each of the lines above is compared with all of it.
const LONGEST_WANTED: usize = 500;

/// Most occurrences of a piece.
const MOST_PLACES: usize = 1_000_000;

/// Below this, two lines have little in common.
const LIKENESS: f64 = 0.6;

/// A text in which a piece was found.
pub(super) struct Found {
    /// Its occurrences as byte ranges, in order and without overlap.
    pub(super) places: Vec<Range<usize>>,
    new: String,
}

/// Finds `old` in `text`, with the text's own line endings if necessary.
pub(super) fn find(
    path: &WorkspacePath,
    text: &str,
    old: &str,
    new: &str,
) -> Result<Found, ToolError> {
    if old.is_empty() {
        return Err(ToolError::rejected(
            "`old_str` is empty; quote what to replace, or use insert_at",
        ));
    }
    if old == new {
        return Err(ToolError::rejected("`old_str` and `new_str` are the same"));
    }
    let ending = Ending::of(text);
    let mut places = places(text, old);
    if places.is_empty() && ending == Ending::Windows {
        places = self::places(text, &ending.apply(old));
    }
    if places.is_empty() {
        return Err(ToolError::Rejected(absent(path, text, old)));
    }
    if places.len() > MOST_PLACES {
        return Err(ToolError::Rejected(format!(
            "`old_str` occurs more than a million times in `{path}`; use the shell"
        )));
    }
    let new = match ending {
        Ending::Windows => ending.apply(new),
        Ending::Unix => new.to_owned(),
    };
    let added = new.len().saturating_mul(places.len());
    let removed: usize = places.iter().map(Range::len).sum();
    if added.saturating_add(text.len() - removed) > MOST_EDITED {
        return Err(ToolError::Rejected(format!(
            "`{path}` would have more than 16 MiB; use the shell"
        )));
    }
    Ok(Found { places, new })
}

impl Found {
    /// Returns `text` with all occurrences replaced, and the first and last line of the first one.
    pub(super) fn replaced(&self, text: &str) -> (String, usize, usize) {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for place in &self.places {
            out.push_str(&text[done..place.start]);
            out.push_str(&self.new);
            done = place.end;
        }
        out.push_str(&text[done..]);
        let start = self.places.first().map_or(0, |place| place.start);
        let first = lines::number_at(&out, start);
        let new_lines = self.new.trim_end_matches('\n').matches('\n').count();
        (out, first, first + new_lines)
    }

    /// Returns the lines where the occurrences begin, at most ten.
    pub(super) fn line_numbers(&self, text: &str) -> String {
        const NAMED: usize = 10;
        let numbers: Vec<String> = self
            .places
            .iter()
            .take(NAMED)
            .map(|place| lines::number_at(text, place.start).to_string())
            .collect();
        let more = if self.places.len() > NAMED {
            ", …"
        } else {
            ""
        };
        format!("{}{more}", numbers.join(", "))
    }
}

fn places(text: &str, piece: &str) -> Vec<Range<usize>> {
    text.match_indices(piece)
        .take(MOST_PLACES + 1)
        .map(|(at, found)| at..at + found.len())
        .collect()
}

/// Returns the error that `old` is missing, with the lines most similar to its first one.
fn absent(path: &WorkspacePath, text: &str, old: &str) -> String {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty());
    let wanted = wanted.filter(|wanted| wanted.len() <= LONGEST_WANTED);
    let nearest = wanted.map_or_else(Vec::new, |wanted| nearest(text, wanted));
    if nearest.is_empty() {
        return format!(
            "`old_str` does not occur in `{path}`; view the file and quote it to the letter"
        );
    }
    format!(
        "`old_str` does not occur in `{path}`, quote it to the letter, with its white space; nearest lines:\n{}",
        nearest.join("\n")
    )
}

fn nearest(text: &str, wanted: &str) -> Vec<String> {
    let mut alike: Vec<(f64, usize, &str)> = text
        .lines()
        .take(COMPARED)
        .enumerate()
        .filter(|(_, line)| line.len() < 4 * wanted.len() + 40)
        .map(|(index, line)| (strsim::sorensen_dice(line.trim(), wanted), index + 1, line))
        .filter(|(likeness, _, _)| *likeness >= LIKENESS)
        .collect();
    alike.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    alike
        .iter()
        .take(3)
        .map(|(_, number, line)| lines::numbered(*number, line))
        .collect()
}
