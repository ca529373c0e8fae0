//! Checks each call of an answer before any of them runs: is it well-formed, what do the profiles say, and which role or
//! agent is meant by a call of one.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::ask::ToAsk;
use super::task::{Assignment, BegunChild, NotCalled, SpawnReservation};
use super::{Call, Calls};
use crate::agent::setup::tool_specs::Watched;
use crate::agent::setup::{PERMISSIONS, SCHEDULE, modes};
use crate::domain::{CALL_TOOL, ConversationId, UserId};
use crate::mcp;
use crate::permission::{Breadth, Decision, Effort, ProfileError, Stack, Verdict};
use crate::store::{NewChild, StoreError};
use crate::text::{self, long};
use crate::tools::{InvalidCall, Prepared, Shelf};

/// A call that may run, as far as is known now.
pub(super) struct Runnable {
    pub(super) prepared: Prepared,
    /// What it has a role do.
    pub(super) assignment: Option<Assignment>,
    /// Its place among the sub-agents of the run. A call that does not begin gives it back.
    pub(super) reservation: Option<SpawnReservation>,
    /// Who allowed it, if somebody was asked.
    pub(super) allowed_by: Option<UserId>,
    /// The approval that it has, if somebody was asked.
    pub(super) approval: Option<i64>,
    /// How much of what it does was meant by what allows it.
    pub(super) breadth: Breadth,
    /// Whether its start is in the ledger.
    pub(super) is_started: bool,
    /// The sub-agent that carries it out, once that is in the ledger.
    pub(super) child: Option<BegunChild>,
}

impl Runnable {
    /// Its assignment, if a sub-agent carries it out.
    pub(super) fn for_child(&self) -> Option<&Assignment> {
        self.assignment.as_ref().filter(|one| one.waits)
    }

    /// Its sub-agent is in the ledger.
    pub(super) fn begins(&mut self, new: NewChild, conversation: ConversationId) {
        if let Some(reservation) = self.reservation.take() {
            reservation.begins();
        }
        if let Some(assignment) = self.assignment.take() {
            self.child = Some(BegunChild {
                assignment,
                new,
                conversation,
            });
        }
    }
}

/// A call whose arguments were checked, or what is wrong with them.
pub(super) type Checked = Result<Prepared, InvalidCall>;

/// Characters of arguments in the audit that no tool could read.
const ARGUMENTS: usize = 1_000;

/// How the reason begins why a profile denies a call.
pub(super) const NOT_PERMITTED: &str = "not permitted: ";

/// Why a turn puts no question to people.
const NOBODY_TO_ASK: &str = "this turn cannot ask people; say what you need to know in your answer";

/// A call after it was judged.
pub(super) enum Looked {
    Run(Runnable),
    /// A person decides.
    Ask(Runnable, String),
    /// It does not run.
    Refused {
        action: String,
        reason: String,
    },
}

impl Looked {
    /// Whether it puts a question to people.
    pub(super) fn asks_person(&self) -> bool {
        match self {
            Self::Run(one) | Self::Ask(one, _) => one.prepared.question.is_some(),
            Self::Refused { .. } => false,
        }
    }

    pub(super) fn has_child(&self) -> bool {
        match self {
            Self::Run(one) | Self::Ask(one, _) => one.for_child().is_some(),
            Self::Refused { .. } => false,
        }
    }
}

