//! Requests beside turns: a summary, hooks made from plain words, a prompt made from a description.
//!
//! They have no tools and a set time, are held to the budgets, and get a row in the ledger whether they succeed or fail.

pub(super) mod gate;
mod instructions;
pub mod refine;
mod report_lines;
pub(super) mod summaries;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use crate::agent::deps::AgentDeps;
use crate::agent::models::ModelError;
use crate::agent::models::budget::{
    Caps, KnownSums, LEAST_WORDS, Payer, Reservation, ReservationRequest, Spender, Spent,
};
use crate::agent::setup;
use crate::agent::stop::deadline::Deadline;
use crate::clock;
use crate::config::effective;
use crate::domain::{AgentConfig, AgentId, AttemptKind, GuildId, Item, TurnId, UserText};
use crate::llm::local::Reach;
use crate::llm::places::Lane;
use crate::llm::route::{
    Attempt, NotAsked, Observer, Planned, StepFailure, StepReply, StepRequest, TurnHealth,
};
use crate::llm::{Target, tokens};
use crate::store::{AttemptRow, StoreError};

/// One question beside a turn.
#[derive(Debug)]
pub struct AuxiliaryRequest<'a> {
    /// What the model is to do.
    pub system: &'a str,
    /// What it is to do it with.
    pub text: String,
    /// Its kind in the ledger.
    pub kind: AttemptKind,
}

/// Who asks, and how much may be spent.
#[derive(Clone, Debug)]
pub struct Asker {
    pub spender: Spender,
    pub caps: Caps,
    /// Who is served first where requests wait for a place.
    pub lane: Lane,
    /// Where the requests may go.
    pub reach: Reach,
}

impl AgentDeps {
    /// The agent asks, for `turn` or for itself. No person is charged unless the caller names one.
    pub fn asker(
        &self,
        agent: AgentId,
        guild: GuildId,
        config: &AgentConfig,
        turn: Option<TurnId>,
    ) -> Asker {
        let effective = effective::agent(config, &self.settings_of(guild), &self.config.load());
        Asker {
            spender: Spender {
                agent,
                guild,
                turn,
                run: turn,
                role: None,
                payer: Payer::default(),
                within: Vec::new(),
                known: KnownSums::default(),
            },
            caps: self.caps(&effective),
            lane: self.lane_of(agent),
            reach: setup::reach(config),
        }
    }

    /// What an agent and its server have spent.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn spent(
        &self,
        agent: AgentId,
        guild: GuildId,
        now: DateTime<Utc>,
    ) -> Result<Spent, StoreError> {
        Spent::of(&self.store, agent, guild, now).await
    }

    /// Asks `targets` something beside a turn, until `deadline`; then the request is given up, and its row says so.
    ///
    /// # Errors
    ///
    /// [`StepFailure::Stopped`] also where `deadline` has passed.
    pub(super) async fn ask_auxiliary(
        &self,
        targets: &[Target],
        asker: Asker,
        request: AuxiliaryRequest<'_>,
        deadline: &mut Deadline,
    ) -> Result<StepReply, StepFailure> {
        let stop = deadline.token();
        let step = StepRequest {
            lane: asker.lane,
            reach: asker.reach,
            ..step(
                request.system,
                request.text,
                self.models.max_output(targets),
            )
        };
        let mut recorder = UsageRecorder {
            deps: self,
            asker,
            kind: request.kind,
            held: None,
            deadline,
        };
        let mut health = TurnHealth::default();
        self.models
            .router()
            .step(targets, &step, &mut health, &mut recorder, &stop)
            .await
    }

    /// Asks a small model of a provider that `models` belong to, else `models` themselves, for at most `timeout`: for
    /// little things.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn ask_small(
        &self,
        asker: Asker,
        models: &[String],
        request: AuxiliaryRequest<'_>,
        timeout: Duration,
    ) -> Result<String, NoAnswer> {
        let own = self.models.targets(models)?;
        let whose = || "This agent".to_owned();
        let own = self.models.within(asker.reach, own, whose)?;
        let targets = match self.models.small_beside(&own) {
            Some(small) => vec![small],
            None => own,
        };
        let mut deadline = Deadline::new(&CancellationToken::new(), timeout);
        let answered = self
            .ask_auxiliary(&targets, asker, request, &mut deadline)
            .await;
        answered
            .map(|answer| answer.reply.assistant.text)
            .map_err(|failure| NoAnswer::of(failure, timeout))
    }
}

