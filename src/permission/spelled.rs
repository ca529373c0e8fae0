//! Decides whether a pattern spells the letters of a text, or only a wildcard matches them.
//!
//! The letters in question are *marked*: each is exchanged for a character that occurs in no text. The pattern is
//! rewritten so that a character that it spells also matches the marked one, and a wildcard matches none. So one match
//! answers the question: is there a way to match this text in which all marked letters are spelled?
//!
//! A class of one or two characters spells them (`[sS]`); a larger one, `.` and `\w` are wildcards. Patterns with
//! look-around, back-references, word boundaries or flags other than `i` and `x` are not rewritten.

use std::collections::HashSet;
use std::ops::Range;

use regex_syntax::ast::{self, Ast, ClassSetItem, Flag, FlagsItemKind, RepetitionKind};
use regex_syntax::hir::HirKind;

/// Most bytes of a rewritten pattern.
const COMPILED_BYTES: usize = 1 << 20;

/// The first and the last marked character: two planes of Unicode for private use.
const FIRST_MARKED: u32 = 0xF_0000;
const LAST_MARKED: char = '\u{10FFFF}';

/// Most characters of a class that spells them.
const SPELLED_CLASS: usize = 2;

/// Returns the marked form of `c`, unless it is one of the few that have none.
fn marked(c: char) -> Option<char> {
    let code = u32::from(c);
    (code < 0x2_0000)
        .then(|| FIRST_MARKED + code)
        .and_then(char::from_u32)
}

fn is_marked(c: char) -> bool {
    u32::from(c) >= FIRST_MARKED
}

/// Returns `text` with the letters at `places` marked; `None` if that is not possible.
pub(super) fn mark(text: &str, places: &[Range<usize>]) -> Option<String> {
    if text.chars().any(is_marked) {
        return None;
    }
    let mut places: Vec<&Range<usize>> = places.iter().filter(|place| !place.is_empty()).collect();
    places.sort_unstable_by_key(|place| place.start);
    let mut places = places.into_iter().peekable();
    let mut end = 0;
    let mut marked_text = String::with_capacity(text.len() * 2);
    for (at, c) in text.char_indices() {
        while let Some(place) = places.next_if(|place| place.start <= at) {
            end = end.max(place.end);
        }
        marked_text.push(if at < end { marked(c)? } else { c });
    }
    Some(marked_text)
}

/// Returns the expression that matches marked texts as `source` spells them; `None` if `source` is not rewritten.
pub(super) fn expression(source: &str) -> Option<regex::Regex> {
    let ast = ast::parse::Parser::new().parse(source).ok()?;
    let rewriter = ast::visit(&ast, Rewriter::new(source)).ok()??;
    regex::RegexBuilder::new(&format!(r"\A(?s:(?:{rewriter}))\z"))
        .size_limit(COMPILED_BYTES)
        .build()
        .ok()
}

/// Rewrites the leaves of a pattern, and keeps everything between them.
struct Rewriter<'a> {
    source: &'a str,
    /// The position of a leaf, and its new text.
    leaves: Vec<(Range<usize>, String)>,
    /// Positions of leaves that together form a wildcard: `(a|b|c)*`.
    loose: HashSet<usize>,
    is_sure: bool,
}

impl<'a> Rewriter<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            leaves: Vec::new(),
            loose: HashSet::new(),
            is_sure: true,
        }
    }

    fn slice(&self, span: &ast::Span) -> &'a str {
        self.source
            .get(span.start.offset..span.end.offset)
            .unwrap_or_default()
    }

    fn replace(&mut self, span: &ast::Span, with: String) {
        self.leaves.push((span.start.offset..span.end.offset, with));
    }

    /// Handles a single character, which spells itself.
    fn literal(&mut self, span: &ast::Span, c: char) {
        let own = u32::from(c);
        let with = match marked(c).filter(|_| !self.loose.contains(&span.start.offset)) {
            Some(marked) => format!(r"[\x{{{own:X}}}\x{{{:X}}}]", u32::from(marked)),
            None => format!(r"\x{{{own:X}}}"),
        };
        self.is_sure &= !is_marked(c);
        self.replace(span, with);
    }

    /// Handles a class: it spells its members if they are few.
    fn class(&mut self, span: &ast::Span) {
        let source = self.slice(span);
        let first = u32::from(LAST_MARKED);
        let members = members(source).filter(|_| !self.loose.contains(&span.start.offset));
        let with = match members {
            Some(members) => {
                let marked: String = members
                    .into_iter()
                    .filter_map(marked)
                    .map(|c| format!(r"\x{{{:X}}}", u32::from(c)))
                    .collect();
                format!("[{source}{marked}]")
            }
            None => format!(r"[{source}--[\x{{{FIRST_MARKED:X}}}-\x{{{first:X}}}]]"),
        };
        self.replace(span, with);
    }

    fn flags(&mut self, flags: &ast::Flags) {
        self.is_sure &= flags.items.iter().all(|item| {
            matches!(
                item.kind,
                FlagsItemKind::Negation
                    | FlagsItemKind::Flag(
                        Flag::CaseInsensitive | Flag::SwapGreed | Flag::IgnoreWhitespace
                    )
            )
        });
    }
}