impl Calls<'_> {
    /// Returns why a turn that no person began may not call a tool. The owner of a schedule or webhook stands for its author, but does
    /// not speak in it.
    fn forbidden_to_nobody(&self, tool: &str) -> Option<&'static str> {
        let context = &self.turn.context;
        match tool {
            SCHEDULE if context.watched() == Watched::ByNobody => {
                Some("no person began this turn, so it plans nothing")
            }
            PERMISSIONS if context.run.planned.is_some() => {
                Some("no person began this turn, so it changes no permissions")
            }
            _ => None,
        }
    }

    /// Checks the arguments of calls, and finds out where the paths and remotes in them lead.
    pub(super) async fn prepare(&self, calls: &[Call], size: usize) -> Vec<Checked> {
        let tools = &self.turn.context.deps.tools;
        let shelf = self.offered(calls);
        let offer = shelf.offer();
        let check = |call: &Call| tools.prepare_with(offer, &call.name, &call.arguments);
        let check_all = || long::work_on(size, || calls.iter().map(check).collect());
        let checked: Vec<Checked> = check_all();
        let leads = |one: &Prepared| one.path.is_some() || one.remote.is_some();
        if !checked.iter().flatten().any(leads) {
            return checked;
        }
        let folder = self.turn.context.deps.folder(&self.turn.context.agent);
        let most = self.turn.limits().calls;
        let locate = move |(at, one): (usize, Checked)| match one {
            // Further calls of a step do not run.
            Ok(prepared) if at < most => Ok(prepared.locate(&folder)),
            one => one,
        };
        let located =
            spawn_blocking(move || checked.into_iter().enumerate().map(locate).collect()).await;
        // A path that was not followed is used as written, which no link may lead elsewhere.
        located.unwrap_or_else(|_| check_all())
    }

    /// The tools of MCP servers that the turn may use, where one is called.
    fn offered(&self, calls: &[Call]) -> Arc<Shelf> {
        let is_of_server = |call: &Call| call.name.starts_with(mcp::PREFIX);
        if !calls.iter().any(is_of_server) {
            return Arc::default();
        }
        let context = &self.turn.context;
        context.tools_now(&self.turn.setup, true).shelf
    }

    /// Judges a call; nothing runs.
    pub(super) fn look(
        &self,
        call: &Call,
        checked: Checked,
        profiles: Result<&Stack, &ProfileError>,
        effort: &Effort,
    ) -> Looked {
        if call.name != CALL_TOOL
            && let Err(refusal) = self.turn.setup.has_tool(&call.name)
        {
            return Looked::Refused {
                action: attempted(call, &checked),
                reason: refusal.to_string(),
            };
        }
        let prepared = match checked {
            Ok(prepared) => prepared,
            Err(invalid) => {
                let reason = invalid.to_string();
                return Looked::Refused {
                    action: attempted(call, &Err(invalid)),
                    reason,
                };
            }
        };
        if let Err(refusal) = self.turn.setup.workspace.permits(prepared.info.name) {
            return Looked::Refused {
                action: prepared.action.to_string(),
                reason: refusal.to_string(),
            };
        }
        if let Some(reason) = self.forbidden_to_nobody(prepared.info.name) {
            return Looked::Refused {
                action: prepared.action.to_string(),
                reason: reason.to_owned(),
            };
        }
        if !modes::has_tool(self.turn.mode(), prepared.info.name) {
            return Looked::Refused {
                action: prepared.action.to_string(),
                reason: modes::has_not(self.turn.mode()),
            };
        }
        if prepared.question.is_some() && !self.turn.context.asks_people() {
            return Looked::Refused {
                action: prepared.action.to_string(),
                reason: NOBODY_TO_ASK.to_owned(),
            };
        }
        let Verdict {
            decision,
            reason,
            breadth,
        } = match profiles {
            Ok(profiles) => {
                let always_allow = &self.turn.setup.payer().config.always_allow;
                profiles.decide(&prepared.action, always_allow, effort)
            }
            Err(invalid) => Verdict::deny(invalid.to_string()),
        };
        let assignment = prepared
            .delegation
            .as_ref()
            .filter(|_| decision != Decision::Deny);
        let assignment = match assignment
            .map(|delegation| self.sub_agents.assign(self.turn, delegation))
            .transpose()
        {
            Ok(assignment) => assignment,
            Err(why) => {
                return Looked::Refused {
                    action: prepared.action.to_string(),
                    reason: why.to_string(),
                };
            }
        };
        let runnable = Runnable {
            prepared,
            assignment,
            reservation: None,
            allowed_by: None,
            approval: None,
            breadth: match decision {
                // It runs only after a person saw all of it.
                Decision::Ask => Breadth::Whole,
                Decision::Allow | Decision::Deny => breadth,
            },
            is_started: false,
            child: None,
        };
        match decision {
            Decision::Allow => Looked::Run(runnable),
            Decision::Ask => Looked::Ask(runnable, reason),
            Decision::Deny => Looked::Refused {
                action: runnable.prepared.action.to_string(),
                reason: format!("{NOT_PERMITTED}{reason}"),
            },
        }
    }

    /// Looks up the former sub-agents that calls continue, and the agents that they name. Each found has a place among the
    /// sub-agents of the run.
    pub(super) async fn with_whom_they_mean(
        &self,
        looked: Vec<Looked>,
    ) -> Result<Vec<Looked>, StoreError> {
        let mut found = Vec::with_capacity(looked.len());
        let mut going_on = HashSet::new();
        for mut one in looked {
            if let Looked::Run(runnable) | Looked::Ask(runnable, _) = &mut one
                && let Err(why) = self.find_and_reserve(runnable, &mut going_on).await?
            {
                one = Looked::Refused {
                    action: runnable.prepared.action.to_string(),
                    reason: why.to_string(),
                };
            }
            found.push(one);
        }
        Ok(found)
    }

    async fn find_and_reserve(
        &self,
        runnable: &mut Runnable,
        going_on: &mut HashSet<ConversationId>,
    ) -> Result<Result<(), NotCalled>, StoreError> {
        let Some(assignment) = &mut runnable.assignment else {
            return Ok(Ok(()));
        };
        if let Err(why) = assignment.find_whom(self.turn).await? {
            return Ok(Err(why));
        }
        // Two calls of one step would write in one conversation.
        if assignment
            .former
            .is_some_and(|former| !going_on.insert(former))
        {
            return Ok(Err(NotCalled::AtWork));
        }
        if !assignment.waits {
            return Ok(Ok(()));
        }
        let reserved = SpawnReservation::of(&self.turn.context).await?;
        Ok(reserved.map(|reserved| runnable.reservation = Some(reserved)))
    }
}

/// Returns what a call would do, for the audit: its action, or its arguments as they came where they have none.
fn attempted(call: &Call, checked: &Checked) -> String {
    match checked {
        Ok(prepared) => prepared.action.to_string(),
        Err(_) if call.arguments.is_empty() => call.name.clone(),
        Err(_) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            format!("{} {}", call.name, text::one_line(&arguments, ARGUMENTS))
        }
    }
}

/// The calls from `first` on that people are to be asked about; `looked` begins with that one.
pub(super) fn to_ask<'a>(
    first: usize,
    calls: &'a [Call],
    looked: &'a VecDeque<Looked>,
) -> Vec<ToAsk<'a>> {
    let all = calls.iter().enumerate().skip(first).zip(looked);
    all.filter_map(|((at, call), looked)| match looked {
        Looked::Ask(runnable, reason) => Some(ToAsk {
            at,
            call,
            prepared: &runnable.prepared,
            reason,
        }),
        Looked::Run(_) | Looked::Refused { .. } => None,
    })
    .collect()
}

/// Whether the calls may run at the same time: nobody is asked, and no two write the same path.
pub(super) fn side_by_side(looked: &[Looked]) -> bool {
    let mut written = HashSet::new();
    looked.len() > 1
        && looked.iter().all(|looked| match looked {
            Looked::Ask(..) => false,
            Looked::Refused { .. } => true,
            Looked::Run(one) => match &one.prepared.writes {
                Some(path) => written.insert(path.clone()),
                None => true,
            },
        })
}
