//! The decision: deny, then allow, then ask, then deny.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::cover;
use super::effort::Effort;
use super::pattern::{Pattern, PatternScope};
use super::profile::Profile;

/// Why an action is not allowed once the effort for a step is used up.
const TOO_LONG: &str = "judging it takes too long: the command, the profile or the step's calls are too many or too large";

/// The decision on an action, from the widest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// How much of an action's effect the matching rule intended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breadth {
    /// All of it: a person saw it, or a pattern covers everything, or all but something, that its tool can do.
    Whole,
    /// The effect in its text: only a narrow pattern covers it.
    #[default]
    Narrow,
}

/// A decision and its reason, in words for people and models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The decision on the action.
    pub decision: Decision,
    /// The pattern or the doubt that decided.
    pub reason: String,
    /// How broadly it is allowed; without meaning for another decision.
    #[serde(skip)]
    pub breadth: Breadth,
}

impl Verdict {
    /// Creates a verdict that allows the action as far as its text goes.
    pub(super) fn allow(reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Allow,
            reason: reason.into(),
            breadth: Breadth::Narrow,
        }
    }

    /// Creates a verdict that allows the action regardless of its effect.
    pub(super) fn allow_whole(reason: impl Into<String>) -> Self {
        Self {
            breadth: Breadth::Whole,
            ..Self::allow(reason)
        }
    }

    /// Returns the stricter of two; if both allow, the first, with the narrower breadth.
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        let breadth = self.breadth.max(other.breadth);
        let stricter = if other.decision > self.decision {
            other
        } else {
            self
        };
        Self {
            breadth,
            ..stricter
        }
    }

    pub(super) fn ask(reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Ask,
            reason: reason.into(),
            breadth: Breadth::Narrow,
        }
    }

    /// Creates a refusal that no profile decided: an unknown tool, invalid arguments.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Deny,
            reason: reason.into(),
            breadth: Breadth::Narrow,
        }
    }
}

impl Profile {
    /// Judges `action` on its own. Pure: equal inputs give equal verdicts.
    ///
    /// An action whose path leads elsewhere is judged as written and as reached; the stricter verdict applies.
    /// `always_allow` contains whole action strings, which must match exactly and come after every deny.
    pub fn decide(&self, action: &Action, always_allow: &[String]) -> Verdict {
        self.decide_within(action, always_allow, &Effort::default())
    }

    /// Judges `action` with the rest of `effort`; if that is not enough, it is not allowed.
    pub(super) fn decide_within(
        &self,
        action: &Action,
        always_allow: &[String],
        effort: &Effort,
    ) -> Verdict {
        let written = self.decide_form(action, always_allow, effort);
        let Some(reached) = action.reached() else {
            return written;
        };
        let verdict = self.decide_form(reached, always_allow, effort);
        if verdict.decision <= written.decision {
            return written;
        }
        let reason = if reached.script().is_some() && action.script().is_none() {
            format!("{}, for it runs a command", verdict.reason)
        } else {
            format!("{}, for it leads to `{}`", verdict.reason, reached.path())
        };
        Verdict { reason, ..verdict }
    }

    /// Judges one form of an action.
    fn decide_form(&self, action: &Action, always_allow: &[String], effort: &Effort) -> Verdict {
        let text = action.to_string();
        let reading = action.plain_reading();
        let denied = self
            .denies(&text, effort)
            .or_else(|| self.denies(reading.as_deref()?, effort));
        if effort.is_spent() {
            return self.untried(action);
        }
        if let Some(pattern) = denied {
            return Verdict::deny(format!("denied by `{}`", pattern.source()));
        }
        if let Some(denied) = action
            .script()
            .and_then(|script| self.denied_inside(action, script, effort))
        {
            return denied;
        }
        let standing = action.standing();
        if standing.is_some_and(|standing| always_allow.contains(&standing)) {
            return Verdict::allow("its tool is allowed by `always_allow`");
        }
        if always_allow.contains(&text) {
            return Verdict::allow_whole("allowed to the letter by `always_allow`");
        }
        match action.script() {
            Some(script) => self.decide_script(action, &text, script, effort),
            None => self.decide_plain(action, &text, effort),
        }
    }

