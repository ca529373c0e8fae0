//! The stages that an agent's files put around its turns, and what is said of one that cannot be used.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Setup;
use super::modes;
use crate::charter::{Catalog, Role};
use crate::domain::{AgentConfig, Handoff, MOST_HANDOFFS, Mode, OnFailure, Router};
use crate::text;

/// The stages of a turn, by the names of their roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::agent) struct StageNames {
    pub(in crate::agent) advisors: Vec<String>,
    pub(in crate::agent) router: Option<Router>,
    pub(in crate::agent) handoff: Vec<Handoff>,
}

/// A stage, with its role where that was found.
#[derive(Clone, Debug)]
pub(in crate::agent) struct Stage {
    pub(in crate::agent) name: String,
    pub(in crate::agent) role: Result<Arc<Role>, Unusable>,
}

/// Why a role cannot be a stage: a phrase, followed by what is wrong with its file.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::agent) struct Unusable(String);

impl StageNames {
    pub(in crate::agent) fn is_empty(&self) -> bool {
        self.advisors.is_empty() && self.router.is_none() && self.handoff.is_empty()
    }

    /// Adds the stages named by the role that a branch works as. It removes none of the agent's gates.
    fn with_role_of_branch(mut self, role: &Role) -> Self {
        for advisor in &role.advisors {
            if !self.advisors.contains(advisor) {
                self.advisors.push(advisor.clone());
            }
        }
        self.router.clone_from(&role.router);
        self.handoff.splice(0..0, role.handoff.iter().cloned());
        self
    }
}

impl Stage {
    pub(in crate::agent) fn of(roles: &Catalog, name: &str) -> Self {
        let role = roles.gate(name).cloned().map_err(|why| {
            let problems = roles.find(name).and_then(|entry| entry.role.as_ref().err());
            let path = roles.find(name).map_or("", |entry| entry.path.as_str());
            let problems = problems.map(|problems| format!(":\n{}", problems.of_file_named(path)));
            Unusable(format!("{why}{}", problems.unwrap_or_default()))
        });
        Self {
            name: name.to_owned(),
            role,
        }
    }

    /// The roles that an answer passes, beginning with `first`: after each of them those that it names itself, each role
    /// once.
    pub(in crate::agent) fn chain(
        roles: &Catalog,
        first: impl Iterator<Item = Handoff>,
    ) -> Vec<(Self, OnFailure)> {
        let mut chain: Vec<(Self, OnFailure)> = Vec::new();
        let mut left: VecDeque<Handoff> = first.collect();
        while let Some(next) = left.pop_front() {
            if chain.iter().any(|(stage, _)| stage.name == next.role) {
                continue;
            }
            let mut stage = Self::of(roles, &next.role);
            if chain.len() >= MOST_HANDOFFS {
                let most = format!("an answer passes at most {MOST_HANDOFFS} roles");
                stage.role = Err(Unusable(most));
            }
            if let Ok(role) = &stage.role {
                for further in role.handoff.iter().rev() {
                    left.push_front(further.clone());
                }
            }
            chain.push((stage, next.on_failure));
        }
        chain
    }
}

impl Setup {
    /// The stages of a turn that answers people and was asked for in this mode: from `agent.json`, else from the agent's
    /// own charter. The role of a branch adds its own, and cannot remove the agent's.
    pub(in crate::agent) fn stages(&self, asked: Option<Mode>) -> StageNames {
        let mut names = if modes::has_stages(self.mode_of_agent(asked)) {
            self.stages_of_agent()
        } else {
            StageNames::default()
        };
        let has_own = modes::has_stages(self.mode(asked));
        if let Some(role) = self.role.as_ref().filter(|_| self.is_child && has_own) {
            names = names.with_role_of_branch(role);
        }
        names.router = names
            .router
            .filter(|router| has_own && !router.destinations.is_empty());
        names
    }

    fn stages_of_agent(&self) -> StageNames {
        let (config, own) = (&self.config, self.of_agent());
        let advisors = config.advisors.as_ref();
        let router = config.router.as_ref();
        let handoff = config.handoff.as_ref();
        StageNames {
            advisors: advisors
                .or(own.map(|role| &role.advisors))
                .cloned()
                .unwrap_or_default(),
            router: router
                .or(own.and_then(|role| role.router.as_ref()))
                .cloned(),
            handoff: handoff
                .or(own.map(|role| &role.handoff))
                .cloned()
                .unwrap_or_default(),
        }
    }
}

/// `config` with the gates of a role that cannot be used otherwise, where `config` has none.
pub(in crate::agent) fn with_gates(config: AgentConfig, gates: Option<&Role>) -> AgentConfig {
    let Some(role) = gates else {
        return config;
    };
    AgentConfig {
        advisors: config.advisors.or_else(|| Some(role.advisors.clone())),
        router: config.router.or_else(|| role.router.clone()),
        handoff: config.handoff.or_else(|| Some(role.handoff.clone())),
        ..config
    }
}

/// What the channel is told about an advisor that cannot be used.
pub(in crate::agent) fn advisor_fault(stage: &Stage) -> Option<String> {
    let why = stage.role.as_ref().err()?;
    let name = text::code_span(&stage.name);
    Some(format!(
        "{name} cannot advise, so I answer without its advice: {why}"
    ))
}

/// The same of a destination.
pub(in crate::agent) fn destination_fault(stage: &Stage) -> Option<String> {
    let why = stage.role.as_ref().err()?;
    let name = text::code_span(&stage.name);
    Some(format!("Nothing can be handed over to {name}: {why}"))
}

/// The same about a role that answers pass.
pub(in crate::agent) fn handoff_fault(stage: &Stage, on_failure: OnFailure) -> Option<String> {
    let why = stage.role.as_ref().err()?;
    let name = text::code_span(&stage.name);
    let meanwhile = match on_failure {
        OnFailure::Show => "are shown without it",
        OnFailure::Withhold => "are withheld",
    };
    Some(format!(
        "{name} cannot pass my answers on, so they {meanwhile}: {why}"
    ))
}
