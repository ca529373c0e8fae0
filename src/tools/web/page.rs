//! A page's bytes as text to read. Pure.

/// Columns of a page's text; wide enough for tables, narrow enough to quote.
const WIDTH: usize = 100;

/// Elements inside each other that are laid out; laying out deeper ones takes time that grows with the square.
const DEEPEST: usize = 500;

/// Elements that hold nothing, or that the next one of their kind ends.
const SHALLOW: [&str; 20] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "option", "p", "source", "td", "tr", "track", "wbr",
];

/// How bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    is_html: bool,
    is_latin1: bool,
}

impl Kind {
    /// The kind that a `Content-Type` names; none for what is no text.
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
            is_html,
            is_latin1: parameters.contains("iso-8859-1") || parameters.contains("windows-1252"),
        })
    }
}

/// The text of a page.
pub(super) fn readable(bytes: &[u8], kind: Kind) -> String {
    let text = match kind.is_latin1 {
        true => bytes.iter().map(|byte| char::from(*byte)).collect(),
        false => String::from_utf8_lossy(bytes).into_owned(),
    };
    if !kind.is_html || is_tangled(&text) {
        return text;
    }
    match html2text::from_read(text.as_bytes(), WIDTH) {
        Ok(readable) => readable,
        // A page that cannot be laid out is still worth its source.
        Err(_) => text,
    }
}

/// Whether elements lie deeper than [`DEEPEST`]. Scripts may look deeper than they are; they are rarely worth reading.
fn is_tangled(html: &str) -> bool {
    let mut open: Vec<String> = Vec::new();
    for tag in html.split('<').skip(1) {
        let is_end = tag.starts_with('/');
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
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
