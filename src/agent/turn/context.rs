//! What does not change while a turn runs: whose it is, where it is seen, and how it can be stopped.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tracing::warn;

use super::prompt;
use super::resume::Before;
use super::shared_run::Run;
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::deps::questions::PersonEnd;
use crate::agent::event::{AskingChild, TurnRef};
use crate::agent::files::look::{Look, Wanted};
use crate::agent::models::ModelError;
use crate::agent::models::budget::{Caps, RoleCap, Spender};
use crate::agent::sessions::{Save, SessionError, Summary};
use crate::agent::setup::tool_specs::{Able, OfServers, Watched};
use crate::agent::setup::{OuterProfile, Setup};
use crate::agent::stop::StopSignal;
use crate::agent::stop::at_work::AtWork;
use crate::agent::stop::work_clock::TimeAbove;
use crate::charter::Role;
use crate::clock;
use crate::config::{Orchestration, Tiers};
use crate::domain::{
    AgentName, AttemptKind, AttemptOutcome, CallId, ConversationId, Cost, Item, Mode, Participant,
    SaveTrigger, SessionId, SessionMeta, ToolCall, ToolResult, TurnId, Usage, UserId,
};
use crate::llm::Target;
use crate::store::{AttemptRow, AuditDecision, AuditRow, ChildKind, StoreError, TurnCause};
use crate::text;
use crate::tools::{ResultRoom, Toolset};

/// What does not change while a turn runs.
pub(in crate::agent) struct TurnContext {
    pub(in crate::agent) deps: Arc<AgentDeps>,
    pub(in crate::agent) agent: Arc<Identity>,
    pub(in crate::agent) reference: TurnRef,
    pub(in crate::agent) conversation: ConversationId,
    pub(in crate::agent) branch: Option<u32>,
    /// The person at the beginning of a chain of turns that start one another.
    pub(in crate::agent) asker: Option<UserId>,
    /// The turn that caused this one.
    pub(in crate::agent) parent: Option<TurnId>,
    /// A model other than the agent's.
    pub(in crate::agent) model: Option<String>,
    /// The mode that this turn was asked to run in.
    pub(in crate::agent) asked_mode: Option<Mode>,
    pub(in crate::agent) stop: StopSignal,
    pub(in crate::agent) run: Arc<Run>,
    /// The roles from the run's root down to this turn; empty where the agent itself is at work.
    pub(in crate::agent) lineage: Vec<Arc<Role>>,
    /// The agent's name, then those of the roles.
    pub(in crate::agent) path: String,
    /// The agent that it works for, where it uses another agent's files.
    pub(in crate::agent) working_for: Option<Arc<WorkingFor>>,
    /// The caps that its role and those above it set.
    pub(in crate::agent) within: Vec<RoleCap>,
    /// In a child turn: what it answers.
    pub(in crate::agent) child: Option<ChildSide>,
    /// What the turn that the run's root continues had used.
    pub(in crate::agent) before: Before,
    /// What those who read the channel are shown of it as it works.
    pub(in crate::agent) shown: ShownHere,
}

/// What the readers of a run's channel are shown of a turn as it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum ShownHere {
    Words,
    /// What it does, without its words: it works as an agent to which some of them have no access.
    Progress,
}

/// Working time of a stage after a turn whose own time is over, and of an advisor whose charter sets none.
pub(in crate::agent) const TIME_OF_STAGE: Duration = Duration::from_secs(60);

/// What a child turn answers, and within which limits it works.
#[derive(Clone, Debug)]
pub(in crate::agent) struct ChildSide {
    pub(in crate::agent) parent: TurnId,
    /// `None` where it answers in its parent's place.
    pub(in crate::agent) answers: Option<AnsweredCall>,
    /// Whose files the parent uses.
    pub(in crate::agent) parent_agent: AgentName,
    pub(in crate::agent) kind: ChildKind,
    pub(in crate::agent) title: String,
    /// Working time that its parent leaves it.
    pub(in crate::agent) time: TimeOfChild,
}

/// Working time that a parent leaves a child turn.
#[derive(Clone, Debug)]
pub(in crate::agent) enum TimeOfChild {
    /// What the parent has left itself, less what it keeps, as its clock goes on.
    Shared(TimeAbove),
    /// So much, whatever the parent has left.
    Own(Duration),
}

impl TimeOfChild {
    /// What the clocks above allow, where they do at all.
    pub(in crate::agent) fn above(&self) -> Option<&TimeAbove> {
        match self {
            Self::Shared(above) => Some(above),
            Self::Own(_) => None,
        }
    }
}

