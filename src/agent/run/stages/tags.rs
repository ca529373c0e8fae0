//! Texts of others in tags that nothing in them can close: each tag has an id that did not exist when the text was written.

use uuid::Uuid;

/// `text` in the tag `name` with further `attributes`, such as ` from="lab"`.
pub(super) fn tagged(name: &str, attributes: &str, text: &str) -> String {
    let id = id();
    format!("<{name}{attributes} id=\"{id}\">{text}</{name} id=\"{id}\">")
}

/// 12 random hex digits.
fn id() -> String {
    let mut id = Uuid::new_v4().simple().to_string();
    id.truncate(12);
    id
}
