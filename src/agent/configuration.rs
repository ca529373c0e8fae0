//! Agents' configurations as their files say: what can be used is in force, and what cannot leaves the last good one so.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::domain::{AgentConfig, AgentId, ProfileRef};
use crate::permission::Profiles;
use crate::workspace::Workspace;
use crate::workspace::agent_file::{self, AgentFile, Version};

/// Most seconds of a timeout: a year. What is far longer cannot be reckoned with.
const LONGEST: u64 = 365 * 86_400;

/// What was read of all agents since the start.
#[derive(Debug, Default)]
pub struct Configurations(Mutex<HashMap<AgentId, LastRead>>);

/// An `agent.json` as last read.
#[derive(Debug, Default)]
struct LastRead {
    version: Option<Version>,
    good: Option<Arc<AgentConfig>>,
    /// The fault that people were told of.
    told: Option<String>,
}

/// What an `agent.json` says now.
#[derive(Clone, Debug)]
pub enum Configuration {
    /// It can be used.
    Good(Arc<AgentConfig>),
    /// It cannot.
    Faulty {
        /// File, line and reason.
        fault: String,
        /// The last one that could be used since the start.
        last: Option<Arc<AgentConfig>>,
    },
}

/// What people are to be told of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing new.
    None,
    /// It cannot be used.
    Faulty,
    /// It can be used again.
    Mended,
}

impl Configurations {
    /// What the file in `folder` says; read only when it has changed.
    pub fn look(&self, agent: AgentId, folder: &Path, profiles: &Profiles) -> Configuration {
        let read = self.read(agent, folder, profiles);
        let mut all = self.0.lock();
        let last = all.entry(agent).or_default();
        match read {
            Ok((version, config)) => {
                last.version = Some(version);
                last.good = Some(config.clone());
                Configuration::Good(config)
            }
            Err(fault) => {
                // What is not that version any more is read when it changes back.
                last.version = None;
                Configuration::Faulty {
                    fault,
                    last: last.good.clone(),
                }
            }
        }
    }

    fn read(
        &self,
        agent: AgentId,
        folder: &Path,
        profiles: &Profiles,
    ) -> Result<(Version, Arc<AgentConfig>), String> {
        let workspace =
            Workspace::open(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let version = agent_file::version(workspace.agent())
            .map_err(|error| format!("agent.json: {error}"))?;
        if let Some(config) = self.known(agent, version)
            && is_still_named(&config.permissions, profiles)
        {
            return Ok((version, config));
        }
        let file = agent_file::read(workspace.agent()).map_err(|error| error.to_string())?;
        check(&file, profiles)?;
        Ok((version, Arc::new(file.config)))
    }

    fn known(&self, agent: AgentId, version: Version) -> Option<Arc<AgentConfig>> {
        let all = self.0.lock();
        let last = all.get(&agent)?;
        last.good.clone().filter(|_| last.version == Some(version))
    }

    /// What is to be told of what was just read; told once.
    pub(super) fn news(&self, agent: AgentId, fault: Option<&str>) -> News {
        let mut all = self.0.lock();
        let told = &mut all.entry(agent).or_default().told;
        let before = std::mem::replace(told, fault.map(str::to_owned));
        match (before, fault) {
            (None, None) => News::None,
            (Some(before), Some(fault)) if before == fault => News::None,
            (_, Some(_)) => News::Faulty,
            (Some(_), None) => News::Mended,
        }
    }
}

/// A profile that is spelled out stays what it is; a name may be taken out of `config.json`.
fn is_still_named(profile: &ProfileRef, profiles: &Profiles) -> bool {
    match profile {
        ProfileRef::Named(_) => profiles.resolve(profile).is_ok(),
        ProfileRef::Custom(_) => true,
    }
}

/// Values that are of the right shape and cannot be used all the same.
fn check(file: &AgentFile, profiles: &Profiles) -> Result<(), String> {
    let config = &file.config;
    if let Err(error) = profiles.resolve(&config.permissions) {
        return Err(file.fault("permissions", &error.to_string()));
    }
    let timeouts = [
        ("idle_timeout", config.idle_timeout, 0),
        ("turn_timeout", config.turn_timeout, 1),
    ];
    for (key, timeout, least) in timeouts {
        if timeout.is_some_and(|seconds| !(least..=LONGEST).contains(&seconds)) {
            let reason = format!("write seconds from {least} to {LONGEST} (a year), or null");
            return Err(file.fault(key, &reason));
        }
    }
    let budgets = [
        ("budget_turn", config.budget_turn),
        ("budget_day", config.budget_day),
    ];
    for (key, budget) in budgets {
        if budget.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
            return Err(file.fault(key, "write US dollars, 0 or more, or null"));
        }
    }
    Ok(())
}