/// The call that a child turn answers.
#[derive(Clone, Debug)]
pub(in crate::agent) struct AnsweredCall {
    pub(in crate::agent) id: CallId,
    /// The name that the parent's model wrote for the tool.
    pub(in crate::agent) written: String,
    /// What its report shares with the results of the calls beside it.
    pub(in crate::agent) room: Option<ResultRoom>,
}

/// The agent of a run, for a child turn that works as another one.
#[derive(Debug)]
pub(in crate::agent) struct WorkingFor {
    pub(in crate::agent) agent: Arc<Identity>,
    /// The roles from the run's root down to the turn that called the other agent.
    pub(in crate::agent) lineage: Vec<Arc<Role>>,
    /// Ended when the other agent is.
    pub(in crate::agent) _at_work: Arc<AtWork>,
}

impl TurnContext {
    pub(in crate::agent) fn id(&self) -> TurnId {
        self.reference.turn
    }

    /// Whether the turn was asked to end.
    pub(in crate::agent) fn is_stopping(&self) -> bool {
        self.stop.asked().is_some()
    }

    /// The targets of this turn, in order.
    pub(in crate::agent) fn targets(&self, setup: &Setup) -> Result<Vec<Target>, ModelError> {
        let mode = setup.mode(self.asked_mode);
        let names = self
            .deps
            .models_of_turn(&self.agent, &setup.config, self.model.as_ref(), mode);
        let targets = self.deps.models.targets(&names)?;
        self.within(setup, targets)
    }

    /// Leaves out targets that its requests may not go to.
    pub(in crate::agent) fn within(
        &self,
        setup: &Setup,
        targets: Vec<Target>,
    ) -> Result<Vec<Target>, ModelError> {
        let who = || format!("Agent `{}`", self.agent.name);
        self.deps.models.within(setup.reach(), targets, who)
    }

    /// The agent of the run, which pays for its turns.
    pub(in crate::agent) fn payer(&self) -> &Arc<Identity> {
        let other = self.working_for.as_ref();
        other.map_or(&self.agent, |asker| &asker.agent)
    }

    /// The agents that work here: the run's own, and the one that works for it.
    pub(in crate::agent) fn agents(&self) -> Vec<&Identity> {
        let asker = self.working_for.as_ref().map(|asker| &*asker.agent);
        asker.into_iter().chain([&*self.agent]).collect()
    }

    /// The agent as its files say now, narrowed by the roles of a child turn.
    pub(in crate::agent) async fn setup(&self) -> Setup {
        self.look_at(Wanted::Itself, |_| ()).await.setup
    }

    /// Reads the agent's files once: [`Self::setup`], and what `also` reads in its folder.
    pub(in crate::agent) async fn look_at<T: Send + 'static>(
        &self,
        wanted: Wanted,
        also: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Look<T> {
        let look = self.deps.look_at(&self.agent, wanted, also).await;
        Look {
            setup: self.in_its_place(look.setup).await.within(self.outer()),
            ..look
        }
    }

