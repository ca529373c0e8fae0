//! Checks each call of an answer before any of them runs: is it well-formed, what do the profiles say, and which role or
//! agent is meant by a call of one.

use std::collections::HashSet;

use tokio::task::spawn_blocking;

use super::Call;
use crate::agent::setup::modes;
use crate::agent::turn::Turn;
use crate::agent::turn::children::BegunChild;
use crate::agent::turn::offer::{Assignment, NotCalled};
use crate::agent::turn::question::ToAsk;
use crate::domain::{CALL_TOOL, ConversationId, UserId};
use crate::permission::{Breadth, Decision, Effort, ProfileError, Stack, Verdict};
use crate::store::StoreError;
use crate::text::long;
use crate::tools::{InvalidCall, Prepared};

/// A call that may run, as far as is known now.
#[derive(Clone)]
pub(in crate::agent::turn) struct Runnable {
    pub(in crate::agent::turn) prepared: Prepared,
    /// What it has a role do.
    pub(in crate::agent::turn) assignment: Option<Assignment>,
    /// Who allowed it, if somebody was asked.
    pub(in crate::agent::turn) allowed_by: Option<UserId>,
    /// How much of what it does was meant by what allows it.
    pub(super) breadth: Breadth,
    /// The child turn that carries it out, once that is in the ledger.
    pub(super) child: Option<BegunChild>,
}

impl Runnable {
    /// Its assignment, if a child turn carries it out.
    pub(in crate::agent::turn) fn for_child(&self) -> Option<&Assignment> {
        self.assignment.as_ref().filter(|one| one.waits)
    }
}

/// A call whose arguments were checked, or what is wrong with them.
pub(super) type Checked = Result<Prepared, InvalidCall>;

/// A call after it was judged.
#[derive(Clone)]
pub(super) enum Looked {
    Run(Runnable),
    /// It may run, and its start is in the ledger.
    Started(Runnable),
    /// A person decides.
    Ask(Runnable, String),
    /// It does not run.
    Refused {
        action: String,
        reason: String,
    },
}

impl Looked {
    pub(super) fn has_child(&self) -> bool {
        match self {
            Self::Run(one) | Self::Started(one) | Self::Ask(one, _) => one.for_child().is_some(),
            Self::Refused { .. } => false,
        }
    }
}

impl Turn {
    /// Checks the arguments of calls, and finds out where the paths and remotes in them lead.
    pub(super) async fn prepare(&self, calls: &[Call], size: usize) -> Vec<Checked> {
        let tools = &self.context.deps.tools;
        let check = |call: &Call| tools.prepare(&call.name, &call.arguments);
        let check_all = || long::work_on(size, || calls.iter().map(check).collect());
        let checked: Vec<Checked> = check_all();
        let leads = |one: &Prepared| one.path.is_some() || one.remote.is_some();
        if !checked.iter().flatten().any(leads) {
            return checked;
        }
        let folder = self.context.deps.folder(&self.context.agent);
        let most = self.limits().calls;
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

    /// Judges a call; nothing runs.
    pub(super) fn look(
        &self,
        call: &Call,
        checked: Checked,
        profiles: Result<&Stack, &ProfileError>,
        effort: &Effort,
    ) -> Looked {
        if let Some(reason) = self.refused_hand_over(call) {
            return Looked::Refused {
                action: call.name.clone(),
                reason,
            };
        }
        if call.name != CALL_TOOL
            && let Err(refusal) = self.setup.has_tool(&call.name)
        {
            return Looked::Refused {
                action: call.name.clone(),
                reason: refusal.to_string(),
            };
        }
        let prepared = match checked {
            Ok(prepared) => prepared,
            Err(invalid) => {
                return Looked::Refused {
                    action: call.name.clone(),
                    reason: invalid.to_string(),
                };
            }
        };
        if !modes::has_tool(self.mode(), prepared.info.name) {
            return Looked::Refused {
                action: prepared.action.to_string(),
                reason: modes::has_not(self.mode()),
            };
        }
        let Verdict {
            decision,
            reason,
            breadth,
        } = match profiles {
            Ok(profiles) => {
                let always_allow = &self.setup.payer().config.always_allow;
                profiles.decide(&prepared.action, always_allow, effort)
            }
            Err(invalid) => Verdict::deny(invalid.to_string()),
        };
        let assignment = prepared
            .delegation
            .as_ref()
            .filter(|_| decision != Decision::Deny);
        let assignment = match assignment
            .map(|delegation| self.assignment(delegation))
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
            allowed_by: None,
            breadth: match decision {
                // It runs only after a person saw all of it.
                Decision::Ask => Breadth::Whole,
                Decision::Allow | Decision::Deny => breadth,
            },
            child: None,
        };
        match decision {
            Decision::Allow => Looked::Run(runnable),
            Decision::Ask => Looked::Ask(runnable, reason),
            Decision::Deny => Looked::Refused {
                action: runnable.prepared.action.to_string(),
                reason: format!("not permitted: {reason}"),
            },
        }
    }

    /// Looks up the former sub-agents that calls continue, and the agents that they name. Those found are counted as
    /// children of the run.
    pub(super) async fn with_former(&self, looked: Vec<Looked>) -> Result<Vec<Looked>, StoreError> {
        let mut found = Vec::with_capacity(looked.len());
        let mut going_on = HashSet::new();
        for mut one in looked {
            if let Looked::Run(runnable) | Looked::Ask(runnable, _) = &mut one
                && let Some(assignment) = &mut runnable.assignment
                && let Err(why) = self.find_and_count(assignment, &mut going_on).await?
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

    async fn find_and_count(
        &self,
        assignment: &mut Assignment,
        going_on: &mut HashSet<ConversationId>,
    ) -> Result<Result<(), NotCalled>, StoreError> {
        if let Err(why) = self.find_whom(assignment).await? {
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
        self.count_child(assignment).await
    }
}

/// The calls from `first` on that people are to be asked about.
pub(super) fn to_ask<'a>(first: usize, calls: &'a [Call], looked: &'a [Looked]) -> Vec<ToAsk<'a>> {
    let all = calls.iter().zip(looked).enumerate().skip(first);
    all.filter_map(|(at, (call, looked))| match looked {
        Looked::Ask(runnable, reason) => Some(ToAsk {
            at,
            call,
            prepared: &runnable.prepared,
            reason,
        }),
        Looked::Run(_) | Looked::Started(_) | Looked::Refused { .. } => None,
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
            Looked::Run(one) | Looked::Started(one) => match &one.prepared.writes {
                Some(path) => written.insert(path.clone()),
                None => true,
            },
        })
}
