//! The page of metrics in the format that its reader requests: OpenMetrics, or Prometheus' older text format.

use std::collections::HashMap;

use axum::http::{HeaderMap, header};

const OPEN_METRICS: &str = "application/openmetrics-text";

/// A format of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exposition {
    OpenMetrics,
    /// The format that every collector reads, `curl` shows, and a request without `Accept` gets.
    Text,
}

impl Exposition {
    /// Returns the format that the request's `Accept` names.
    pub(super) fn asked_for(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(header::ACCEPT).iter();
        let mut accepted = accepted.filter_map(|value| value.to_str().ok());
        if accepted.any(|value| value.contains(OPEN_METRICS)) {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Returns the page, which is OpenMetrics, in this format.
    pub(super) fn of(self, page: String) -> String {
        match self {
            Self::OpenMetrics => page,
            Self::Text => in_text_format(&page),
        }
    }
}

/// Rewrites the page in the older format, which has neither units nor an end mark, and names a family like its samples.
fn in_text_format(page: &str) -> String {
    let types: HashMap<&str, &str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    let name = |family: &str| match types.get(family) {
        Some(&"counter") => format!("{family}_total"),
        Some(&"info") => format!("{family}_info"),
        _ => family.to_owned(),
    };
    let line = |line: &str| {
        let Some(comment) = line.strip_prefix("# ") else {
            return Some(format!("{line}\n"));
        };
        let (keyword, rest) = comment.split_once(' ')?;
        let (family, rest) = rest.split_once(' ')?;
        match (keyword, rest) {
            ("HELP", help) => Some(format!("# HELP {} {help}\n", name(family))),
            ("TYPE", "info") => Some(format!("# TYPE {} gauge\n", name(family))),
            ("TYPE", kind) => Some(format!("# TYPE {} {kind}\n", name(family))),
            // A unit that the name also contains.
            (_, _) => None,
        }
    };
    page.lines().filter_map(line).collect()
}
