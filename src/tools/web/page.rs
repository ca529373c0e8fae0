//! Turns a page's bytes into text.
//!
//! A hostile page may take forever to be laid out: a cell that spans a million rows, a row of as many cells. Known
//! cases are refused or cut here; others end with the worker that lays the page out.

use html2text::config;
use html2text::{Element, Handle};
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::tools::error::ToolError;
use crate::tools::work::{self, Work};

/// Columns of a page's text; wide enough for tables, narrow enough to quote.
const WIDTH: usize = 100;

/// Deepest level of elements that is laid out; deeper ones take quadratic time.
const DEEPEST: usize = 500;

/// Most cells of a row that are laid out. More do not fit into [`WIDTH`] columns.
const WIDEST: usize = 200;

/// Most rows or columns that one cell may span.
const LONGEST_SPAN: usize = 100;

/// Most rows that all cells of a page may span besides their own: each counts as one more cell.
const MOST_SPANNED: usize = 10_000;

/// Elements without content, or that end with the next one of their kind.
const SHALLOW: [&str; 21] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "option", "p", "source", "td", "th", "tr", "track", "wbr",
];

/// How bytes are turned into text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(in crate::tools) struct Layout {
    markup: Markup,
    is_latin1: bool,
}

/// The kind of text a page consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
enum Markup {
    /// Nothing: all of it is shown.
    None,
    /// HTML, which is laid out.
    Laid,
    /// HTML, which is left out.
    LeftAway,
}

impl Layout {
    /// Returns the kind for a `Content-Type`; `None` if it is not text.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let content_type = content_type.to_ascii_lowercase();
        let (media, parameters) = content_type.split_once(';').unwrap_or((&content_type, ""));
        let media = media.trim();
        let is_html = matches!(media, "text/html" | "application/xhtml+xml");
        let is_text = media.starts_with("text/")
            || media.ends_with("+json")
            || media.ends_with("+xml")
            || matches!(
                media,
                "application/json"
                    | "application/xml"
                    | "application/javascript"
                    | "application/x-ndjson"
                    | "application/yaml"
                    | "application/toml"
            );
        (is_html || is_text).then(|| Self {
            markup: if is_html { Markup::Laid } else { Markup::None },
            is_latin1: parameters.contains("iso-8859-1") || parameters.contains("windows-1252"),
        })
    }
}

impl Layout {
    /// Returns the same page without its layout.
    pub(in crate::tools) fn words_only(self) -> Self {
        Self {
            markup: Markup::LeftAway,
            ..self
        }
    }
}

impl Work for Layout {
    const NAME: &'static str = "layout";
    const LIMITS: WorkLimits = work::TEXT;

    fn run(self, bytes: &[u8]) -> Result<String, ToolError> {
        let text = if self.is_latin1 {
            bytes.iter().map(|byte| char::from(*byte)).collect()
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        };
        Ok(match self.markup {
            Markup::None => text,
            Markup::Laid if !is_tangled(&text) => match laid_out(&text) {
                Ok(readable) => readable,
                Err(_) => words(&text),
            },
            Markup::Laid | Markup::LeftAway => words(&text),
        })
    }
}

fn laid_out(html: &str) -> Result<String, html2text::Error> {
    let config = config::plain();
    let page = config.parse_html(html.as_bytes())?;
    cut_spans(&page.document);
    let tree = config.dom_to_render_tree(&page)?;
    drop(page);
    config.render_to_string(tree, WIDTH)
}

/// Limits the span of each cell, and of all of them combined.
fn cut_spans(page: &Handle) {
    let mut rows_left = MOST_SPANNED;
    let mut ahead = vec![page.clone()];
    while let Some(node) = ahead.pop() {
        if let Element { attrs, .. } = &node.data {
            for attribute in attrs.borrow_mut().iter_mut() {
                let is_rows = match &*attribute.name.local {
                    "rowspan" => true,
                    "colspan" => false,
                    _ => continue,
                };
                let asked: usize = attribute.value.trim().parse().unwrap_or(LONGEST_SPAN);
                let mut span = asked.min(LONGEST_SPAN);
                if is_rows {
                    span = span.min(rows_left + 1);
                    rows_left -= span.saturating_sub(1);
                }
                attribute.value = span.to_string().as_str().into();
            }
        }
        // In order, so that only the last cells of a page lose their spans.
        ahead.extend(node.children.borrow().iter().rev().cloned());
    }
}

/// Returns whether elements are nested deeper than [`DEEPEST`] or a row is wider than [`WIDEST`]. Scripts may look
/// deeper than they are; they are rarely worth reading.
fn is_tangled(html: &str) -> bool {
    let mut open: Vec<String> = Vec::new();
    let mut cells = 0;
    for tag in html.split('<').skip(1) {
        let is_end = tag.starts_with('/');
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        match (is_end, name.as_str()) {
            (false, "td" | "th") => cells += 1,
            (_, "tr" | "table") => cells = 0,
            (_, _) => {}
        }
        if cells > WIDEST {
            return true;
        }
        if name.is_empty() || SHALLOW.contains(&name.as_str()) {
            continue;
        }
        if !is_end {
            open.push(name);
        } else if let Some(at) = open.iter().rposition(|known| *known == name) {
            open.truncate(at);
        }
        if open.len() > DEEPEST {
            return true;
        }
    }
    false
}

/// Returns the words of a page that cannot be laid out, in linear time and memory.
fn words(html: &str) -> String {
    let mut words = String::from(NO_LAYOUT);
    let mut rest = html;
    while let Some((text, tag)) = rest.split_once('<') {
        add_words(&mut words, text);
        let name = tag.trim_start_matches('/');
        let name_end = name.find(|c: char| !c.is_ascii_alphanumeric());
        let name = name[..name_end.unwrap_or(name.len())].to_ascii_lowercase();
        let is_tag = !name.is_empty() || tag.starts_with(['!', '?']);
        if !is_tag {
            words.push('<');
            rest = tag;
            continue;
        }
        if !INLINE.contains(&name.as_str()) && !words.ends_with('\n') {
            words.push('\n');
        }
        let body = if HIDDEN.contains(&name.as_str()) && !tag.starts_with('/') {
            after_hidden(tag, &name)
        } else {
            tag
        };
        rest = body.split_once('>').map_or("", |(_, rest)| rest);
    }
    add_words(&mut words, rest);
    words
}

/// Explains why a page has no layout.
const NO_LAYOUT: &str = "[this page is too tangled to be laid out; these are its words]\n";

/// Elements without words for people.
const HIDDEN: [&str; 4] = ["script", "style", "svg", "template"];

/// Elements within a line.
const INLINE: [&str; 12] = [
    "a", "abbr", "b", "code", "em", "font", "i", "small", "span", "strong", "sub", "u",
];

/// Returns the text after the content of the hidden element `name`, from its end tag on.
fn after_hidden<'a>(tag: &'a str, name: &str) -> &'a str {
    let ends = tag.match_indices("</").map(|(at, _)| &tag[at + 2..]);
    let is_its = |end: &&str| {
        end.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    ends.into_iter().find(is_its).unwrap_or("")
}

fn add_words(words: &mut String, text: &str) {
    const CHARACTERS: [(&str, &str); 6] = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    for word in text.split_whitespace() {
        if !words.ends_with(['\n', ' ']) {
            words.push(' ');
        }
        if word.contains('&') {
            words.push_str(
                &CHARACTERS
                    .iter()
                    .fold(word.to_owned(), |word, (from, to)| word.replace(from, to)),
            )
        } else {
            words.push_str(word)
        }
    }
}
