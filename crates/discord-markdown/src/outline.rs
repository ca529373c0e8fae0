//! Finds the places where a Markdown text in Discord's dialect may be cut.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::code::{self, FENCE};

/// How little a cut disturbs, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Between two blocks: paragraphs, headings, tables, lists, code.
    Block,
    /// Between two items of a list, or at an empty line.
    Item,
    Line,
    Sentence,
    Word,
    /// Between two words of a link or an emphasis.
    Span,
}

impl Rank {
    pub(super) const ALL: [Self; 6] = [
        Self::Block,
        Self::Item,
        Self::Line,
        Self::Sentence,
        Self::Word,
        Self::Span,
    ];
}

/// A place to cut: the part ends at `end`, the next begins at `next`, with only white space in between.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) end: usize,
    pub(super) next: usize,
    pub(super) rank: Rank,
}

/// Code, as a block or within a line.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// All of it, from the first mark to the last.
    range: Range<usize>,
    /// What is between the marks, without the language of a block.
    inside: Range<usize>,
    mark: String,
    /// The first line of a block, if it names a language.
    language: String,
}

impl Code {
    fn of(text: &str, code: &code::Code<'_>) -> Option<Self> {
        let mut inside = code.inside(text)?;
        let language = if code.mark == FENCE {
            language(&text[inside.clone()])
        } else {
            ""
        };
        inside.start += language.len();
        Some(Self {
            range: code.start..code.end.unwrap_or(text.len()),
            inside,
            mark: code.mark.to_owned(),
            language: language.to_owned(),
        })
    }

    pub(super) fn is_block(&self) -> bool {
        self.mark == FENCE
    }

    /// Returns the text that opens it again before `rest`.
    pub(super) fn reopened(&self, rest: &str) -> String {
        code::opening(&self.mark, &self.language, rest)
    }

    /// Returns the text that closes it after `body`.
    pub(super) fn closed(&self, body: &str) -> String {
        let between = match self.mark.as_str() {
            FENCE => "\n",
            _ if body.ends_with('`') => " ",
            _ => "",
        };
        format!("{between}{}", self.mark)
    }

    /// Returns whether some of it is on both sides of a `cut`. Code without content is not code, and its marks would
    /// open other code.
    pub(super) fn bears(&self, text: &str, cut: Range<usize>) -> bool {
        let is_some =
            |part: Range<usize>| text.get(part).is_some_and(|part| !part.trim().is_empty());
        is_some(self.inside.start..cut.start) && is_some(cut.end..self.inside.end)
    }
}

/// Returns the language of a block and the end of its line, if its first line is one.
fn language(inside: &str) -> &str {
    match inside.split_once('\n') {
        Some((word, _)) if code::is_language(word) => &inside[..=word.len()],
        _ => "",
    }
}

/// The places where a text may be cut, and the blocks around them.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// In order of their end.
    cuts: Vec<Cut>,
    /// In order, as Discord reads it.
    pub(super) codes: Vec<Code>,
    /// Tables, lists and code: the blocks that suffer most from a cut.
    whole: Vec<Range<usize>>,
}

