//! Splits one reply into messages Discord accepts.
//!
//! Discord refuses a message over 2000 characters and does not carry a code fence from one message to the next, so
//! code that must be cut is closed and reopened. [`outline`](super::outline) knows where a text may be cut.

use unicode_segmentation::UnicodeSegmentation;

use super::code::{FENCE, is_escaped};
use super::dialect::for_discord;
use super::outline::{Code, Cut, Outline, Rank, begins_block};

#[cfg(test)]
mod tests;

/// Most characters one Discord message may hold.
pub const PART_CHARS: usize = 2000;

/// Most messages of a reply; a longer one is posted as a file.
pub const MAX_PARTS: usize = 10;

/// Characters that close code at a cut, at most: a fence in a line of its own.
const CLOSING: usize = 1 + FENCE.len();

/// A reply as Discord takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// As messages, in order; empty if there is nothing to post.
    Parts(Vec<String>),
    /// As one file, because it is too long for a channel.
    File,
}

/// Splits `reply` into parts that each fit in one message, in order.
///
/// Cuts are made between paragraphs, items, lines, sentences or words, in that order. A character as readers see it is
/// never cut, unless it is longer than a message.
///
/// The parts are in Discord's dialect ([`for_discord`]); the file is left to the caller.
pub fn split(reply: &str) -> Split {
    // Discord's dialect rarely has less than half the characters.
    if reply.chars().nth(2 * MAX_PARTS * PART_CHARS).is_some() {
        return Split::File;
    }
    let reply = for_discord(reply);
    let reply = reply.trim_end().trim_start_matches(['\n', '\r']);
    let mut chars = reply.chars();
    if chars.by_ref().take(PART_CHARS).count() < PART_CHARS || chars.clone().next().is_none() {
        return Split::Parts(Vec::from_iter(
            (!reply.is_empty()).then(|| reply.to_owned()),
        ));
    }
    if chars.nth((MAX_PARTS - 1) * PART_CHARS).is_some() {
        return Split::File;
    }
    let parts = pieces(reply, PART_CHARS);
    if parts.len() > MAX_PARTS {
        Split::File
    } else {
        Split::Parts(parts)
    }
}

/// Cuts a text, already in Discord's dialect, into pieces of at most `most` characters, in order.
pub fn pieces(text: &str, most: usize) -> Vec<String> {
    let outline = Outline::of(text);
    let splitter = Splitter {
        text,
        outline,
        most,
    };
    splitter.parts()
}

struct Splitter<'a> {
    text: &'a str,
    outline: Outline,
    /// Characters of a piece.
    most: usize,
}

impl Splitter<'_> {
    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let mut start = 0;
        let mut open: Option<&Code> = None;
        let closing = if self.outline.codes.is_empty() {
            0
        } else {
            CLOSING
        };
        while start < self.text.len() {
            let prefix = open
                .map(|code| code.reopened(&self.text[start..]))
                .unwrap_or_default();
            let room = self.most - prefix.chars().count();
            let (end, next) = if self.fits(start, room) {
                (self.text.len(), self.text.len())
            } else {
                self.cut(start, room - closing)
            };
            open = self
                .outline
                .code_around(end)
                .filter(|_| next < self.text.len());
            let body = &self.text[start..end];
            let body = if open.is_some_and(Code::is_block) {
                body.trim_end_matches('\n')
            } else {
                body.trim_end()
            };
            if !body.trim().is_empty() {
                let close = open.map(|code| code.closed(body)).unwrap_or_default();
                parts.push(format!("{prefix}{body}{close}"));
            }
            start = next;
        }
        parts
    }

    fn fits(&self, start: usize, room: usize) -> bool {
        self.text[start..].chars().nth(room).is_none()
    }

    /// Returns the end of the part that begins at `start`, and the beginning of the next.
    fn cut(&self, start: usize, room: usize) -> (usize, usize) {
        let limit = self.text[start..]
            .char_indices()
            .nth(room)
            .map_or(self.text.len(), |(index, _)| start + index);
        let cuts = self.outline.between(start, limit);
        let best = self
            .keeps_block_whole(cuts, room)
            .or_else(|| {
                Rank::ALL
                    .into_iter()
                    .find_map(|rank| well_filled(cuts, rank, start, limit))
            })
            .or_else(|| cuts.iter().max_by_key(|cut| cut.end));
        match best {
            Some(cut) => (cut.end, cut.next),
            None => {
                let end = self.last_grapheme(start, limit);
                (end, end)
            }
        }
    }

    /// Returns the cut before a table, list or code that does not fit here but fits into a message of its own.
    fn keeps_block_whole<'c>(&self, cuts: &'c [Cut], room: usize) -> Option<&'c Cut> {
        let last = cuts.iter().rev().find(|cut| cut.rank == Rank::Block)?;
        let block = self.outline.whole_block_at(last.next)?;
        (self.text[block].chars().count() <= room).then_some(last)
    }

    /// Returns the end of the last whole grapheme cluster before `limit` that separates no marks; `limit` itself when
    /// there is none.
    fn last_grapheme(&self, start: usize, limit: usize) -> usize {
        // One more cluster shows whether the last one before the limit is complete.
        let window = self.text[start..]
            .char_indices()
            .nth(PART_CHARS + 64)
            .map_or(self.text.len(), |(index, _)| start + index);
        self.text[start..window]
            .grapheme_indices(true)
            .map(|(index, _)| start + index)
            .take_while(|end| *end <= limit)
            .filter(|end| *end > start && !self.parts_marks(*end))
            .last()
            .unwrap_or(limit)
    }

    /// Returns whether a cut at `end` would begin a block where there was none, split a mark or separate it from the
    /// backslash before it, or leave code without content.
    fn parts_marks(&self, end: usize) -> bool {
        let (before, rest) = self.text.split_at(end);
        let is_in_run = before.ends_with('`') && rest.starts_with('`');
        let leaves_a_mark_alone = || {
            self.outline
                .code_around(end)
                .is_some_and(|code| !code.bears(self.text, end..end))
        };
        is_in_run || is_escaped(self.text, end) || begins_block(rest) || leaves_a_mark_alone()
    }
}

/// Returns the last cut of `rank` that leaves no part nearly empty.
fn well_filled(cuts: &[Cut], rank: Rank, start: usize, limit: usize) -> Option<&Cut> {
    let least = start + (limit - start) / 4;
    cuts.iter()
        .rev()
        .find(|cut| cut.rank == rank && cut.end >= least)
}