    /// Returns the verdict on an action that takes too long to judge: nothing more is matched on its text.
    pub(super) fn untried(&self, action: &Action) -> Verdict {
        let covers_all =
            |pattern: &&Pattern| pattern.scope(&action.tool) == PatternScope::Everything;
        match self.ask.iter().find(covers_all) {
            Some(pattern) => Verdict::ask(asked(pattern, Some(TOO_LONG))),
            None => Verdict::deny(unmatched(Some(TOO_LONG))),
        }
    }

    /// Returns whether every action of `subject` is denied, so that the model need not know it.
    ///
    /// `subject` is the text after `tool:`, a tool (`bash`) or one of its operations (`git:push`). True only if that is
    /// certain: no pattern of `allow` or `ask` can match it, or one of `deny` matches all of it.
    pub fn denies_all(&self, subject: &str) -> bool {
        let (tool, _) = subject.split_once(':').unwrap_or((subject, ""));
        let covers = |pattern: &Pattern| {
            if subject == tool {
                pattern.scope(tool) == PatternScope::Everything
            } else {
                pattern.covers_operation(subject)
            }
        };
        self.deny.iter().any(covers)
            || !self
                .allow
                .iter()
                .chain(&self.ask)
                .any(|pattern| pattern.may_speak_of(subject))
    }

    /// Returns whether every call of a tool is denied if its actions begin with `tool:<subject>:<operation>`, such as
    /// `mcp:read` and `read github get_issue`. As certain as [`Profile::denies_all`].
    pub fn denies_each(&self, subject: &str, operation: &str) -> bool {
        let (tool, _) = subject.split_once(':').unwrap_or((subject, ""));
        let begins = format!("tool:{tool}:{operation}");
        let covers = |pattern: &Pattern| {
            let arguments = ["{}", "{\"zq7\":[\"zq7 'zq7'\",1,null]}"];
            let matches = |text: String| pattern.matches(&text).unwrap_or(false);
            arguments
                .iter()
                .all(|one| matches(format!("{begins} {one}")))
                && !pattern.excludes()
        };
        self.deny.iter().any(covers)
            || !self
                .allow
                .iter()
                .chain(&self.ask)
                .any(|pattern| pattern.may_speak_of(subject))
    }

    fn decide_plain(&self, action: &Action, text: &str, effort: &Effort) -> Verdict {
        let mut doubt = action.doubt();
        for pattern in &self.allow {
            if effort.is_spent() {
                return self.untried(action);
            }
            if !matches!(pattern.matches_within(text, effort), Ok(true)) {
                continue;
            }
            let uncovered = cover::uncovered_url(pattern, &action.tool, &action.detail, effort);
            if pattern.scope(&action.tool) == PatternScope::Everything
                || (doubt.is_none() && uncovered.is_none())
            {
                return Verdict::allow(format!("allowed by `{}`", pattern.source()));
            }
            doubt = doubt.or(uncovered.map(|uncovered| uncovered.to_string()));
        }
        let asks = self.asks(text, effort);
        if effort.is_spent() {
            return self.untried(action);
        }
        match asks {
            Some(pattern) => Verdict::ask(asked(pattern, doubt.as_deref())),
            None => Verdict::deny(unmatched(doubt.as_deref())),
        }
    }

    /// Returns the first pattern of `deny` that matches, or on which matching ended without an answer.
    pub(super) fn denies(&self, text: &str, effort: &Effort) -> Option<&Pattern> {
        self.deny
            .iter()
            .find(|pattern| !matches!(pattern.matches_within(text, effort), Ok(false)))
    }

    /// Returns the first pattern of `ask` that matches.
    pub(super) fn asks(&self, text: &str, effort: &Effort) -> Option<&Pattern> {
        self.ask
            .iter()
            .take_while(|_| !effort.is_spent())
            .find(|pattern| matches!(pattern.matches_within(text, effort), Ok(true)))
    }
}

/// Returns the reason for a question.
pub(super) fn asked(pattern: &Pattern, doubt: Option<&str>) -> String {
    match doubt {
        Some(doubt) => format!(
            "asked by `{}`; not allowed by itself because {doubt}",
            pattern.source()
        ),
        None => format!("asked by `{}`", pattern.source()),
    }
}

/// Returns why nothing allowed it and no question is asked.
pub(super) fn unmatched(doubt: Option<&str>) -> String {
    match doubt {
        Some(doubt) => format!("not allowed because {doubt}, and nothing in the profile asks"),
        None => "nothing in the profile allows it or asks".to_owned(),
    }
}
