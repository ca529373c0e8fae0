//! The result of one check.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) seen: String,
    /// What to do, unless all is well.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    Warning,
    Failure,
}

impl Check {
    pub(super) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self {
            name,
            verdict: Verdict::Ok,
            seen: seen.into(),
            remedy: None,
        }
    }

    /// Creates the result for something that works but could be better.
    pub(super) fn warning(
        name: &'static str,
        seen: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            name,
            verdict: Verdict::Warning,
            seen: seen.into(),
            remedy: Some(remedy.into()),
        }
    }

    pub(super) fn failure(
        name: &'static str,
        seen: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Failure,
            ..Self::warning(name, seen, remedy)
        }
    }
}
