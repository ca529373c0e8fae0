//! Questions that a press of Confirm answers, while they stand.

use crate::clock;
use crate::discord::rest::body::{Body, Button, Style};

/// How long such a question stands, in seconds.
const STANDS: i64 = 30;

/// Until when a question that is asked now stands, as the id of its button carries it.
pub(super) fn until() -> i64 {
    clock::now().timestamp() + STANDS
}

/// Whether a question with this `until` in the id of its button still stands.
pub(super) fn still_stands(until: &str) -> bool {
    let until = until.parse::<i64>();
    until.is_ok_and(|until| clock::now().timestamp() <= until)
}

/// The question with a button that confirms it, by this id, and one that takes it back.
pub(super) fn question(body: Body, id: String) -> Body {
    body.row(vec![
        Button::new(id, "Confirm", Style::Danger),
        Button::new("cancel:", "Cancel", Style::Secondary),
    ])
}
