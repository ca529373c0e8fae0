//! Reads a text as CommonMark, and notes the places that Discord needs in another form.

mod headings;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, LinkType, Parser, Tag, TagEnd};

use super::lines::{indented, is_margin, line_start, prefix_of};
use super::links::{self, OpenLink};
use super::table::Table;
use super::{Edit, fences, html, options, rendered};
use crate::code;
use chorus_text::prose;
use headings::Heading;

/// Replaces CommonMark's horizontal rule.
const RULE: &str = "──────────";

/// The parts read so far, and those still open.
pub(super) struct Translation<'a> {
    text: &'a str,
    edits: Vec<Edit>,
    /// The position read so far: the end of the last part that is shown.
    read_to: usize,
    /// The block of code that is being read.
    code: Option<Code>,
    heading: Option<Heading>,
    links: Vec<OpenLink>,
    table: Option<Table>,
    /// Where each open quote begins.
    quotes: Vec<usize>,
    /// Whether the last quote within a quote contained code, which may have lines that look like further quotes.
    code_in_quotes: bool,
    /// Labels of the definitions that have their targets shown beside the words that refer to them.
    shown_targets: HashSet<String>,
    /// Numbers of the footnotes, in order of appearance.
    notes: HashMap<String, usize>,
    /// The marks of footnotes below the text, with their labels.
    note_marks: Vec<(String, Range<usize>)>,
}

/// A block of code: fenced, or indented with its content.
enum Code {
    Fenced,
    Indented(Range<usize>, String),
}

