//! One step's request to the models: what is asked, of which targets, and what is watched while it is answered.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::end::cause::ModelFailure;
use super::host::Extras;
use super::prompt::{self, SystemBlocks};
use super::{AnsweredBy, Turn};
use crate::agent::auxiliary::row_of;
use crate::agent::event::Event;
use crate::agent::files::Hears;
use crate::agent::models::Models;
use crate::agent::models::budget::{
    Caps, LEAST_OUTPUT, LEAST_WORDS, OverBudget, Reservation, ReservationRequest,
};
use crate::agent::setup::modes;
use crate::agent::stop::deadline::Deadline;
use crate::clock;
use crate::domain::{AttemptKind, CALL_TOOL, Mode};
use crate::llm::places::Lane;
use crate::llm::route::{Attempt, NotAsked, Observer, Planned, StepFailure, StepRequest, Unseen};
use crate::llm::{Delta, FailureClass, LlmError, Reply, Target, ToolSchema, tokens};
use crate::store::ChildKind;
use crate::text;
use crate::text::redact::RedactedStream;
use crate::tools::Toolset;

/// Longest time for a last step: even a small machine has said by then what is done.
const LAST_STEP: Duration = Duration::from_secs(300);

/// A limit that lasts longer than this is told with the time of its end.
const TOLD_WAIT: Duration = Duration::from_secs(60);

/// Whether the model may call tools in this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum Tools {
    On,
    Off,
}

/// The outcome of asking.
pub(in crate::agent) enum Asked {
    Reply(Box<Reply>),
    /// A stop cut it short.
    Stopped,
    /// A budget forbids it.
    OverBudget(OverBudget),
    /// No answer was to be had.
    Failed {
        class: FailureClass,
        error: String,
    },
}

impl Turn {
    /// Asks the turn's targets for the next answer.
    pub(in crate::agent) async fn ask(&mut self, tools: Tools, extras: &Extras) -> Asked {
        let targets = match self.context.targets(&self.setup) {
            Ok(targets) => targets,
            Err(error) => {
                return Asked::Failed {
                    class: FailureClass::ModelError,
                    error: error.to_string(),
                };
            }
        };
        let (system, schemas) = self.prompt_and_tools(tools, extras).await;
        self.keep_beginning(&targets, &schemas);
        let (items, used_tokens) = self.transcript.told(self.room(), self.leaves_out());
        let step = StepRequest {
            system,
            reach: self.setup.reach(),
            web_search: self.setup.config.web_search
                && !self.setup.config.local_only
                && tools == Tools::On
                && self.mode() != Mode::Direct
                && self.setup.has_tool("web_search").is_ok(),
            tools: schemas,
            items,
            max_output: Some(self.context.deps.models.max_output(&targets)),
            used_tokens,
            effort: self.setup.role.as_ref().and_then(|role| role.effort),
            lane: match tools {
                Tools::On => self.lane(),
                Tools::Off => Lane::LastStep,
            },
        };
        // The last step of a graceful stop listens to an abort only.
        let stop = match self.context.stop.asked() {
            Some(_) => self.context.stop.hard(),
            None => self.context.stop.now(),
        };
        // A server that sends a byte now and then is never silent, and never done.
        let time = match tools {
            Tools::On => self.time_left(),
            Tools::Off if self.context.child.is_some() => self.last_step_of_child(),
            Tools::Off => LAST_STEP,
        };
        let deadline = Deadline::new(stop, time).on(&self.clock);
        let caps = self.context.caps(&self.setup);
        self.send(&targets, &step, deadline, caps, tools).await
    }

    /// Whose requests it is served with, where requests wait for a place.
    pub(in crate::agent) fn lane(&self) -> Lane {
        self.context
            .deps
            .lane(self.context.payer(), self.context.child.is_some())
    }

