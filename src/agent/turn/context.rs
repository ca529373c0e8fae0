//! What does not change while a turn runs: whose it is, where it is seen, and how it can be stopped.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;

use super::child::ChildSide;
use super::prompt;
use super::run::Run;
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::TurnRef;
use crate::agent::files::look::{Look, Wanted};
use crate::agent::models::ModelError;
use crate::agent::models::budget::{Caps, RoleCap, Spender};
use crate::agent::sessions::{Save, SessionError, Summary};
use crate::agent::setup::Setup;
use crate::agent::stop::StopSignal;
use crate::agent::stop::at_work::AtWork;
use crate::charter::Role;
use crate::clock;
use crate::config::Tiers;
use crate::domain::{
    AttemptKind, AttemptOutcome, ConversationId, Cost, Item, Mode, Participant, SaveTrigger,
    SessionId, SessionMeta, ToolCall, ToolResult, TurnId, Usage, UserId,
};
use crate::llm::Target;
use crate::store::{AttemptRow, AuditDecision, AuditRow, StoreError};
use crate::tools::Toolset;

/// What does not change while a turn runs.
pub(super) struct TurnContext {
    pub(super) deps: Arc<AgentDeps>,
    pub(super) agent: Arc<Identity>,
    pub(super) reference: TurnRef,
    pub(super) conversation: ConversationId,
    pub(super) branch: Option<u32>,
    /// The person at the beginning of a chain of turns that start one another.
    pub(super) asker: Option<UserId>,
    /// The turn that caused this one.
    pub(super) parent: Option<TurnId>,
    /// Another model than the agent's.
    pub(super) model: Option<String>,
    /// The mode that this turn was asked to run in.
    pub(super) asked_mode: Option<Mode>,
    pub(super) stop: StopSignal,
    pub(super) run: Arc<Run>,
    /// The roles from the run's root down to this turn; empty where the agent itself is at work.
    pub(super) lineage: Vec<Arc<Role>>,
    /// The agent's name, then those of the roles.
    pub(super) path: String,
    /// The agent that it works for, where it uses another agent's files.
    pub(super) working_for: Option<Arc<WorkingFor>>,
    /// The caps that its role and those above it set.
    pub(super) within: Vec<RoleCap>,
    /// In a child turn: what it answers.
    pub(super) child: Option<ChildSide>,
    /// What those who read the channel are shown of it as it works.
    pub(super) shown: ShownHere,
}

/// What the readers of a run's channel are shown of a turn as it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownHere {
    Words,
    /// What it does, without its words: it works as an agent to which some of them have no access.
    Progress,
}

/// The agent of a run, for a child turn that works as another one.
#[derive(Debug)]
pub(super) struct WorkingFor {
    pub(super) agent: Arc<Identity>,
    /// The roles from the run's root down to the turn that called the other agent.
    pub(super) lineage: Vec<Arc<Role>>,
    /// Ended when the other agent is.
    pub(super) _at_work: Arc<AtWork>,
}

impl TurnContext {
    pub(super) fn id(&self) -> TurnId {
        self.reference.turn
    }