/// Why a question beside a turn has no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("{0}")]
    NoModel(#[from] ModelError),
    #[error("no answer within {} s", .0.as_secs())]
    TooLate(Duration),
    #[error("{0}")]
    Failed(#[source] StepFailure),
    #[error("the model declined")]
    Declined,
    #[error("the model said nothing")]
    Empty,
}

impl NoAnswer {
    /// The outcome of asking for at most `timeout`.
    pub(super) fn of(failure: StepFailure, timeout: Duration) -> Self {
        match failure {
            StepFailure::Stopped => Self::TooLate(timeout),
            other => Self::Failed(other),
        }
    }
}

fn step(system: &str, text: String, max_output: u32) -> StepRequest {
    let items = vec![Item::User(UserText {
        text,
        ..UserText::default()
    })];
    let system = vec![system.to_owned()];
    StepRequest {
        used_tokens: tokens::of_items(&items) + tokens::of_fixed(&system, &[]),
        system,
        items: Arc::new(items),
        tools: Arc::default(),
        max_output: Some(max_output),
        web_search: false,
        effort: None,
        lane: Lane::default(),
        reach: Reach::default(),
    }
}

/// Records the cost of questions beside turns, and holds them to the budgets.
struct UsageRecorder<'a> {
    deps: &'a AgentDeps,
    asker: Asker,
    kind: AttemptKind,
    held: Option<Reservation>,
    deadline: &'a mut Deadline,
}

#[async_trait::async_trait]
impl Observer for UsageRecorder<'_> {
    async fn may_ask(&mut self, planned: &Planned<'_>) -> Result<u32, NotAsked> {
        self.held = None;
        let reservation = ReservationRequest {
            spender: &self.asker.spender,
            caps: self.asker.caps,
            planned,
            least: LEAST_WORDS,
        };
        let (deps, now) = (self.deps, clock::now());
        let reserved = deps
            .reservations
            .reserve(&deps.store, reservation, &mut None, now)
            .await;
        let held = reserved.map_err(|over| NotAsked(over.why))?;
        let output = held.output;
        deps.tell_of_budgets(self.asker.spender.agent, &held.near)
            .await;
        self.held = Some(held);
        Ok(output)
    }

    async fn attempted(&mut self, attempt: &Attempt) {
        if let Some(turn) = self.asker.spender.turn {
            self.deps.beside.took(turn, attempt.usage, attempt.cost);
        }
        self.record(self.kind, attempt).await;
        self.held = None;
    }

    fn queues(&mut self, _before: usize) {
        // Beside turns somebody waits for the answer, and no longer than they were told.
        if self.asker.spender.turn.is_some() {
            self.deadline.pause();
        }
    }

    async fn queued(&mut self, wait: &Attempt) {
        self.deadline.resume();
        self.record(AttemptKind::Queue, wait).await;
    }
}

impl UsageRecorder<'_> {
    async fn record(&self, kind: AttemptKind, attempt: &Attempt) {
        let row = row_of(&self.asker.spender, None, kind, attempt);
        if let Err(error) = self.deps.store.record_attempt(row.clone()).await {
            tracing::warn!("failed to store a request to a model, it is tried again: {error}");
            self.deps.unstored.put([row]);
        }
    }
}

/// An attempt as the ledger keeps it.
pub(super) fn row_of(
    spender: &Spender,
    parent: Option<TurnId>,
    kind: AttemptKind,
    attempt: &Attempt,
) -> AttemptRow {
    AttemptRow {
        at: clock::now() - attempt.latency,
        guild: Some(spender.guild),
        agent: spender.agent,
        turn: spender.turn,
        parent,
        run: spender.run,
        role: spender.role.clone(),
        user: spender.payer.charged,
        kind,
        provider: attempt.target.provider.clone(),
        model: attempt.target.model.clone(),
        outcome: attempt.outcome,
        usage: attempt.usage,
        cost: attempt.cost,
        duration: attempt.latency,
        request_id: attempt.request_id.clone(),
        detail: attempt.error.clone(),
    }
}
