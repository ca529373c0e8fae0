//! Lists: counted, cut to the size of a message, and divided into pages.

use crate::discord::rest::body::{Button, Style, clip};
use crate::text::escape;

/// Returns the buttons that turn pages: `id` names the list, `page` counts from 0.
pub(super) fn pager(id: &str, page: usize, pages: usize) -> Vec<Button> {
    if pages <= 1 {
        return Vec::new();
    }
    // Ids must differ even if both buttons would lead to the same page.
    let back = Button::new(
        format!("page:{id}:{}", page.saturating_sub(1)),
        "Previous",
        Style::Secondary,
    );
    let on = Button::new(format!("page:{id}:{}", page + 1), "Next", Style::Secondary);
    vec![back.enabled_if(page > 0), on.enabled_if(page + 1 < pages)]
}

/// Returns `text` as a quote that shows exactly the written text, cut to `max` characters.
pub(super) fn quoted(text: &str, max: usize) -> String {
    let lines = escape::lines(text);
    let quoted: String = lines.lines().map(|line| format!("> {line}\n")).collect();
    clip(&quoted, max)
}

/// Returns lines that fit into `max` characters; the last one says how many did not.
pub(super) fn lines_within(lines: impl IntoIterator<Item = String>, max: usize) -> String {
    let lines: Vec<String> = lines.into_iter().collect();
    let mut shown = String::new();
    for (index, line) in lines.iter().enumerate() {
        let left = lines.len() - index;
        let rest = format!("… and {left} more");
        let needed = shown.chars().count() + line.chars().count() + rest.chars().count() + 2;
        if needed > max && !(left == 1 && shown.chars().count() + line.chars().count() < max) {
            shown.push_str(&rest);
            return shown;
        }
        shown.push_str(line);
        shown.push('\n');
    }
    shown.truncate(shown.trim_end().len());
    shown
}
