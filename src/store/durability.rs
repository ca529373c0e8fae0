//! What a commit waits for, and how SQLite is told.

/// What a commit waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Durability {
    /// It is on the disk: neither a crash nor a power cut undoes it.
    #[default]
    Synced,
    /// The operating system has it: a crash of the daemon does not undo it, a power cut may, until the next synced commit.
    /// For what recovery finds out by itself (`docs/decisions/0613-what-each-fsync-is-for.md`).
    Written,
}

impl Durability {
    /// What a transaction of several jobs waits for: the maximum of theirs.
    pub(super) fn of_all(jobs: impl IntoIterator<Item = Self>) -> Self {
        if jobs.into_iter().all(|job| job == Self::Written) {
            Self::Written
        } else {
            Self::Synced
        }
    }

    /// SQLite's setting for it.
    pub(super) const fn pragma(self) -> &'static str {
        match self {
            Self::Synced => "PRAGMA synchronous = FULL",
            Self::Written => "PRAGMA synchronous = NORMAL",
        }
    }
}