/// Returns the characters of a class, if they are few enough to be spelled.
fn members(class: &str) -> Option<Vec<char>> {
    let hir = regex_syntax::parse(class).ok()?;
    let ranges: Vec<(char, char)> = match hir.kind() {
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let only = chars.next().filter(|_| chars.next().is_none())?;
            vec![(only, only)]
        }
        HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        _ => return None,
    };
    let all = ranges.into_iter().flat_map(|(first, last)| first..=last);
    let members: Vec<char> = all.take(SPELLED_CLASS + 1).collect();
    (members.len() <= SPELLED_CLASS).then_some(members)
}

/// Adds the single characters that `ast` chooses from, by their positions: `a|b|(c)`.
fn choices(ast: &Ast, found: &mut Vec<usize>) {
    match ast {
        Ast::Group(group) => choices(&group.ast, found),
        Ast::Alternation(alternation) => {
            alternation.asts.iter().for_each(|ast| choices(ast, found));
        }
        Ast::Literal(literal) => found.push(literal.span.start.offset),
        Ast::ClassBracketed(class) => found.push(class.span.start.offset),
        _ => {}
    }
}

impl ast::Visitor for Rewriter<'_> {
    type Output = Option<String>;
    type Err = std::convert::Infallible;

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        match ast {
            Ast::Literal(literal) => self.literal(&literal.span, literal.c),
            Ast::Dot(span) => {
                let last = u32::from(LAST_MARKED);
                self.replace(span, format!(r"[^\x{{{FIRST_MARKED:X}}}-\x{{{last:X}}}]"));
            }
            Ast::ClassUnicode(class) => self.class(&class.span),
            Ast::ClassPerl(class) => self.class(&class.span),
            Ast::ClassBracketed(class) => self.class(&class.span),
            Ast::Flags(flags) => self.flags(&flags.flags),
            Ast::Group(group) => {
                if let ast::GroupKind::NonCapturing(flags) = &group.kind {
                    self.flags(flags);
                }
            }
            Ast::Assertion(assertion) => {
                self.is_sure &= matches!(
                    assertion.kind,
                    ast::AssertionKind::StartLine
                        | ast::AssertionKind::EndLine
                        | ast::AssertionKind::StartText
                        | ast::AssertionKind::EndText
                );
            }
            Ast::Repetition(repetition) if repetition.op.kind != RepetitionKind::ZeroOrOne => {
                let mut found = Vec::new();
                choices(&repetition.ast, &mut found);
                if found.len() > SPELLED_CLASS {
                    self.loose.extend(found);
                }
            }
            Ast::Empty(_) | Ast::Repetition(_) | Ast::Alternation(_) | Ast::Concat(_) => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, _: &ClassSetItem) -> Result<(), Self::Err> {
        Ok(())
    }

    fn finish(mut self) -> Result<Self::Output, Self::Err> {
        if !self.is_sure {
            return Ok(None);
        }
        self.leaves.sort_unstable_by_key(|(span, _)| span.start);
        let mut rewritten = String::with_capacity(self.source.len() * 8);
        let mut end = 0;
        for (span, with) in &self.leaves {
            rewritten.push_str(self.source.get(end..span.start).unwrap_or_default());
            rewritten.push_str(with);
            end = span.end;
        }
        rewritten.push_str(self.source.get(end..).unwrap_or_default());
        Ok(Some(rewritten))
    }
}
