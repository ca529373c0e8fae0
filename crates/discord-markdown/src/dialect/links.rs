//! Links and images; Discord renders only `[words](https://…)`.

use std::ops::Range;

use pulldown_cmark::LinkType;

use super::Edit;
use crate::escape;

/// Longest target off the web that is still shown.
const MAX_TARGET: usize = 200;

/// A link or an image that is being read.
pub(super) struct OpenLink {
    pub(super) kind: LinkType,
    pub(super) is_image: bool,
    target: String,
    /// The label of its definition; empty if the target is beside the words.
    label: String,
    /// Its words as people see them.
    pub(super) shown: String,
}

impl OpenLink {
    pub(super) fn new(kind: LinkType, target: &str, id: &str, is_image: bool) -> Self {
        Self {
            kind,
            is_image,
            target: target.to_owned(),
            label: label(id),
            shown: String::new(),
        }
    }

    /// Returns the replacements for a link over `range`, whose words end at the start of its `tail`.
    ///
    /// An image within a link keeps only its words.
    pub(super) fn edits(
        &self,
        range: Range<usize>,
        tail: Range<usize>,
        is_inner: bool,
    ) -> Vec<Edit> {
        let marks = if self.is_image { 2 } else { 1 };
        let head = range.start..range.start + marks;
        let shown = self.shown.trim();
        let target = &self.target;
        if self.is_plain() {
            return Vec::new();
        }
        if is_inner {
            return vec![Edit::new(head, ""), Edit::new(tail, "")];
        }
        if !is_web(target) {
            let by = self.named_target();
            return vec![Edit::new(head, ""), Edit::new(tail, by)];
        }
        let address = address(target);
        if shown.is_empty() || shown == target {
            return vec![Edit::new(range, address)];
        }
        if shown.contains("://") {
            // Discord does not render a link if its words are an address.
            let by = format!(" (<{address}>)");
            return vec![Edit::new(head, ""), Edit::new(tail, by)];
        }
        let mut edits = Vec::new();
        if self.is_image {
            edits.push(Edit::new(range.start..range.start + 1, ""));
        }
        if self.kind != LinkType::Inline {
            edits.push(Edit::new(tail, format!("]({address})")));
        }
        edits
    }

    /// Returns whether it only looks like a link: words between brackets which a line such as `[WARN]: overheated`
    /// seems to define.
    fn is_plain(&self) -> bool {
        let is_short = matches!(self.kind, LinkType::Shortcut | LinkType::ShortcutUnknown);
        is_short && !is_web(&self.target)
    }

    /// Returns the label of the definition whose target is shown with its words.
    pub(super) fn shown_definition(&self) -> Option<String> {
        let is_shown = !self.label.is_empty() && !self.is_plain();
        is_shown.then(|| self.label.clone())
    }

    /// Returns whether its target says more than its words.
    pub(super) fn tells_target(&self) -> bool {
        let target = self.target.trim_start_matches("mailto:");
        !self.is_plain() && names_something(target) && self.shown.trim() != target
    }

    /// Returns a target that Discord does not make a link, shown after the words: a path of the workspace, a mail
    /// address.
    fn named_target(&self) -> String {
        let target = self.target.trim_start_matches("mailto:");
        let is_said = self.shown.trim() == target;
        match is_said || !names_something(target) {
            true if self.is_image && self.shown.trim().is_empty() => "(image)".to_owned(),
            true => String::new(),
            false if self.shown.trim().is_empty() => escape::code_within(target, MAX_TARGET),
            false => format!(" ({})", escape::code_within(target, MAX_TARGET)),
        }
    }
}

/// Returns the label of a definition in the form used for comparison.
pub(super) fn label(id: &str) -> String {
    let words: Vec<&str> = id.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Returns whether `target` is more than an anchor on the same page or data.
fn names_something(target: &str) -> bool {
    !target.is_empty() && !target.starts_with(['#', '?']) && !target.starts_with("data:")
}

/// Returns whether Discord makes a link of it.
fn is_web(target: &str) -> bool {
    let scheme = target.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        ["http", "https", "discord"].contains(&scheme.to_ascii_lowercase().as_str())
    })
}

/// Returns an address with the characters that would end it percent-encoded.
fn address(target: &str) -> String {
    let mut address = String::with_capacity(target.len());
    for c in target.chars() {
        match c {
            '(' | ')' | '<' | '>' | '\\' | '`' | '|' | '*' => {
                address.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c if c.is_whitespace() || c.is_control() => address.push_str("%20"),
            c => address.push(c),
        }
    }
    address
}
