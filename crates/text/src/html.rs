//! Text inside a web page.

use super::visible::prose;

/// Escapes `text` so that HTML shows it exactly, also inside an attribute in double quotes. Invisible characters are
/// shown by their number.
pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in prose(text).chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => html.push('\u{FFFD}'),
            c => html.push(c),
        }
    }
    html
}
