//! The rights of a turn at this moment: its profiles, and the permanent approvals of people.
//!
//! A tool uses it for things that it learns only while it runs: where a page redirects to, which files are below a
//! folder.

use super::action::Action;
use super::decide::{Decision, Verdict};
use super::effort::Effort;
use super::profile::{Profile, ProfileError};
use super::stack::Stack;

/// The profiles of a turn and its agent's `always_allow`.
#[derive(Clone, Debug)]
pub struct Rights {
    /// The profiles, or why they cannot be read: then everything is denied.
    profiles: Result<Stack, ProfileError>,
    always_allow: Vec<String>,
}

impl Rights {
    /// Creates the rights that `profiles` and the entries of `always_allow` give.
    pub fn new(profiles: Result<Stack, ProfileError>, always_allow: Vec<String>) -> Self {
        Self {
            profiles,
            always_allow,
        }
    }

    /// Returns a name for the rights: those with equal names decide alike.
    pub fn name(&self) -> String {
        let profiles = match &self.profiles {
            Ok(profiles) => profiles.hash().to_owned(),
            Err(invalid) => invalid.to_string(),
        };
        let lines = std::iter::once(&profiles).chain(&self.always_allow);
        lines.map(|line| format!("{line:?}\n")).collect()
    }

    /// Judges `action`.
    pub fn decide(&self, action: &Action) -> Verdict {
        match &self.profiles {
            Ok(profiles) => profiles.decide(action, &self.always_allow, &Effort::default()),
            Err(invalid) => Verdict::deny(invalid.to_string()),
        }
    }

    /// Returns the patterns of `deny` that may match an action of `tool`, as written.
    pub fn denying(&self, tool: &str) -> Vec<String> {
        match &self.profiles {
            Ok(profiles) => profiles.denying(tool),
            Err(_) => vec![".*".to_owned()],
        }
    }
}

/// Decides which results a tool leaves out because a pattern of `deny` matches them.
#[derive(Debug)]
pub struct LeftOut {
    tool: &'static str,
    profile: Option<Profile>,
}

impl LeftOut {
    /// Creates it from the `patterns` that deny something to `tool`.
    ///
    /// # Errors
    ///
    /// Fails if a pattern does not compile.
    pub fn new(tool: &'static str, patterns: &[String]) -> Result<Self, ProfileError> {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let profile = if patterns.is_empty() {
            None
        } else {
            Some(Profile::denying_each(&patterns)?)
        };
        Ok(Self { tool, profile })
    }

    /// Checks whether `detail`, such as a path, is left out.
    pub fn has(&self, detail: &str) -> bool {
        self.profile.as_ref().is_some_and(|profile| {
            let action = Action::new(self.tool, detail);
            profile.decide(&action, &[]).decision == Decision::Deny
        })
    }
}