    /// Has the ledger keep what the turn began with: its targets, its tools, its limits.
    fn keep_beginning(&mut self, targets: &[Target], schemas: &[ToolSchema]) {
        if self.accounting.tally.steps > 1 {
            return;
        }
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        let tools: Vec<&str> = schemas.iter().map(|tool| tool.name.as_str()).collect();
        let tools = match tools.as_slice() {
            [] => "none".to_owned(),
            tools => tools.join(", "),
        };
        let limits = self.limits();
        let mut within = vec![
            text::count(limits.steps as usize, "step", "steps"),
            clock::duration(limits.work),
        ];
        within.extend(
            limits
                .tokens
                .map(|tokens| format!("{} tokens", text::thousands(tokens))),
        );
        within.extend(self.context.caps(&self.setup).turn.map(text::dollars));
        let begun_with = format!(
            "models {} · tools {tools} · at most {}",
            targets.join(", "),
            within.join(", ")
        );
        self.accounting.attached.begun_with = Some((self.context.id(), begun_with));
    }

    /// The system prompt, and the tools that the model may call; their size is noted.
    pub(in crate::agent) async fn prompt_and_tools(
        &mut self,
        tools: Tools,
        extras: &Extras,
    ) -> (Vec<String>, Arc<Vec<ToolSchema>>) {
        let (docs, repository) = match (self.hears(), self.docs_now.take()) {
            (None, _) => Default::default(),
            (Some(_), Some(read)) => read,
            (Some(hears), None) => self.context.deps.docs_of(&self.context.agent, hears).await,
        };
        let toolset = match tools {
            Tools::On if !extras.only_ending => self
                .context
                .tools_now(&self.setup, !extras.roles.is_empty()),
            Tools::On | Tools::Off => Toolset::default(),
        };
        let schemas = if extras.ending.is_empty() {
            toolset.schemas
        } else {
            let all = toolset.schemas.iter().chain(&extras.ending).cloned();
            Arc::new(all.collect())
        };
        let system = prompt::system(&SystemBlocks {
            role: &self.setup.prompt(self.mode()),
            system_prompt: &self.setup.config.system_prompt,
            docs: &docs,
            repository: &repository,
            facts: &format!("{}{}", self.context.facts(), extras.how_it_ends),
            roles: match tools {
                Tools::On if toolset.delegates => &extras.roles,
                Tools::On | Tools::Off => "",
            },
            shelf: toolset.shelf.block(),
            seed: self
                .seed
                .as_deref()
                .filter(|_| modes::brings_notes(self.mode()))
                .unwrap_or_default(),
        });
        self.shelf = toolset.shelf;
        if tools == Tools::On {
            self.transcript
                .context_meter
                .set_fixed(tokens::of_fixed(&system, &schemas));
        }
        (system, schemas)
    }

    /// The texts of its folder that its requests hold now; `None` in a mode without any.
    pub(in crate::agent) fn hears(&self) -> Option<Hears> {
        modes::brings_notes(self.mode()).then(|| self.context.deps.hears(&self.setup))
    }

    /// Longest time for the last step of a child turn. Where it is a stage, a person waits for it: no longer than its work.
    fn last_step_of_child(&self) -> Duration {
        let most = self.context.deps.childs_last_words;
        match self.context.child.as_ref().map(|child| child.kind) {
            Some(ChildKind::SubAgent) | None => most,
            Some(ChildKind::Advisor | ChildKind::Route | ChildKind::Handoff) => {
                most.min(self.limits().work)
            }
        }
    }