impl<'a> Translation<'a> {
    /// Returns the parts of `text` that Discord reads differently.
    pub(super) fn of(text: &'a str) -> Vec<Edit> {
        let mut translation = Self {
            text,
            edits: Vec::new(),
            read_to: 0,
            code: None,
            heading: None,
            links: Vec::new(),
            table: None,
            quotes: Vec::new(),
            code_in_quotes: false,
            shown_targets: HashSet::new(),
            notes: HashMap::new(),
            note_marks: Vec::new(),
        };
        let events = Parser::new_ext(text, options()).into_offset_iter();
        let definitions = events.reference_definitions().iter();
        let definitions: Vec<(String, Range<usize>)> = definitions
            .map(|(label, definition)| (links::label(label), definition.span.clone()))
            .collect();
        for (event, range) in events {
            translation.read(event, range);
        }
        for (label, range) in definitions {
            if translation.shown_targets.contains(&label) {
                translation.drop_lines(range);
            }
        }
        translation.number_notes();
        translation.edits
    }

    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.begin(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(words) => self.words(&words, range),
            Event::Code(inside) => {
                let raw = &self.text[range.clone()];
                let by = match fences::span(raw, &inside) {
                    // In a table a pipe is escaped; outside of it the escape would show.
                    None if self.table.is_some() && raw.contains(r"\|") => {
                        Some(raw.replace(r"\|", "|"))
                    }
                    by => by,
                };
                self.edits.push(Edit {
                    range: range.clone(),
                    by: by.map(Cow::Owned),
                });
                self.says(&inside, range);
            }
            Event::InlineHtml(tag) => {
                if self.table.is_some() && html::is_break(&tag) {
                    self.edits.push(Edit::new(range.clone(), " / "));
                    self.says("\n", range);
                } else {
                    self.says(&tag, range);
                }
            }
            Event::FootnoteReference(label) => {
                let number = superscript(self.note(&label));
                self.edits.push(Edit::new(range.clone(), number.clone()));
                self.says(&number, range);
            }
            Event::TaskListMarker(is_done) => {
                let sign = if is_done { "✅" } else { "⬜" };
                self.edits.push(Edit::new(range, sign));
            }
            Event::Rule => self.rule(range),
            Event::HardBreak => {
                if self.text[range.clone()].starts_with('\\') {
                    self.edits.push(Edit::new(range.start..range.start + 1, ""));
                }
                self.breaks();
            }
            Event::SoftBreak => self.breaks(),
            Event::Html(_) => self.keep_code(range),
            Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::CodeBlock(kind) => self.begin_code(kind, range),
            Tag::Heading { level, .. } => self.begin_heading(level, range),
            Tag::BlockQuote(kind) => self.begin_quote(kind, range),
            Tag::Item => self.item(range),
            Tag::FootnoteDefinition(label) => {
                let rest = &self.text[range.start..];
                let mark = rest.find("]:").map_or(0, |at| at + 2);
                let blank = rest[mark..].len() - rest[mark..].trim_start_matches(' ').len();
                let mark = range.start..range.start + mark + blank;
                self.note_marks.push((label.into_string(), mark));
            }
            Tag::Table(alignments) => self.table = Some(Table::new(range, alignments)),
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.begin_cell(range, self.edits.len());
                }
            }
            Tag::Link {
                link_type,
                dest_url,
                id,
                ..
            } => self.begin_link(OpenLink::new(link_type, &dest_url, &id, false), range),
            Tag::Image {
                link_type,
                dest_url,
                id,
                ..
            } => self.begin_link(OpenLink::new(link_type, &dest_url, &id, true), range),
            Tag::Strong => {
                // The whole line becomes bold.
                if self.heading.as_ref().is_some_and(Heading::is_deep) {
                    self.edits.push(Edit::new(range.start..range.start + 2, ""));
                    self.edits.push(Edit::new(range.end - 2..range.end, ""));
                }
            }
            Tag::Strikethrough => {
                // Discord strikes through only between two tildes.
                if !self.text[range.clone()].starts_with("~~") {
                    self.edits
                        .push(Edit::new(range.start..range.start + 1, "~~"));
                    self.edits.push(Edit::new(range.end - 1..range.end, "~~"));
                }
            }
            Tag::Paragraph
            | Tag::HtmlBlock
            | Tag::List(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::TableHead
            | Tag::Emphasis
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::BlockQuote(_) => self.end_quote(range.clone()),
            TagEnd::Link | TagEnd::Image => self.end_link(range.clone()),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Table => self.end_table(),
            _ => {}
        }
        if matches!(
            tag,
            TagEnd::Link
                | TagEnd::Image
                | TagEnd::Strong
                | TagEnd::Emphasis
                | TagEnd::Strikethrough
        ) {
            self.read_to = range.end;
        }
    }

    /// Handles words of a paragraph, a line of code, or a character that is written as an entity.
    fn words(&mut self, words: &str, range: Range<usize>) {
        match &mut self.code {
            Some(Code::Indented(_, code)) => return code.push_str(words),
            Some(Code::Fenced) => return,
            None => {}
        }
        let raw = &self.text[range.clone()];
        if raw.starts_with('&') && raw.ends_with(';') && raw != words {
            let shown = prose(words).replace(char::is_control, " ");
            self.edits.push(Edit::new(range.clone(), escaped(&shown)));
            return self.says(&shown, range);
        }
        self.says(words, range);
    }

    /// Adds visible text to the links, the heading and the table that it is in.
    fn says(&mut self, words: &str, range: Range<usize>) {
        self.read_to = range.end.max(self.read_to);
        for link in &mut self.links {
            link.shown.push_str(words);
        }
        if let Some(heading) = &mut self.heading {
            heading.has_words |= !words.is_empty();
        }
        if let Some(table) = &mut self.table {
            table.push(words);
        }
    }

    fn breaks(&mut self) {
        for link in &mut self.links {
            link.shown.push(' ');
        }
        if let Some(heading) = &mut self.heading {
            heading.lines += 1;
        }
    }

    /// Returns the number of the footnote with this label.
    fn note(&mut self, label: &str) -> usize {
        let next = self.notes.len() + 1;
        *self.notes.entry(label.to_owned()).or_insert(next)
    }

    /// Keeps the code in HTML, which Discord reads as Markdown and CommonMark does not.
    fn keep_code(&mut self, range: Range<usize>) {
        for code in code::codes(&self.text[range.clone()]) {
            if let Some(end) = code.end {
                let range = range.start + code.start..range.start + end;
                self.edits.push(Edit { range, by: None });
            }
        }
    }

    /// Writes the numbers of the footnotes below the text; one that nothing refers to stays as typed.
    fn number_notes(&mut self) {
        for (label, mark) in std::mem::take(&mut self.note_marks) {
            if let Some(number) = self.notes.get(&label) {
                let number = superscript(*number);
                self.edits.push(Edit::new(mark, format!("-# {number} ")));
            }
        }
    }

    /// Removes whole lines that are shown elsewhere.
    fn drop_lines(&mut self, range: Range<usize>) {
        let start = line_start(self.text, range.start);
        if !is_margin(&self.text[start..range.start]) {
            return;
        }
        let rest = &self.text[range.end..];
        let end = range.end + rest.find('\n').map_or(rest.len(), |at| at + 1);
        if self.text[range.end..end].trim().is_empty() {
            self.edits.push(Edit::new(start..end, ""));
        }
    }

    fn rule(&mut self, range: Range<usize>) {
        let length = self.text[range.clone()].trim_end().len();
        self.edits
            .push(Edit::new(range.start..range.start + length, RULE));
    }

    /// Writes the mark of a list item in Discord's form, after blanks instead of tabs.
    fn item(&mut self, range: Range<usize>) {
        let raw = &self.text[range.clone()];
        let mark = raw.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '>');
        let start = range.end - mark.len();
        let before = line_start(self.text, start);
        let margin = &self.text[before..start];
        if is_margin(margin) && margin.contains('\t') {
            self.edits
                .push(Edit::new(before..start, margin.replace('\t', "    ")));
        }
        let digits = mark.bytes().take_while(u8::is_ascii_digit).count();
        match mark.as_bytes().get(digits) {
            Some(b'+') if digits == 0 => self.edits.push(Edit::new(start..start + 1, "-")),
            Some(b')') if digits > 0 => {
                let at = start + digits;
                self.edits.push(Edit::new(at..at + 1, "."));
            }
            _ => {}
        }
    }

    fn begin_code(&mut self, kind: CodeBlockKind<'_>, range: Range<usize>) {
        self.code_in_quotes = true;
        self.code = Some(match kind {
            CodeBlockKind::Indented => Code::Indented(range, String::new()),
            CodeBlockKind::Fenced(_) => {
                let by = fences::Block::of(self.text, range.clone()).written();
                let by = by.map(Cow::Owned);
                self.edits.push(Edit { range, by });
                Code::Fenced
            }
        });
    }

    fn end_code(&mut self) {
        let Some(Code::Indented(range, code)) = self.code.take() else {
            return;
        };
        let line = line_start(self.text, range.start);
        let margin = &self.text[line..range.start];
        // Removes the blanks that make it code. If an item begins with it, the item's mark stays.
        let outer = margin.strip_suffix("    ").or(margin.strip_suffix('\t'));
        let (start, prefix) = match outer.filter(|outer| is_margin(outer)) {
            Some(outer) => (line, outer.replace('\t', "    ")),
            None => (range.start, prefix_of(self.text, range.start)),
        };
        let block = indented(&code::block(&code), &prefix);
        let lead = if start == line { prefix.as_str() } else { "" };
        let end = if self.text[range.clone()].ends_with('\n') {
            "\n"
        } else {
            ""
        };
        self.edits
            .push(Edit::new(start..range.end, format!("{lead}{block}{end}")));
    }

    fn begin_quote(&mut self, kind: Option<BlockQuoteKind>, range: Range<usize>) {
        self.quotes.push(range.start);
        if self.quotes.len() == 2 {
            self.code_in_quotes = false;
        }
        let Some(kind) = kind else {
            return;
        };
        let words = match kind {
            BlockQuoteKind::Note => "**Note**",
            BlockQuoteKind::Tip => "**Tip**",
            BlockQuoteKind::Important => "**Important**",
            BlockQuoteKind::Warning => "**Warning**",
            BlockQuoteKind::Caution => "**Caution**",
        };
        let raw = &self.text[range.clone()];
        if let (Some(start), Some(end)) = (raw.find('['), raw.find(']')) {
            let mark = range.start + start..range.start + end + 1;
            self.edits.push(Edit::new(mark, words));
        }
    }

    /// Flattens a quote within a quote, which Discord does not know: one mark for each line, and a blank after it even
    /// if nothing follows.
    fn end_quote(&mut self, range: Range<usize>) {
        self.quotes.pop();
        if self.quotes.is_empty() {
            self.fill_empty_lines(range.clone());
        }
        if self.quotes.len() != 1 || self.code_in_quotes {
            return;
        }
        let mut at = line_start(self.text, range.start);
        while at < range.end {
            let line = &self.text[at..];
            let margin = line.len() - line.trim_start_matches([' ', '\t', '>']).len();
            let marks = self.text[at..at + margin].matches('>').count();
            if marks > 1 {
                self.edits.push(Edit::new(at..at + margin, "> "));
            }
            at += line.find('\n').map_or(line.len(), |end| end + 1);
        }
    }

    fn fill_empty_lines(&mut self, range: Range<usize>) {
        let mut at = line_start(self.text, range.start);
        for line in self.text[at..range.end].split_inclusive('\n') {
            let marks = line.trim_end_matches('\n');
            if marks.ends_with('>') && is_margin(marks) {
                self.edits.push(Edit::new(at..at + marks.len(), "> "));
            }
            at += line.len();
        }
    }

    fn begin_link(&mut self, link: OpenLink, range: Range<usize>) {
        let marks = if link.is_image { 2 } else { 1 };
        self.read_to = range.start + marks;
        self.links.push(link);
    }

    fn end_link(&mut self, range: Range<usize>) {
        let Some(link) = self.links.pop() else {
            return;
        };
        if matches!(link.kind, LinkType::Autolink | LinkType::Email) {
            return;
        }
        let is_inner = !self.links.is_empty();
        if let Some(label) = link.shown_definition() {
            self.shown_targets.insert(label);
        }
        if let Some(table) = self.table.as_mut().filter(|_| link.tells_target()) {
            table.holds_links = true;
        }
        let tail = self.read_to.min(range.end)..range.end;
        self.edits.extend(link.edits(range, tail, is_inner));
    }

    fn end_cell(&mut self) {
        let Some(table) = &mut self.table else {
            return;
        };
        let Some((range, first_edit)) = table.open_cell() else {
            return;
        };
        let edits = self.edits.split_off(first_edit);
        let rich = rendered(self.text, range, edits);
        table.end_cell(rich.trim());
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        let range = table.range();
        let raw = &self.text[range.clone()];
        let mut by = indented(&table.written(raw), &prefix_of(self.text, range.start));
        if raw.ends_with('\n') {
            by.push('\n');
        }
        self.edits.push(Edit::new(range, by));
    }
}

/// Returns `shown` with everything escaped that Discord would read as Markdown.
fn escaped(shown: &str) -> String {
    let mut escaped = String::with_capacity(shown.len() + 1);
    for c in shown.chars() {
        if c.is_ascii_punctuation() && c != '&' {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Returns a number in superscript digits.
fn superscript(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = number.to_string();
    digits
        .bytes()
        .map(|digit| DIGITS[usize::from(digit - b'0')])
        .collect()
}
