//! Which models an agent asks, and asking one of them once for something small.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::domain::{AgentConfig, Cost, Item, TurnId, UserText};
use crate::llm::discovery::{Available, Models as Discovered, Resolved};
use crate::llm::route::{Attempt, Observer, Planned, Router, StepReply, StepRequest, TurnHealth};
use crate::llm::{Target, tokens};
use crate::store::{AttemptRow, StoreError};

use super::budget::{Caps, Promise, Spender};
use super::parts::{Identity, Parts};
use super::turn::row_of;

/// Asked for small things where it is there: a summary of instructions, a prompt made of a description.
const SMALL: [&str; 3] = ["haiku", "gpt-5-nano", "gemini-2.5-flash-lite"];

/// Asked where nobody chose a model, the first that a provider has.
const DEFAULT: [&str; 2] = ["sonnet", "gpt-5"];

/// Share of a window that stays free beside the answer, for what estimates miss.
const BUFFER: u64 = 20;

/// The models that agents ask.
pub struct Models {
    known: Discovered,
    router: Router,
}

impl Models {
    /// Asks the models of `known` through `router`.
    pub fn new(known: Discovered, router: Router) -> Self {
        Self { known, router }
    }

    /// What is known of models and providers.
    pub fn known(&self) -> &Discovered {
        &self.known
    }

    /// What asks them.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// What discovery found last.
    pub fn available(&self) -> Option<Arc<Available>> {
        self.known.available()
    }

    /// The id that a person means by `name`; a provider that was never asked is asked now.
    ///
    /// # Errors
    ///
    /// A sentence with near names.
    pub async fn resolve(&self, name: &str) -> Result<String, String> {
        let shown = crate::text::one_line(name, 80);
        match self.known.resolve_asking(name).await {
            Ok(
                Resolved::Found(target)
                | Resolved::Unlisted(target)
                | Resolved::Undiscovered(target),
            ) => Ok(self.written(&target)),
            Ok(Resolved::NotFound { near }) if near.is_empty() => Err(format!(
                "There is no model `{shown}`. `/models` lists those there are."
            )),
            Ok(Resolved::NotFound { near }) => Err(format!(
                "There is no model `{shown}`. Near names: {}.",
                near.join(", ")
            )),
            Ok(Resolved::NoProvider) => Err(no_provider()),
            Err(error) => Err(format!(
                "Whether `{shown}` is there could not be found out: {error}."
            )),
        }
    }

    /// How a target is written in configuration: the model alone, where that leads back to it.
    fn written(&self, target: &Target) -> String {
        match self.known.resolve(&target.model) {
            Resolved::Found(same) | Resolved::Unlisted(same) | Resolved::Undiscovered(same)
                if same == *target =>
            {
                target.model.clone()
            }
            _ => target.to_string(),
        }
    }

    /// Whom a turn asks, in order; with no names, the model that stands for a choice nobody made.
    ///
    /// # Errors
    ///
    /// A sentence for people, when there is nobody.
    pub fn targets(&self, names: &[String]) -> Result<Vec<Target>, String> {
        let mut targets = Vec::new();
        let mut unknown = Vec::new();
        for name in names {
            match self.known.resolve(name) {
                Resolved::Found(target)
                | Resolved::Unlisted(target)
                | Resolved::Undiscovered(target) => {
                    if !targets.contains(&target) {
                        targets.push(target);
                    }
                }
                Resolved::NotFound { .. } => unknown.push(format!("`{name}`")),
                Resolved::NoProvider => return Err(no_provider()),
            }
        }
        if !targets.is_empty() {
            return Ok(targets);
        }
        if !unknown.is_empty() {
            return Err(format!(
                "there is no model {}; choose one with `/agent config` (`/models` lists them)",
                unknown.join(", ")
            ));
        }
        self.unchosen().map(|target| vec![target])
    }

    fn unchosen(&self) -> Result<Target, String> {
        if self.known.providers().is_empty() {
            return Err(no_provider());
        }
        let all = self.known.all();
        for name in DEFAULT {
            if let Resolved::Found(target) = self.known.resolve(name)
                && all.contains(&target)
            {
                return Ok(target);
            }
        }
        if let Some(first) = all.into_iter().next() {
            return Ok(first);
        }
        let guess = DEFAULT
            .iter()
            .find_map(|name| match self.known.resolve(name) {
                Resolved::Found(target)
                | Resolved::Unlisted(target)
                | Resolved::Undiscovered(target) => Some(target),
                Resolved::NotFound { .. } | Resolved::NoProvider => None,
            });
        guess.ok_or_else(|| {
            "no model is chosen; choose one with `/settings model` (`/models` lists them)"
                .to_owned()
        })
    }

    /// Most tokens to answer with: what the smallest target gives.
    pub fn max_output(&self, targets: &[Target]) -> u32 {
        let outputs = targets.iter().map(|target| {
            self.known
                .catalog()
                .facts(target)
                .max_output
                .min(most_output(&self.known.catalog().facts(target)))
        });
        outputs.min().unwrap_or(crate::llm::route::DEFAULT_OUTPUT)
    }

    /// Tokens that a request to `target` may take, so that an answer and a buffer fit beside it.
    pub fn room(&self, target: &Target) -> u64 {
        let facts = self.known.catalog().facts(target);
        let answer = u64::from(most_output(&facts));
        facts.window.saturating_sub(answer + facts.window / BUFFER)
    }

