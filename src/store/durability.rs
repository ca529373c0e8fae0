//! How long a commit waits, and SQLite's setting for it.

/// The event that a commit waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Durability {
    /// It is on the disk: neither a crash nor a power cut undoes it.
    #[default]
    Synced,
    /// The operating system has it: a crash of the daemon does not undo it, but a power cut may, until the next synced
    /// commit. For facts that recovery finds out by itself (`docs/decisions/0613-what-each-fsync-is-for.md`).
    Written,
}

impl Durability {
    /// Returns the durability of a transaction of several jobs: the maximum of theirs.
    pub(super) fn of_all(jobs: impl IntoIterator<Item = Self>) -> Self {
        if jobs.into_iter().all(|job| job == Self::Written) {
            Self::Written
        } else {
            Self::Synced
        }
    }

    /// Returns SQLite's setting for it.
    pub(super) const fn pragma(self) -> &'static str {
        match self {
            Self::Synced => "PRAGMA synchronous = FULL",
            Self::Written => "PRAGMA synchronous = NORMAL",
        }
    }
}