    async fn send(
        &mut self,
        targets: &[Target],
        step: &StepRequest,
        deadline: Deadline,
        caps: Caps,
        tools: Tools,
    ) -> Asked {
        let mut health = self.context.run.health();
        let deps = self.context.deps.clone();
        let stop = deadline.token();
        let mut watcher = Watcher {
            words: deps.services.redactor.stream(),
            turn: self,
            caps,
            least: match tools {
                Tools::On => LEAST_OUTPUT,
                Tools::Off => LEAST_WORDS,
            },
            held: None,
            refused: None,
            deadline,
        };
        let answered = deps
            .models
            .router()
            .step(targets, step, &mut health, &mut watcher, &stop)
            .await;
        watcher.held = None;
        let refused = watcher.refused.take();
        self.context.run.learned(health);
        let hides_words = self.context.run.hides_words();
        match answered {
            Ok(answer) => {
                // The count of a request without tools says nothing about the next one, which has them.
                if tools == Tools::On {
                    let facts = deps.models.known().catalog().facts(&answer.target);
                    self.transcript.context_meter.counted(
                        &self.transcript.items,
                        answer.reply.usage,
                        facts.window,
                    );
                }
                self.accounting.failure = None;
                let before = self.answered_by.take();
                let newly = before.map_or(0, |before| before.unseen.newly);
                self.answered_by = Some(AnsweredBy {
                    target: answer.target,
                    unseen: Unseen {
                        newly: newly + answer.unseen.newly,
                        ..answer.unseen
                    },
                });
                Asked::Reply(Box::new(answer.reply))
            }
            Err(StepFailure::Stopped) => Asked::Stopped,
            Err(StepFailure::Refused(NotAsked(why))) => {
                Asked::OverBudget(refused.unwrap_or(OverBudget {
                    why,
                    last_words: false,
                    raisable: None,
                }))
            }
            Err(failure @ StepFailure::ContextExceeded) => Asked::Failed {
                class: FailureClass::ContextExceeded,
                error: failure.to_string(),
            },
            Err(StepFailure::Failed { last, attempts }) => {
                self.accounting.failure = self.failure(&last);
                Asked::Failed {
                    class: last.class,
                    error: if hides_words {
                        words_of(&last.without_words(), attempts)
                    } else {
                        words_of(&last, attempts)
                    },
                }
            }
            Err(StepFailure::NobodyLeft { cause: Some(_) }) if hides_words => Asked::Failed {
                class: FailureClass::ModelError,
                error: StepFailure::NobodyLeft { cause: None }.to_string(),
            },
            Err(failure @ StepFailure::NobodyLeft { .. }) => Asked::Failed {
                class: FailureClass::ModelError,
                error: failure.to_string(),
            },
            Err(StepFailure::NoPlace(error)) => Asked::Failed {
                class: FailureClass::Timeout,
                error,
            },
        }
    }
}

impl Turn {
    /// What is known of the failure that left the last step without an answer.
    fn failure(&self, last: &LlmError) -> Option<ModelFailure> {
        let target = self.accounting.asked.clone()?;
        Some(failure_of(target, last, &self.context.deps.models))
    }
}

/// What is known of a failure.
fn failure_of(target: Target, error: &LlmError, models: &Models) -> ModelFailure {
    ModelFailure {
        class: error.class,
        variable: models.known().providers().variable(&target.provider),
        until: ends_at(error),
        target,
    }
}

/// When a limit of the provider ends, where that is not soon.
fn ends_at(error: &LlmError) -> Option<DateTime<Utc>> {
    let wait = error.retry_after.filter(|wait| *wait > TOLD_WAIT)?;
    clock::now().checked_add_signed(TimeDelta::from_std(wait).ok()?)
}

/// Returns the last failure of a step for people, with the time at which a limit of hours ends.
fn words_of(last: &LlmError, attempts: u32) -> String {
    let attempts = match attempts {
        1 => String::new(),
        n => format!(" (after {n} attempts)"),
    };
    match ends_at(last) {
        Some(until) => format!(
            "{last}{attempts}. The limit ends <t:{}:R>",
            until.timestamp()
        ),
        None => format!("{last}{attempts}"),
    }
}

/// Watches a request: shows its progress, holds it to the budgets, records its cost.
struct Watcher<'a> {
    turn: &'a mut Turn,
    /// What the model says, of which nothing is shown that may still become a secret.
    words: RedactedStream,
    caps: Caps,
    /// Fewest output tokens that are worth asking for.
    least: u32,
    held: Option<Reservation>,
    /// The budget that the request would have exceeded.
    refused: Option<OverBudget>,
    /// When the request is given up.
    deadline: Deadline,
}

