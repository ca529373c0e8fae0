//! Where a Markdown text in Discord's dialect may be cut.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::code::FENCE;

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

/// A place to cut: the part ends at `end`, the next begins at `next`; in between there is only white space.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) end: usize,
    pub(super) next: usize,
    pub(super) rank: Rank,
}

/// A fenced block of code.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    /// All of it, from the first mark to the last.
    range: Range<usize>,
    /// Its language, or nothing.
    language: String,
}

impl Fence {
    /// The line that opens it again.
    pub(super) fn reopened(&self) -> String {
        format!("{FENCE}{}\n", self.language)
    }

    /// The rest of it after `place` in its `text`.
    pub(super) fn rest<'t>(&self, text: &'t str, place: usize) -> &'t str {
        text.get(place..self.range.end).unwrap_or_default()
    }
}

/// The places where a text may be cut, and the blocks around them.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// In order of their end.
    cuts: Vec<Cut>,
    pub(super) fences: Vec<Fence>,
    /// Tables, lists and code: the blocks that suffer most from a cut.
    whole: Vec<Range<usize>>,
}

impl Outline {
    /// Reads `text` as Markdown.
    pub(super) fn of(text: &str) -> Self {
        let mut outline = Self::default();
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
                        Tag::CodeBlock(CodeBlockKind::Fenced(language)) => {
                            outline.fences.push(fence(range, &language));
                        }
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
                Event::Code(_) => spans.push(range),
                Event::Rule if depth == 0 => blocks.push(range.start),
                _ => {}
            }
        }
        outline.find_cuts(text, &blocks, &items, &spans);
        outline
    }

    /// The cuts whose end lies after `start` and not after `limit`.
    pub(super) fn between(&self, start: usize, limit: usize) -> &[Cut] {
        let first = self.cuts.partition_point(|cut| cut.end <= start);
        let last = self.cuts.partition_point(|cut| cut.end <= limit);
        &self.cuts[first..last.max(first)]
    }

    /// The fence that a cut at `end` would break.
    pub(super) fn fence_around(&self, end: usize) -> Option<&Fence> {
        let next = self.fences.partition_point(|fence| fence.range.start < end);
        self.fences[..next]
            .last()
            .filter(|fence| end < fence.range.end)
    }

    /// The table, list or code that begins at `start`, after spaces.
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
        self.drop_cuts_beside_fences(text);
    }

    /// Cuts between sentences and words of one line. Code is cut between lines only, unless there is no other way.
    fn cuts_within(&mut self, text: &str, start: usize, line: &str, spans: &[Range<usize>]) {
        if self.fence_around(start + 1).is_some() {
            return;
        }
        let mut before = ' ';
        for (index, c) in line.char_indices() {
            if c.is_whitespace() && !before.is_whitespace() && c != '\n' {
                let end = start + index;
                let next =
                    end + line[index..].len() - line[index..].trim_start_matches([' ', '\t']).len();
                let in_span = covers(spans, end);
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
            // Only white space and marks of a quote or a list may be between.
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
        // An empty line separates what is around it.
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

    /// A cut right after the opening line of a fence, or right before its closing one, would leave an empty block.
    fn drop_cuts_beside_fences(&mut self, text: &str) {
        let fences = std::mem::take(&mut self.fences);
        self.cuts.retain(|cut| {
            let index = fences.partition_point(|fence| fence.range.start < cut.end);
            let around = fences[..index]
                .last()
                .filter(|fence| cut.end < fence.range.end);
            around.is_none_or(|fence| {
                let before = text.get(fence.range.start..cut.end).unwrap_or_default();
                let after = text.get(cut.next..fence.range.end).unwrap_or_default();
                before.contains('\n') && after.trim() != FENCE && !after.trim().is_empty()
            })
        });
        self.fences = fences;
    }
}

/// Whether `text` would be read as code, a heading, a quote or a list if it began a message: in the middle of its line it
/// is none of them, so no message may begin with it.
pub(super) fn begins_block(text: &str) -> bool {
    let after_digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_digits.len() < text.len() && after_digits.starts_with(['.', ')']);
    is_numbered
        || [FENCE, "#", ">", "-# ", "- ", "* ", "+ "]
            .iter()
            .any(|mark| text.starts_with(mark))
}

/// Whether `place` lies inside one of `spans`, which are in order of their start.
fn covers(spans: &[Range<usize>], place: usize) -> bool {
    /// Spans are not nested deeper in what a person reads.
    const NESTED: usize = 8;
    let index = spans.partition_point(|span| span.start < place);
    spans[..index]
        .iter()
        .rev()
        .take(NESTED)
        .any(|span| place < span.end)
}

fn fence(range: Range<usize>, language: &str) -> Fence {
    Fence {
        range,
        language: language.to_owned(),
    }
}