impl Outline {
    /// Reads `text` as Markdown.
    pub(super) fn of(text: &str) -> Self {
        let mut outline = Self {
            codes: code::codes(text)
                .filter_map(|code| Code::of(text, &code))
                .collect(),
            ..Self::default()
        };
        let mut blocks: Vec<usize> = Vec::new();
        let mut items: Vec<usize> = Vec::new();
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut depth = 0_usize;
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    if depth == 0 {
                        blocks.push(range.start);
                        if matches!(tag, Tag::List(_) | Tag::Table(_) | Tag::CodeBlock(_)) {
                            outline.whole.push(range.clone());
                        }
                    }
                    depth += 1;
                    match tag {
                        Tag::Item => items.push(range.start),
                        Tag::Link { .. }
                        | Tag::Image { .. }
                        | Tag::Emphasis
                        | Tag::Strong
                        | Tag::Strikethrough => {
                            spans.push(range);
                        }
                        _ => {}
                    }
                }
                Event::End(_) => depth = depth.saturating_sub(1),
                Event::Rule if depth == 0 => blocks.push(range.start),
                _ => {}
            }
        }
        outline.find_cuts(text, &blocks, &items, &spans);
        outline
    }

    /// Returns the cuts that end after `start` and not after `limit`.
    pub(super) fn between(&self, start: usize, limit: usize) -> &[Cut] {
        let first = self.cuts.partition_point(|cut| cut.end <= start);
        let last = self.cuts.partition_point(|cut| cut.end <= limit);
        &self.cuts[first..last.max(first)]
    }

    /// Returns the code that a cut at `end` would break.
    pub(super) fn code_around(&self, end: usize) -> Option<&Code> {
        let next = self.codes.partition_point(|code| code.range.start < end);
        self.codes[..next]
            .last()
            .filter(|code| end < code.range.end)
    }

    /// Returns the table, list or code that begins at `start`, after spaces.
    pub(super) fn whole_block_at(&self, start: usize) -> Option<Range<usize>> {
        let index = self.whole.partition_point(|block| block.start < start);
        self.whole
            .get(index)
            .filter(|block| block.start < start + 4)
            .cloned()
    }

    fn find_cuts(&mut self, text: &str, blocks: &[usize], items: &[usize], spans: &[Range<usize>]) {
        let mut line_start = 0;
        for line in text.split_inclusive('\n') {
            self.cuts_within(text, line_start, line, spans);
            let end = line_start + line.trim_end_matches(['\n', '\r']).len();
            let next = line_start + line.len();
            if next < text.len() && line.ends_with('\n') {
                self.cuts.push(Cut {
                    end,
                    next,
                    rank: Rank::Line,
                });
            }
            line_start = next;
        }
        self.raise(text, items, Rank::Item);
        self.raise(text, blocks, Rank::Block);
        self.drop_cuts_beside_marks(text);
    }

    /// Adds cuts between sentences and words of one line. Code is cut only between lines, unless there is no other way.
    fn cuts_within(&mut self, text: &str, start: usize, line: &str, spans: &[Range<usize>]) {
        if self.code_around(start + 1).is_some_and(Code::is_block) {
            return;
        }
        let mut before = ' ';
        for (index, c) in line.char_indices() {
            if c.is_whitespace() && !before.is_whitespace() && c != '\n' {
                let end = start + index;
                let next =
                    end + line[index..].len() - line[index..].trim_start_matches([' ', '\t']).len();
                let in_span = covers(spans, end) || self.code_around(end).is_some();
                let rank = match (in_span, ".!?…。！？:;".contains(before)) {
                    (true, _) => Rank::Span,
                    (false, true) => Rank::Sentence,
                    (false, false) => Rank::Word,
                };
                if next > end && next < text.len() && !begins_block(&text[next..]) {
                    self.cuts.push(Cut { end, next, rank });
                }
            }
            before = c;
        }
    }

    /// Gives the line cuts right before each of `starts` a better rank.
    fn raise(&mut self, text: &str, starts: &[usize], rank: Rank) {
        for start in starts {
            let index = self.cuts.partition_point(|cut| cut.next <= *start);
            // Only white space and marks of a quote or a list may be in between.
            let Some(cut) = index
                .checked_sub(1)
                .and_then(|index| self.cuts.get_mut(index))
            else {
                continue;
            };
            let between = text.get(cut.next..*start).unwrap_or("x");
            let is_line = cut.rank == Rank::Line || cut.rank == Rank::Item;
            if is_line && between.chars().all(|c| c == ' ' || c == '>' || c == '\t') {
                cut.rank = rank;
            }
        }
        // An empty line separates the text around it.
        for index in 1..self.cuts.len() {
            let (before, cut) = (&self.cuts[index - 1], &self.cuts[index]);
            let is_empty = before.next <= cut.end
                && text
                    .get(before.next..cut.end)
                    .is_some_and(|line| line.trim().is_empty());
            if is_empty && cut.rank == Rank::Line {
                self.cuts[index].rank = Rank::Item;
            }
        }
    }

    /// Drops cuts right after a mark that opens code or right before one that closes it: they would leave code without
    /// content.
    fn drop_cuts_beside_marks(&mut self, text: &str) {
        let mut cuts = std::mem::take(&mut self.cuts);
        cuts.retain(|cut| {
            self.code_around(cut.end)
                .is_none_or(|code| code.bears(text, cut.end..cut.next))
        });
        self.cuts = cuts;
    }
}

/// Returns whether `text` would be read as code, a heading, a quote or a list at the start of a message. In the middle
/// of its line it is none of them, so no message may begin with it.
pub(super) fn begins_block(text: &str) -> bool {
    let after_digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_digits.len() < text.len() && after_digits.starts_with(['.', ')']);
    is_numbered
        || [FENCE, "#", ">", "-# ", "- ", "* ", "+ "]
            .iter()
            .any(|mark| text.starts_with(mark))
}

/// Returns whether `place` lies inside one of `spans`, which are in order of their start.
fn covers(spans: &[Range<usize>], place: usize) -> bool {
    /// Deepest nesting of spans in text that people read.
    const NESTED: usize = 8;
    let index = spans.partition_point(|span| span.start < place);
    spans[..index]
        .iter()
        .rev()
        .take(NESTED)
        .any(|span| place < span.end)
}
