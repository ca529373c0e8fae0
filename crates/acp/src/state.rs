//! The life of a member: four states, and the next one as a pure function of state and change.

use std::fmt;
use std::str::FromStr;

/// Where a member is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Its row is committed; its program is being started.
    Spawning,
    /// Its session is open and its mode is confirmed.
    Active,
    /// It ended with an error, which is kept.
    Failed,
    /// It ended for a reason.
    Terminated,
}

/// Why a member ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndReason {
    UserRequested,
    Idle,
    AgentDestroyed,
    Shutdown,
    DaemonRestarted,
    Replaced,
}

/// A thing that happens to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its session is open and its mode is confirmed.
    Ready,
    /// Its start failed, or its process exited.
    Failed,
    Ended(EndReason),
}

/// A word that names no state or reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown word `{0}`")]
pub struct UnknownWord(String);

/// Returns the state after `change`; `None` where it changes nothing, because the member is past it.
pub const fn next_state(state: State, change: Change) -> Option<State> {
    match (state, change) {
        (State::Spawning, Change::Ready) => Some(State::Active),
        (State::Spawning | State::Active, Change::Failed) => Some(State::Failed),
        // A member that is starting is not idle.
        (State::Spawning, Change::Ended(EndReason::Idle | EndReason::Replaced))
        | (State::Active, Change::Ready | Change::Ended(EndReason::Replaced))
        | (State::Failed, Change::Ready | Change::Failed)
        | (State::Terminated, _) => None,
        (State::Spawning | State::Active, Change::Ended(_))
        | (
            State::Failed,
            Change::Ended(
                EndReason::UserRequested | EndReason::Replaced | EndReason::AgentDestroyed,
            ),
        ) => Some(State::Terminated),
        (State::Failed, Change::Ended(_)) => None,
    }
}

impl State {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Spawning, Self::Active, Self::Failed, Self::Terminated];

    /// Returns the word that the database and people have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spawning => "SPAWNING",
            Self::Active => "ACTIVE",
            Self::Failed => "FAILED",
            Self::Terminated => "TERMINATED",
        }
    }

    /// Whether its role is taken and its process may run.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Spawning | Self::Active)
    }
}

impl EndReason {
    /// All reasons.
    pub const ALL: [Self; 6] = [
        Self::UserRequested,
        Self::Idle,
        Self::AgentDestroyed,
        Self::Shutdown,
        Self::DaemonRestarted,
        Self::Replaced,
    ];

    /// Returns the words that the database and people have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserRequested => "user requested",
            Self::Idle => "idle",
            Self::AgentDestroyed => "agent destroyed",
            Self::Shutdown => "shutdown",
            Self::DaemonRestarted => "daemon restarted",
            Self::Replaced => "replaced",
        }
    }
}

impl FromStr for State {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| UnknownWord(word.to_owned()))
    }
}

impl FromStr for EndReason {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|reason| reason.as_str() == word);
        found.ok_or_else(|| UnknownWord(word.to_owned()))
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> impl Iterator<Item = Change> {
        let ends = EndReason::ALL.into_iter().map(Change::Ended);
        [Change::Ready, Change::Failed].into_iter().chain(ends)
    }

    #[test]
    fn a_member_starts_works_and_ends() {
        let stop = Change::Ended(EndReason::UserRequested);
        for (state, change, next) in [
            (State::Spawning, Change::Ready, Some(State::Active)),
            (State::Spawning, Change::Failed, Some(State::Failed)),
            (State::Spawning, stop, Some(State::Terminated)),
            (State::Active, Change::Failed, Some(State::Failed)),
            (
                State::Active,
                Change::Ended(EndReason::Idle),
                Some(State::Terminated),
            ),
            (State::Failed, stop, Some(State::Terminated)),
            (
                State::Failed,
                Change::Ended(EndReason::Replaced),
                Some(State::Terminated),
            ),
            (State::Failed, Change::Ended(EndReason::Shutdown), None),
        ] {
            assert_eq!(next_state(state, change), next, "{state} {change:?}");
        }
    }

    #[test]
    fn nothing_leaves_the_last_state_and_nothing_comes_back_to_the_first() {
        for change in changes() {
            assert_eq!(next_state(State::Terminated, change), None);
            for state in State::ALL {
                assert_ne!(next_state(state, change), Some(State::Spawning));
                assert_ne!(next_state(state, change), Some(state));
            }
        }
    }

    #[test]
    fn words_are_read_back() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        for reason in EndReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(reason));
        }
        assert!("active".parse::<State>().is_err());
    }
}