    /// The profile of the webhook whose deliveries began the run: it decides for every turn of the run.
    fn outer(&self) -> Option<OuterProfile> {
        let run = self.run.planned.as_ref()?;
        run.outer.clone()
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
    pub(in crate::agent) fn caps(&self, setup: &Setup) -> Caps {
        let payer = setup.payer();
        let effective = self.deps.effective(self.payer(), &payer.config);
        let caps = self.deps.caps_of(&effective, payer);
        let (usd, tokens) = (self.before.usd(), self.before.tokens());
        let turn = match &self.run.planned {
            Some(run) => Some(run.budget(caps.turn)),
            None => caps.turn,
        };
        Caps {
            turn: turn.map(|cap| (cap - usd).max(0.0)),
            turn_tokens: caps.turn_tokens.map(|cap| cap.saturating_sub(tokens)),
            ..caps
        }
    }

    /// The models that somebody chose for tiers.
    pub(in crate::agent) fn tiers(&self, setup: &Setup) -> Tiers {
        self.deps.effective(&self.agent, &setup.config).server.tiers
    }

    /// Who the model is told to be.
    pub(in crate::agent) fn facts(&self) -> String {
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
    pub(in crate::agent) fn tools_now(&self, setup: &Setup, delegates: bool) -> Toolset {
        if let Some(hub) = &self.deps.services.mcp {
            hub.meets(&setup.mcp);
        }
        match self.deps.profiles_of(setup) {
            Ok(profiles) => {
                let mode = setup.mode(self.asked_mode);
                let told = &self.deps.told;
                let able = Able {
                    delegates,
                    asks_people: self.asks_people(),
                    of_servers: self.of_servers(),
                    watched: self.watched(),
                };
                told.of(&self.deps.tools, &profiles, setup, mode, able)
            }
            Err(_) => Toolset::default(),
        }
    }

    /// Which tools of MCP servers it may use: one that stands around another's work only reads.
    fn of_servers(&self) -> OfServers {
        match self.child.as_ref().map(|child| child.kind) {
            Some(ChildKind::Advisor | ChildKind::Route | ChildKind::Handoff) => OfServers::Reading,
            Some(ChildKind::SubAgent) | None => OfServers::All,
        }
    }

    /// Whether it may put questions to people. A stage of a turn may not, nor a run that another agent began, nor one whose
    /// words pass a role before people see them.
    pub(in crate::agent) fn asks_people(&self) -> bool {
        let kind = self.child.as_ref().map(|child| child.kind);
        let is_stage = kind.is_some_and(|kind| kind != ChildKind::SubAgent);
        !is_stage && self.run.cause != TurnCause::Peer && !self.run.hides_words()
    }

    /// Ends the questions of the run that are still open: a child turn that was dropped cannot.
    pub(in crate::agent) async fn leave_no_question(&self) {
        let left = self.deps.questions.of_conversation(self.conversation);
        if let Err(error) = self.deps.end_questions(left, &PersonEnd::WentOn).await {
            warn!(turn.id = %self.id(), "failed to end a question that nobody waits for: {error}");
        }
    }

    /// Who watches the run.
    pub(in crate::agent) fn watched(&self) -> Watched {
        if self.run.payer.is_unattended {
            Watched::ByNobody
        } else {
            Watched::ByAPerson
        }
    }

    pub(in crate::agent) fn spender(&self) -> Spender {
        Spender {
            agent: self.payer().id,
            guild: self.agent.guild,
            turn: Some(self.id()),
            run: Some(self.run.root),
            role: self.role(),
            payer: self.run.payer,
            within: self.within.clone(),
            known: self.run.spent.clone(),
        }
    }

    /// The role that a child turn has.
    fn role(&self) -> Option<String> {
        self.lineage.last().map(|role| role.name.clone())
    }

    /// Everyone behind the turn as they are now. Whoever cannot be looked up is listed without any rights.
    pub(in crate::agent) async fn people_now(&self) -> Result<Vec<Participant>, StoreError> {
        let behind = self.deps.store.people_behind(self.id()).await?;
        let asked = behind
            .into_iter()
            .map(|user| self.deps.participant(self.agent.guild, user));
        Ok(join_all(asked).await)
    }

    /// The audit row of a decision about a call's action, without secrets. An allowed call is about to start.
    pub(in crate::agent) fn audit_row(
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
    pub(in crate::agent) fn tool_row(&self, result: &ToolResult, took: Duration) -> AttemptRow {
        AttemptRow {
            at: clock::now() - took,
            guild: Some(self.agent.guild),
            agent: self.payer().id,
            turn: Some(self.id()),
            parent: self.parent,
            run: Some(self.run.root),
            role: self.role(),
            user: self.run.payer.charged,
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
    pub(in crate::agent) async fn save_raw(
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

    /// The title of this child turn as people see it. A model's title for a task is words of its own: empty where those
    /// pass a role first.
    pub(in crate::agent) fn shown_title<'a>(&self, title: &'a str) -> &'a str {
        let kind = self.child.as_ref().map(|child| child.kind);
        match kind {
            Some(ChildKind::SubAgent) if self.run.hides_words() => "",
            Some(_) | None => title,
        }
    }

    /// The child that asks; `None` where the agent itself does.
    pub(in crate::agent) fn asked_by(&self) -> Option<AskingChild> {
        let child = self.child.as_ref()?;
        Some(AskingChild {
            path: self.path.replace('/', " ▸ "),
            title: self.shown_title(&child.title).to_owned(),
            elsewhere: self.working_for.is_some().then(|| self.agent.name.clone()),
        })
    }

    /// A title for people, of at most `most` characters, without secrets. Secrets are removed first: in an escaped or
    /// shortened title they would not be recognised.
    pub(in crate::agent) fn title(&self, words: &str, most: usize) -> String {
        text::one_line(&self.deps.services.redactor.redact(words), most)
    }

    /// The limits of sub-agents, as they are configured now.
    pub(in crate::agent) fn orchestration(&self) -> Orchestration {
        self.deps.config.load().orchestration
    }
}
