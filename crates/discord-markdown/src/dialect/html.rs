//! HTML that models write between their Markdown, as Markdown: tags that only format or contain text. All other HTML stays
//! text.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::{Edit, options};

/// Returns `text` with the tags that have a meaning in Markdown translated, and mere containers removed. Comments stay
/// as text.
pub(super) fn as_markdown(text: &str) -> Cow<'_, str> {
    if !may_hold_tags(text) {
        return Cow::Borrowed(text);
    }
    let mut tags = Tags::default();
    let mut tables = 0_usize;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(_)) => tables += 1,
            Event::End(TagEnd::Table) => tables = tables.saturating_sub(1),
            Event::InlineHtml(tag) if tables > 0 && is_break(&tag) => {}
            Event::InlineHtml(_) | Event::Html(_) => tags.read(text, range),
            // Inline marks close within their block.
            Event::End(
                TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Heading(_) | TagEnd::Item,
            ) => {
                tags.open.retain(|open| !open.is_inline);
            }
            _ => {}
        }
    }
    let mut edits = tags.edits;
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    edits.sort_by_key(|edit| edit.range.start);
    let mut written = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        push(&mut written, &text[at..edit.range.start]);
        push(&mut written, edit.by.as_deref().unwrap_or_default());
        at = edit.range.end;
    }
    push(&mut written, &text[at..]);
    Cow::Owned(written)
}

/// Appends `piece`, with at most one empty line in between, so that a removed tag leaves no gap.
fn push(written: &mut String, piece: &str) {
    let before = match written.as_str() {
        "" => 2,
        written => written
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\n')
            .count(),
    };
    let lead = piece.bytes().take_while(|byte| *byte == b'\n').count();
    let skipped = (before + lead).saturating_sub(2).min(lead);
    written.push_str(&piece[skipped..]);
}

/// Returns whether it is `<br>`.
pub(super) fn is_break(tag: &str) -> bool {
    name(tag).is_some_and(|name| name.eq_ignore_ascii_case("br"))
}

fn may_hold_tags(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins =
        |pair: &[u8]| pair[0] == b'<' && matches!(pair[1], b'/' | b'!' | b'a'..=b'z' | b'A'..=b'Z');
    bytes.windows(2).any(begins)
}

/// Tags that were read, and their replacements.
#[derive(Default)]
struct Tags {
    edits: Vec<Edit>,
    /// Tags that are not closed yet.
    open: Vec<Open>,
}

struct Open {
    name: String,
    range: Range<usize>,
    begin: &'static str,
    end: Cow<'static, str>,
    is_inline: bool,
}

/// Tags that may be open at once; deeper ones are text.
const MAX_OPEN: usize = 32;

impl Tags {
    /// Reads the tags in this part of the text, which is HTML.
    fn read(&mut self, text: &str, range: Range<usize>) {
        let mut at = range.start;
        while let Some(found) = text[at..range.end].find('<') {
            let start = at + found;
            let rest = &text[start..range.end];
            let ending = if rest.starts_with("<!--") { "-->" } else { ">" };
            let Some(length) = rest.find(ending).map(|end| end + ending.len()) else {
                return;
            };
            at = start + length;
            self.tag(&rest[..length], start..at);
        }
    }

    fn tag(&mut self, tag: &str, range: Range<usize>) {
        if tag.starts_with("<!--") {
            let start = range.start;
            return self.edits.push(Edit::new(start..start + 1, r"\<"));
        }
        let Some(name) = name(tag).map(str::to_ascii_lowercase) else {
            return;
        };
        if tag.starts_with("</") {
            return self.close(&name, range);
        }
        match name.as_str() {
            "br" => self.edits.push(Edit::new(range, "\n")),
            "hr" => self.edits.push(Edit::new(range, "\n\n---\n\n")),
            "img" => {
                let alt = attribute(tag, "alt")
                    .unwrap_or_default()
                    .replace(['[', ']'], "");
                let source = attribute(tag, "src").unwrap_or_default();
                self.edits
                    .push(Edit::new(range, format!("![{alt}](<{source}>)")));
            }
            "a" => {
                let target = attribute(tag, "href").unwrap_or_default();
                self.open(name, range, "[", format!("](<{target}>)").into(), true);
            }
            _ => {
                if let Some((begin, end, is_inline)) = markdown_of(&name) {
                    self.open(name, range, begin, end.into(), is_inline);
                }
            }
        }
    }

    fn open(
        &mut self,
        name: String,
        range: Range<usize>,
        begin: &'static str,
        end: Cow<'static, str>,
        is_inline: bool,
    ) {
        if self.open.len() < MAX_OPEN {
            self.open.push(Open {
                name,
                range,
                begin,
                end,
                is_inline,
            });
        }
    }

    /// Closes a tag. Both tags count only once there is a second one: a single one is text about HTML.
    fn close(&mut self, name: &str, range: Range<usize>) {
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else {
            return;
        };
        let open = self.open.remove(at);
        self.edits.push(Edit::new(open.range, open.begin));
        self.edits.push(Edit::new(range, open.end));
    }
}

/// Returns the Markdown for a pair of tags, and whether it closes within its paragraph.
fn markdown_of(name: &str) -> Option<(&'static str, &'static str, bool)> {
    Some(match name {
        "b" | "strong" => ("**", "**", true),
        "i" | "em" => ("*", "*", true),
        "u" | "ins" => ("__", "__", true),
        "s" | "del" | "strike" => ("~~", "~~", true),
        "code" | "kbd" | "samp" | "tt" => ("`", "`", true),
        "sub" | "sup" | "span" | "small" | "big" | "font" | "mark" => ("", "", true),
        "summary" => ("**", "**\n\n", true),
        "h1" => ("\n\n# ", "\n\n", true),
        "h2" => ("\n\n## ", "\n\n", true),
        "h3" | "h4" | "h5" | "h6" => ("\n\n### ", "\n\n", true),
        "details" | "p" | "div" | "center" | "section" | "picture" => ("", "", false),
        _ => return None,
    })
}

/// Returns the name of a tag.
fn name(tag: &str) -> Option<&str> {
    let rest = tag.strip_prefix('<')?;
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// Returns the value of an attribute, with or without quotation marks.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = tag.split_once(&format!(" {name}="))?;
    let value = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split_once(quote)?.0,
        _ => rest.split([' ', '>']).next()?.trim_end_matches('/'),
    };
    (!value.contains(['<', '>', '\n'])).then_some(value)
}