#[async_trait::async_trait]
impl Observer for Watcher<'_> {
    async fn may_ask(&mut self, planned: &Planned<'_>) -> Result<u32, NotAsked> {
        self.held = None;
        let spender = self.turn.context.spender();
        let reservation = ReservationRequest {
            spender: &spender,
            caps: self.caps,
            planned,
            least: self.least,
        };
        let deps = &self.turn.context.deps;
        let last_words = &mut self.turn.last_words;
        let reserved = deps
            .reservations
            .reserve(&deps.store, reservation, last_words, clock::now())
            .await;
        let held = match reserved {
            Ok(held) => held,
            Err(over) => {
                let why = over.why.clone();
                self.turn.used_up.clone_from(&over.raisable);
                self.refused = Some(over);
                return Err(NotAsked(why));
            }
        };
        let output = held.output;
        deps.tell_of_budgets(spender.agent, &held.near).await;
        self.held = Some(held);
        if planned.number > 1 {
            self.turn
                .doing(format!("Thinking (attempt {})", planned.number));
        }
        Ok(output)
    }

    fn delta(&mut self, delta: Delta<'_>) {
        match delta {
            Delta::Text(text) => {
                let shown = self.words.push(text);
                let speech = &self.turn.live.speech;
                speech.send_if_modified(|speech| {
                    speech.text.push_str(&shown);
                    !shown.is_empty()
                });
            }
            // The name of the tool is not known before the whole call is.
            Delta::Thinking | Delta::ToolCall(CALL_TOOL) => {}
            Delta::ToolCall(name) => {
                // Whatever the model wrote there, which need not be a tool's name.
                let doing = if self.turn.context.run.hides_words() {
                    "Calling a tool".to_owned()
                } else {
                    format!("Calling {}", text::one_line(name, 60))
                };
                self.turn.live.progress.send_if_modified(|progress| {
                    let changed = progress.doing != doing;
                    progress.doing = doing;
                    changed
                });
            }
        }
    }

    async fn attempted(&mut self, attempt: &Attempt) {
        let failed = attempt.error.is_some();
        self.turn.accounting.tally.add(attempt.usage, attempt.cost);
        self.turn.accounting.last = Some(attempt.outcome);
        self.turn.accounting.asked = Some(attempt.target.clone());
        self.turn
            .context
            .log_pricing(&attempt.target, attempt.usage, attempt.cost);
        let row = row_of(
            &self.turn.context.spender(),
            self.turn.context.parent,
            AttemptKind::Model,
            attempt,
        );
        if failed {
            // The words of the failed attempt are void; the next one begins again.
            self.words = self.turn.context.deps.services.redactor.stream();
            let speech = &self.turn.live.speech;
            speech.send_modify(|speech| speech.text.clear());
            // A failed attempt may be the last of the turn's life: it is stored by itself.
            let stored = self.turn.context.deps.store.record_attempt(row.clone());
            if let Err(error) = stored.await {
                tracing::warn!("failed to store a request to a model, it is tried again: {error}");
                self.turn.accounting.spent(row, self.held.take());
            }
        } else {
            let held = self.held.take();
            self.turn.accounting.spent(row, held);
        }
        self.held = None;
        self.turn.doing("Thinking");
    }

    fn queues(&mut self, before: usize) {
        self.deadline.pause();
        self.turn.doing(match before {
            0 => "Waiting for a place (next)".to_owned(),
            before => format!("Waiting for a place ({before} before it)"),
        });
    }

    async fn queued(&mut self, wait: &Attempt) {
        self.deadline.resume();
        let (spender, parent) = (self.turn.context.spender(), self.turn.context.parent);
        let row = row_of(&spender, parent, AttemptKind::Queue, wait);
        self.turn.accounting.attached.attempts.push(row);
        self.turn.doing("Thinking");
    }

    async fn waiting(&mut self, pause: Duration) {
        self.turn.doing(format!(
            "Rate limited, waiting {} s",
            pause.as_secs().max(1)
        ));
    }

    async fn lost(&mut self, target: &Target, error: &LlmError) {
        if matches!(
            error.class,
            FailureClass::AuthError | FailureClass::QuotaExceeded
        ) {
            let deps = &self.turn.context.deps;
            let next = failure_of(target.clone(), error, &deps.models).for_operator();
            let next = next.map_or_else(String::new, |next| format!("\n{next}"));
            deps.emit(Event::Operator {
                cause: format!("{}:{:?}", target.provider, error.class),
                text: format!("{target} cannot be used: {}{next}", error.message),
            });
        }
    }
}