    /// A small model where there is one, else none.
    pub fn small(&self) -> Option<Target> {
        let all = self.known.all();
        SMALL
            .iter()
            .find_map(|name| match self.known.resolve(name) {
                Resolved::Found(target) if all.contains(&target) => Some(target),
                _ => None,
            })
    }
}

/// An answer takes at most a quarter of a window, or a small window would hold nothing else.
fn most_output(facts: &crate::llm::catalog::ModelFacts) -> u32 {
    let quarter = u32::try_from(facts.window / 4).unwrap_or(u32::MAX);
    facts
        .max_output
        .min(quarter)
        .min(crate::llm::route::DEFAULT_OUTPUT)
}

fn no_provider() -> String {
    "no model provider is configured; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or add one under `providers` in config.json".to_owned()
}

/// One question beside a turn.
pub(super) struct Aside<'a> {
    /// What the model is to do.
    pub system: &'a str,
    /// What it is to do it with.
    pub text: String,
    /// What the books call it.
    pub kind: &'static str,
    /// The turn it serves.
    pub turn: Option<TurnId>,
    /// What that turn has cost so far: what is asked beside a turn counts against its budget.
    pub spent: Cost,
}

impl Parts {
    /// The model asked first.
    pub fn first_model(&self, agent: &Identity, config: &AgentConfig) -> Option<String> {
        let names = self.effective(agent, config).models;
        self.models
            .targets(&names)
            .ok()?
            .first()
            .map(|target| target.model.clone())
    }

    /// Tokens that a request of this agent may take.
    pub fn room(&self, model: Option<&str>, agent: &Identity, config: &AgentConfig) -> u64 {
        let names = match model {
            Some(model) => vec![model.to_owned()],
            None => self.effective(agent, config).models,
        };
        match self.models.targets(&names) {
            Ok(targets) => targets
                .iter()
                .map(|target| self.models.room(target))
                .max()
                .unwrap_or_default(),
            Err(_) => 100_000,
        }
    }

    /// Asks the agent's own models something beside a turn; without tools, kept in the books.
    pub(super) async fn ask_aside(
        &self,
        agent: &Identity,
        config: &AgentConfig,
        aside: Aside<'_>,
    ) -> Result<StepReply, String> {
        let effective = self.effective(agent, config);
        let targets = self.models.targets(&effective.models)?;
        let mut books = Books {
            parts: self,
            agent,
            kind: aside.kind,
            turn: aside.turn,
            spent: aside.spent,
            caps: Caps {
                turn: aside.turn.and(effective.budget_turn),
                agent_day: effective.budget_day,
                month: self.config.load().budgets.month.map(|usd| usd.get()),
            },
            promise: None,
        };
        let step = small_step(aside.system, aside.text, self.models.max_output(&targets));
        let mut health = TurnHealth::default();
        let stop = CancellationToken::new();
        let answered = self
            .models
            .router
            .step(&targets, &step, &mut health, &mut books, &stop)
            .await;
        answered.map_err(|failure| failure.to_string())
    }

    /// Asks a small model, where there is one, else the server's; for work that belongs to no agent yet.
    ///
    /// # Errors
    ///
    /// Why there is no answer, for the log.
    pub async fn ask_small(&self, system: &str, text: String) -> Result<String, String> {
        let targets = match self.models.small() {
            Some(target) => vec![target],
            None => {
                let default = self.config.load().default_model.clone();
                self.models
                    .targets(&default.into_iter().collect::<Vec<_>>())?
            }
        };
        let step = small_step(system, text, self.models.max_output(&targets));
        let mut health = TurnHealth::default();
        let stop = CancellationToken::new();
        let mut silent = crate::llm::route::Silent;
        let answered = self
            .models
            .router
            .step(&targets, &step, &mut health, &mut silent, &stop)
            .await;
        answered
            .map(|answer| answer.reply.assistant.text)
            .map_err(|failure| failure.to_string())
    }
}

fn small_step(system: &str, text: String, max_output: u32) -> StepRequest {
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
    }
}

/// Keeps the books of questions beside turns, and holds them to the budgets.
struct Books<'a> {
    parts: &'a Parts,
    agent: &'a Identity,
    kind: &'static str,
    turn: Option<TurnId>,
    spent: Cost,
    caps: Caps,
    promise: Option<Promise>,
}

impl Books<'_> {
    fn give_back(&mut self) {
        if let Some(promise) = self.promise.take() {
            self.parts.reservations.release(promise);
        }
    }
}

/// A question that is given up in the middle gives its promise back too.
impl Drop for Books<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[async_trait::async_trait]
impl Observer for Books<'_> {
    async fn may_ask(&mut self, planned: &Planned<'_>) -> Result<(), String> {
        let spender = Spender {
            agent: self.agent.id,
            guild: self.agent.guild,
            turn: self.spent,
            pending: 0.0,
        };
        let (parts, now) = (self.parts, clock::now());
        let promised = parts
            .reservations
            .promise(&parts.store, self.caps, spender, planned.worst, now)
            .await?;
        self.promise = Some(promised);
        Ok(())
    }

    async fn attempted(&mut self, attempt: &Attempt) {
        if let (Cost::Usd(so_far), Cost::Usd(more)) = (self.spent, attempt.cost) {
            self.spent = Cost::Usd(so_far + more);
        }
        let row: AttemptRow = row_of(self.agent, self.turn, None, self.kind, attempt);
        let stored: Result<(), StoreError> = self.parts.store.record_attempt(row).await;
        if let Err(error) = stored {
            tracing::warn!("an attempt could not be stored: {error}");
        }
        self.give_back();
    }
}
