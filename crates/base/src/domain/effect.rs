//! The effects of tool calls, as the ledger keeps them. Receipts are made from these, not from a model's words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Most changed files that are named for one call.
const MOST_NAMED: usize = 20;

/// The effects of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// How its command ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandEnd>,
    /// The first of the files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// How many further files it changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub further: u64,
    /// Lines added in all files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u64,
    /// Lines removed in all files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u64,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    Exited {
        code: i32,
        ms: u64,
    },
    /// A signal ended it.
    Killed {
        ms: u64,
    },
    TimedOut {
        ms: u64,
    },
    /// The turn was stopped.
    Stopped {
        ms: u64,
    },
    /// It continues to run beside the turn.
    Started,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Below the workspace.
    pub path: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u64,
}

impl Effect {
    /// Returns the effect of a command.
    pub fn of_command(end: CommandEnd) -> Self {
        Self {
            command: Some(end),
            ..Self::default()
        }
    }

    /// Adds these changed files to the effect.
    #[must_use]
    pub fn with_files(mut self, files: Vec<FileChange>) -> Self {
        self.added += files.iter().map(|file| file.added).sum::<u64>();
        self.removed += files.iter().map(|file| file.removed).sum::<u64>();
        self.further += files.len().saturating_sub(MOST_NAMED) as u64;
        self.files.extend(files.into_iter().take(MOST_NAMED));
        self
    }

    /// Reads it from the ledger's text; `None` if the text is something else.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the text that the ledger keeps.
    pub fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Describes it in words: `exit 128 after 0.4 s`, `wrote src/main.rs (+12 −3)`.
    pub fn words(&self) -> String {
        let command = self.command.map(|end| end.words());
        let files = match (self.files.as_slice(), self.further) {
            ([], _) => None,
            ([file], 0) => Some(format!(
                "wrote {}{}",
                file.path,
                lines(self.added, self.removed)
            )),
            (files, further) => Some(changed(
                files.len() as u64 + further,
                self.added,
                self.removed,
            )),
        };
        let parts: Vec<String> = command.into_iter().chain(files).collect();
        parts.join(" · ")
    }
}

impl CommandEnd {
    fn words(self) -> String {
        let after = |ms: u64| format!("{:.1} s", ms as f64 / 1_000.0);
        match self {
            Self::Exited { code, ms } => format!("exit {code} after {}", after(ms)),
            Self::Killed { ms } => format!("ended by a signal after {}", after(ms)),
            Self::TimedOut { ms } => format!("timed out after {}", after(ms)),
            Self::Stopped { ms } => format!("stopped after {}", after(ms)),
            Self::Started => "started".to_owned(),
        }
    }

    const fn has_failed(self) -> bool {
        match self {
            Self::Exited { code, .. } => code != 0,
            Self::Killed { .. } | Self::TimedOut { .. } | Self::Stopped { .. } => true,
            Self::Started => false,
        }
    }
}

/// The effects of all calls of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    files: BTreeSet<String>,
    further: u64,
    added: u64,
    removed: u64,
    commands: u64,
    failed: u64,
    denied: u64,
}

impl Receipt {
    /// Adds a call that ran.
    pub fn add(&mut self, effect: &Effect) {
        self.files
            .extend(effect.files.iter().map(|file| file.path.clone()));
        self.further += effect.further;
        self.added += effect.added;
        self.removed += effect.removed;
        self.commands += u64::from(effect.command.is_some());
        self.failed += u64::from(effect.command.is_some_and(CommandEnd::has_failed));
    }

    /// Counts a call that a person or a profile denied.
    pub const fn deny(&mut self) {
        self.denied += 1;
    }

    /// Lists what was changed, run and denied; `None` if there is nothing to report. Parts that are zero are left out.
    pub fn words(&self) -> Option<String> {
        let mut parts = Vec::new();
        let files = self.files.len() as u64 + self.further;
        if files > 0 {
            parts.push(changed(files, self.added, self.removed));
        }
        if self.commands > 0 {
            let mut ran = format!("ran {}", count(self.commands, "command"));
            if self.failed > 0 {
                let _ = write!(ran, ", {} failed", self.failed);
            }
            parts.push(ran);
        }
        if self.denied > 0 {
            parts.push(format!("{} denied", count(self.denied, "call")));
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }
}

fn changed(files: u64, added: u64, removed: u64) -> String {
    format!("changed {}{}", count(files, "file"), lines(added, removed))
}

fn lines(added: u64, removed: u64) -> String {
    match (added, removed) {
        (0, 0) => String::new(),
        (added, removed) => format!(" (+{added} −{removed})"),
    }
}

fn count(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        more => format!("{more} {one}s"),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn file(path: &str, added: u64, removed: u64) -> FileChange {
        FileChange {
            path: path.to_owned(),
            added,
            removed,
        }
    }

    #[test]
    fn an_effect_reads_back_and_is_told_in_words() {
        let command = Effect::of_command(CommandEnd::Exited { code: 128, ms: 412 });
        assert_eq!(command.words(), "exit 128 after 0.4 s");
        let wrote = Effect::default().with_files(vec![file("src/main.rs", 12, 3)]);
        assert_eq!(wrote.words(), "wrote src/main.rs (+12 −3)");
        let both = command.with_files(vec![file("a", 1, 0), file("b", 2, 1)]);
        assert_eq!(
            both.words(),
            "exit 128 after 0.4 s · changed 2 files (+3 −1)"
        );
        assert_eq!(Effect::read(&both.to_text().unwrap()), Some(both));
        assert_eq!(Effect::read("Error: no such host"), None);
    }

    #[test]
    fn many_files_are_counted_and_the_first_are_named() {
        let files = (0..30).map(|number| file(&number.to_string(), 1, 0));
        let effect = Effect::default().with_files(files.collect());
        assert_eq!(effect.files.len(), MOST_NAMED);
        assert_eq!(effect.words(), "changed 30 files (+30 −0)");
        let mut receipt = Receipt::default();
        receipt.add(&effect);
        assert_eq!(receipt.words().unwrap(), "changed 30 files (+30 −0)");
    }

    #[test]
    fn a_receipt_leaves_out_what_is_zero() {
        let mut receipt = Receipt::default();
        assert_eq!(receipt.words(), None);
        receipt.deny();
        assert_eq!(receipt.words().unwrap(), "1 call denied");
        receipt.add(&Effect::default().with_files(vec![file("a", 30, 2), file("b", 4, 0)]));
        receipt.add(&Effect::default().with_files(vec![file("b", 6, 4)]));
        receipt.add(&Effect::of_command(CommandEnd::Exited { code: 0, ms: 9 }));
        receipt.add(&Effect::of_command(CommandEnd::TimedOut { ms: 9 }));
        assert_eq!(
            receipt.words().unwrap(),
            "changed 2 files (+40 −6) · ran 2 commands, 1 failed · 1 call denied"
        );
    }
}
