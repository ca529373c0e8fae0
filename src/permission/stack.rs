//! Several profiles that apply together: the strictest decides, so none of them ever widens another.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::action::Action;
use super::decide::{Decision, Verdict};
use super::effort::Effort;
use super::profile::Profile;

/// An agent's own profile, and those of its roles.
#[derive(Clone, Debug)]
pub struct Stack {
    own: Arc<Profile>,
    further: Vec<Member>,
    hash: String,
}

/// A profile that applies in addition to the agent's own.
#[derive(Clone, Debug)]
struct Member {
    /// Its source, as reasons name it.
    source: String,
    profile: Arc<Profile>,
}

impl Stack {
    /// Creates a stack with only the agent's own profile.
    pub fn new(own: Arc<Profile>) -> Self {
        Self {
            hash: own.hash().to_owned(),
            own,
            further: Vec::new(),
        }
    }

    /// Returns the stack with one more profile. Reasons name `source`, such as ``role `reviewer` ``.
    #[must_use]
    pub fn with(mut self, source: impl Into<String>, profile: Arc<Profile>) -> Self {
        let together = format!("{}\n{}", self.hash, profile.hash());
        self.hash = format!("{:x}", Sha256::digest(together));
        self.further.push(Member {
            source: source.into(),
            profile,
        });
        self
    }

    /// Judges `action` by all of them; if several are equally strict, the first gives the reason.
    ///
    /// `always_allow` was granted to the agent, and applies only to its own profile. `effort` is that of the step.
    pub fn decide(&self, action: &Action, always_allow: &[String], effort: &Effort) -> Verdict {
        effort.begin_call();
        let mut strictest = self.own.decide_within(action, always_allow, effort);
        for Member { source, profile } in &self.further {
            let verdict = profile.decide_within(action, &[], effort);
            strictest = strictest.and(Verdict {
                reason: format!("{source}: {}", verdict.reason),
                ..verdict
            });
        }
        strictest
    }

    /// Returns whether an entry of `always_allow` would make the question about `action` unnecessary: only the agent's
    /// own profile asks.
    pub fn asks_alone(&self, action: &Action, effort: &Effort) -> bool {
        effort.begin_call();
        self.further.iter().all(|member| {
            let verdict = member.profile.decide_within(action, &[], effort);
            verdict.decision == Decision::Allow
        })
    }

    /// Returns the patterns of `deny` of all of them that may match an action of `tool`, as written.
    pub fn denying(&self, tool: &str) -> Vec<String> {
        let further = self.further.iter().map(|member| &member.profile);
        let mut found: Vec<String> = std::iter::once(&self.own)
            .chain(further)
            .flat_map(|profile| profile.deny_about(tool))
            .map(str::to_owned)
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// Returns whether one of the profiles denies every action of `subject` ([`Profile::denies_all`]).
    pub fn denies_all(&self, subject: &str) -> bool {
        let further = self.further.iter().map(|member| &member.profile);
        std::iter::once(&self.own)
            .chain(further)
            .any(|profile| profile.denies_all(subject))
    }

    /// Returns whether one of the profiles denies every call of a tool ([`Profile::denies_each`]).
    pub fn denies_each(&self, subject: &str, operation: &str) -> bool {
        let further = self.further.iter().map(|member| &member.profile);
        std::iter::once(&self.own)
            .chain(further)
            .any(|profile| profile.denies_each(subject, operation))
    }

    /// Returns the SHA-256 in lower-case hex: stacks with equal hashes decide alike. For a single profile it is that
    /// profile's.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}
