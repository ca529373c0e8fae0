//! What a model writes, in Discord's dialect of Markdown.
//!
//! Models write CommonMark. Discord knows only fences of three backticks, anywhere in a line, and takes the next three for
//! the end whatever stands before them. So a fence of tildes or of more backticks becomes one of three; a line of code that
//! holds three backticks stands as plain text between two blocks; what opens no code is escaped; what is not closed is closed.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::code::{self, FENCE, run_length};
use super::escape;
use super::visible::prose;

/// Longest language that a block is shown with.
const MAX_LANGUAGE: usize = 30;

/// `markdown` as Discord shows what its writer meant, with nothing in it hidden.
pub fn for_discord(markdown: &str) -> String {
    let text = prose(markdown);
    if !text.contains('`') && !text.contains("~~~") {
        return text.into_owned();
    }
    let mut edits = code_edits(&text);
    escape_others(&text, &mut edits);
    edits.sort_by_key(|edit| edit.range.start);
    let mut written = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in edits {
        written.push_str(&text[at..edit.range.start]);
        match edit.by {
            Some(by) => written.push_str(&by),
            None => written.push_str(&text[edit.range.clone()]),
        }
        at = edit.range.end;
    }
    written.push_str(&text[at..]);
    written
}

/// A place of the text, and what stands there instead; without that it is code that stays as it is.
struct Edit {
    range: Range<usize>,
    by: Option<String>,
}

/// Code as CommonMark sees it, in order, each written as Discord reads it.
fn code_edits(text: &str) -> Vec<Edit> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut edits = Vec::new();
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let by = Block::of(text, range.clone(), &info).written();
                edits.push(Edit { range, by });
            }
            Event::Code(inside) => {
                let by = span(&text[range.clone()], &inside);
                edits.push(Edit { range, by });
            }
            _ => {}
        }
    }
    edits
}

/// A span whose mark is too long for Discord, with one that is not.
fn span(raw: &str, inside: &str) -> Option<String> {
    if run_length(raw) < FENCE.len() {
        return None;
    }
    let has_run = |length: usize| {
        let mut runs = inside.split(|c| c != '`').map(str::len);
        runs.any(|run| run == length)
    };
    Some(match (has_run(1), has_run(2)) {
        (_, false) => format!("`` {inside} ``"),
        (false, true) => format!("` {inside} `"),
        (true, true) => escape::lines(inside),
    })
}

/// A fenced block of CommonMark.
struct Block<'a> {
    /// What stands before each of its lines: marks of the quote and blanks of the list that it is in.
    prefix: String,
    mark: &'a str,
    language: &'a str,
    info: &'a str,
    /// Its lines between the fences, with what stands before them.
    lines: Vec<&'a str>,
    /// The fence that ends it, with what stands before it.
    closing: Option<&'a str>,
    ends_line: bool,
}

impl<'a> Block<'a> {
    fn of(text: &'a str, range: Range<usize>, info: &'a str) -> Self {
        let line_start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let prefix = text[line_start..range.start]
            .chars()
            .map(|c| if c == '>' { '>' } else { ' ' })
            .collect();
        let raw = &text[range];
        let first = raw.chars().next().unwrap_or('`');
        let mark = &raw[..raw
            .bytes()
            .take_while(|byte| char::from(*byte) == first)
            .count()];
        let mut lines: Vec<&str> = raw.lines().skip(1).collect();
        let is_end = |line: &&str| {
            let marks = bare(line).trim_end();
            marks.len() >= mark.len() && marks.chars().all(|c| c == first)
        };
        let closing = lines.last().copied().filter(is_end);
        if closing.is_some() {
            lines.pop();
        }
        let word = info.split_whitespace().next().unwrap_or_default();
        let is_plain = word.len() <= MAX_LANGUAGE
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_+-.#".contains(&b));
        Self {
            prefix,
            mark,
            language: if is_plain { word } else { "" },
            info,
            lines,
            closing,
            ends_line: raw.ends_with('\n'),
        }
    }

    /// The block as Discord reads it; none when it stands so already.
    fn written(&self) -> Option<String> {
        let is_blank = self.lines.iter().all(|line| bare(line).is_empty());
        let is_so = self.mark == FENCE
            && self.language == self.info
            && self
                .closing
                .is_some_and(|line| bare(line).trim_end() == FENCE)
            && !self.lines.iter().any(|line| code::holds_fence(line))
            && !is_blank;
        if is_so {
            return None;
        }
        if is_blank && self.closing.is_none() {
            return Some(escape_backticks(self.mark));
        }
        let mut out = Vec::new();
        let mut part: Vec<&str> = Vec::new();
        for line in &self.lines {
            if code::holds_fence(line) {
                if !part.is_empty() {
                    self.push_part(&mut out, &part);
                    part.clear();
                }
                let body = bare(line);
                let before = &line[..line.len() - body.len()];
                out.push(format!("{before}{}", escape::text(body)));
            } else {
                part.push(line);
            }
        }
        if out.is_empty() || !part.is_empty() {
            self.push_part(&mut out, &part);
        }
        let mut written = out.join("\n");
        // The first line's prefix stands in the text already.
        if let Some(rest) = written.strip_prefix(&self.prefix) {
            written = rest.to_owned();
        }
        if self.ends_line {
            written.push('\n');
        }
        Some(written)
    }

    fn push_part(&self, out: &mut Vec<String>, lines: &[&str]) {
        let is_blank = lines.iter().all(|line| bare(line).is_empty());
        if is_blank && !out.is_empty() {
            return;
        }
        out.push(format!("{}{FENCE}{}", self.prefix, self.language));
        if is_blank {
            out.push(format!("{} ", self.prefix))
        } else {
            out.extend(lines.iter().map(|line| (*line).to_owned()))
        }
        out.push(format!("{}{FENCE}", self.prefix));
    }
}

/// A line without the marks of quotes and the blanks before it.
fn bare(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '>'])
}

fn escape_backticks(mark: &str) -> String {
    if mark.starts_with('`') {
        r"\`".repeat(mark.len())
    } else {
        mark.to_owned()
    }
}

/// Escapes backticks that open no code: to Discord they might.
fn escape_others(text: &str, edits: &mut Vec<Edit>) {
    let code: Vec<Range<usize>> = edits.iter().map(|edit| edit.range.clone()).collect();
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let next = code.partition_point(|range| range.end <= start);
        let next = code.get(next);
        if let Some(range) = next.filter(|range| range.start <= start) {
            at = range.end;
            continue;
        }
        // Code may begin within the run: an escape takes only its first backtick.
        let run_end = start + run_length(&text[start..]);
        let end = next.map_or(run_end, |range| run_end.min(range.start));
        let is_escaped = text[..start]
            .bytes()
            .rev()
            .take_while(|b| *b == b'\\')
            .count()
            % 2
            == 1;
        let marks = r"\`".repeat(end - start);
        edits.push(Edit {
            range: start..end,
            by: Some(if is_escaped {
                marks[1..].to_owned()
            } else {
                marks
            }),
        });
        at = end;
    }
}