    /// Whether the turn was asked to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.asked().is_some()
    }

    /// The targets of this turn, in order.
    pub(super) fn targets(&self, setup: &Setup) -> Result<Vec<Target>, ModelError> {
        let mode = setup.mode(self.asked_mode);
        let names = self
            .deps
            .models_of_turn(&self.agent, &setup.config, self.model.as_ref(), mode);
        self.deps.models.targets(&names)
    }

    /// The agent of the run, which pays for its turns.
    pub(super) fn payer(&self) -> &Arc<Identity> {
        let other = self.working_for.as_ref();
        other.map_or(&self.agent, |asker| &asker.agent)
    }

    /// The agents that work here: the run's own, and the one that works for it.
    pub(super) fn agents(&self) -> Vec<&Identity> {
        let asker = self.working_for.as_ref().map(|asker| &*asker.agent);
        asker.into_iter().chain([&*self.agent]).collect()
    }

    /// The agent as its files say now, narrowed by the roles of a child turn.
    pub(super) async fn setup(&self) -> Setup {
        self.look_at(Wanted::Itself, |_| ()).await.setup
    }

    /// Reads the agent's files once: [`Self::setup`], and what `also` reads in its folder.
    pub(super) async fn look_at<T: Send + 'static>(
        &self,
        wanted: Wanted,
        also: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Look<T> {
        let look = self.deps.look_at(&self.agent, wanted, also).await;
        Look {
            setup: self.in_its_place(look.setup).await,
            ..look
        }
    }

    async fn in_its_place(&self, setup: Setup) -> Setup {
        let Some(asker) = &self.working_for else {
            return self.narrowed(setup, &self.lineage);
        };
        let above = self.deps.setup(&asker.agent).await;
        let above = self.narrowed(above, &asker.lineage);
        let own = self.deps.effective(&self.agent, &setup.config);
        let of_asker = self.deps.effective(&asker.agent, &above.config);
        let setup = setup.working_for(above, [&own, &of_asker]);
        // The role between the two is the agent's own.
        let below = self.lineage.get(asker.lineage.len() + 1..);
        self.narrowed(setup, below.unwrap_or_default())
    }

    fn narrowed(&self, setup: Setup, roles: &[Arc<Role>]) -> Setup {
        if roles.is_empty() {
            return setup;
        }
        let tiers = self.tiers(&setup);
        setup.for_child(roles, &tiers)
    }

    /// What its requests may cost.
    pub(super) fn caps(&self, setup: &Setup) -> Caps {
        let payer = setup.payer();
        let effective = self.deps.effective(self.payer(), &payer.config);
        self.deps.caps_of(&effective, payer)
    }

    /// The models that somebody chose for tiers.
    pub(super) fn tiers(&self, setup: &Setup) -> Tiers {
        self.deps.effective(&self.agent, &setup.config).server.tiers
    }

    /// Who the model is told to be.
    pub(super) fn facts(&self) -> String {
        let (name, channel) = (&self.agent.name, self.reference.channel);
        match (self.lineage.last(), &self.child) {
            (None, _) => prompt::agent_facts(name, channel),
            (Some(role), None) => prompt::branch_facts(&role.name, name, channel),
            (Some(role), Some(child)) => {
                let is_agent = role.name.strip_prefix('@');
                let role = is_agent.unwrap_or(&role.name);
                prompt::child_facts(role, self.payer().name.as_str(), child.kind)
            }
        }
    }

    /// What the model may call; tools that call a role are included only where there is one.
    pub(super) fn tools_now(&self, setup: &Setup, delegates: bool) -> Toolset {
        match self.deps.profiles_of(setup) {
            Ok(profiles) => {
                let mode = setup.mode(self.asked_mode);
                let told = &self.deps.told;
                told.of(&self.deps.tools, &profiles, setup, mode, delegates)
            }
            Err(_) => Toolset::default(),
        }
    }

    pub(super) fn spender(&self) -> Spender {
        Spender {
            agent: self.payer().id,
            guild: self.agent.guild,
            turn: Some(self.id()),
            run: Some(self.run.root),
            role: self.role(),
            within: self.within.clone(),
            known: self.run.spent.clone(),
        }
    }

    /// The role that a child turn has.
    fn role(&self) -> Option<String> {
        self.lineage.last().map(|role| role.name.clone())
    }

    /// Everyone behind the turn as they are now. Whoever cannot be looked up is listed without any rights.
    pub(super) async fn people_now(&self) -> Result<Vec<Participant>, StoreError> {
        let behind = self.deps.store.people_behind(self.id()).await?;
        let asked = behind
            .into_iter()
            .map(|user| self.deps.participant(self.agent.guild, user));
        Ok(join_all(asked).await)
    }

    /// The audit row of a decision about a call's action, without secrets. An allowed call is about to start.
    pub(super) fn audit_row(
        &self,
        call: &ToolCall,
        action: &str,
        decision: AuditDecision,
        by: Option<UserId>,
        detail: Value,
    ) -> AuditRow {
        AuditRow {
            timestamp: clock::now(),
            guild: Some(self.agent.guild),
            agent: Some(self.payer().id),
            agent_name: self.payer().name.to_string(),
            turn: Some(self.id()),
            run: Some(self.run.root),
            role: self.role(),
            path: None,
            call: Some(call.id.clone()),
            action: self.deps.services.redactor.redact(action).into_owned(),
            decision,
            user: self.run.people().first().copied().or(self.asker),
            decided_by: by,
            outcome: Some(decision.outcome()),
            detail: match detail {
                Value::Null => None,
                detail => Some(
                    self.deps
                        .services
                        .redactor
                        .redact(&detail.to_string())
                        .into_owned(),
                ),
            },
        }
    }

    /// A tool run for the ledger: its time, no money.
    pub(super) fn tool_row(&self, result: &ToolResult, took: Duration) -> AttemptRow {
        AttemptRow {
            at: clock::now() - took,
            guild: Some(self.agent.guild),
            agent: self.payer().id,
            turn: Some(self.id()),
            parent: self.parent,
            run: Some(self.run.root),
            role: self.role(),
            kind: AttemptKind::Tool,
            provider: String::new(),
            model: result.name.clone(),
            outcome: if result.is_error {
                AttemptOutcome::ToolError
            } else {
                AttemptOutcome::Ok
            },
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
            duration: took,
            request_id: None,
            detail: None,
        }
    }

    /// Saves the whole conversation before any of it is dropped.
    pub(super) async fn save_raw(
        &self,
        items: Arc<Vec<Item>>,
        summary: Summary,
    ) -> Result<SessionMeta, SessionError> {
        let save = Save {
            id: SessionId::random(),
            conversation: None,
            items,
            description: None,
            summary,
            trigger: SaveTrigger::Compaction,
            hides_words: false,
        };
        let saved = self.deps.save_session(&self.agent, self.conversation, save);
        saved.await
    }
}
