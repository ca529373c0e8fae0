//! What people are told about a file of an agent: its fault once, and once that it is corrected.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::domain::AgentId;

/// What the channels of agents were told about something of these agents, such as their stages.
#[derive(Debug, Default)]
pub struct FileNews(Mutex<HashMap<AgentId, Told>>);

impl FileNews {
    /// Notes what keeps it from use, if anything; returns what is to be told about it, once.
    pub(in crate::agent) fn news(&self, agent: AgentId, fault: Option<&str>) -> News {
        self.0.lock().entry(agent).or_default().news(fault)
    }
}

/// What people know of a file.
#[derive(Debug, Default)]
pub(in crate::agent) enum Told {
    /// What they were told before the start, if anything.
    #[default]
    Earlier,
    /// That it can be used.
    Good,
    /// That it has this fault.
    Faulty(String),
}

/// What people are to be told about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum News {
    None,
    /// It can be used, and no fault was seen since the start.
    Good,
    Faulty,
    Corrected,
}

impl Told {
    /// Notes the current fault of the file, if any; returns what is to be told about it, once.
    pub(super) fn news(&mut self, fault: Option<&str>) -> News {
        let now = fault.map_or(Self::Good, |fault| Self::Faulty(fault.to_owned()));
        match (std::mem::replace(self, now), fault) {
            (Self::Good, None) => News::None,
            (Self::Faulty(before), Some(fault)) if before == fault => News::None,
            (_, Some(_)) => News::Faulty,
            (Self::Earlier, None) => News::Good,
            (Self::Faulty(_), None) => News::Corrected,
        }
    }
}
