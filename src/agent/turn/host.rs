//! What the loop of a turn asks of whatever surrounds it.
//!
//! The loop knows nothing of sub-agents, stages, reports and approvals. A test drives it with a fake of this trait.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::policy::{Last, Next, RetryCounters};
use super::{Outcome, Turn};
use crate::agent::event::Said;
use crate::domain::{Assistant, Item, StopReason, ToolCall, ToolResult};
use crate::llm::ToolSchema;
use crate::store::{FinishedTurn, Part, StoreError};

/// What surrounds a turn.
#[async_trait]
pub(in crate::agent) trait Host: Send {
    /// Returns what the model may do besides calling the agent's tools.
    fn extras(&self, turn: &Turn) -> Extras;

    /// A step begins. Returns whether it is the last that is left for a report.
    fn begins_step(&mut self) -> bool;

    /// Works out what a reply means, before the loop takes it for an answer or for calls.
    async fn takes(
        &mut self,
        turn: &mut Turn,
        reply: Whole,
        last: Option<&Last>,
        retries: &mut RetryCounters,
    ) -> Result<Taken, StoreError>;

    /// Stores an answer and runs its calls. Returns them with their results, which the ledger has.
    async fn run_calls(
        &mut self,
        turn: &mut Turn,
        answer: Assistant,
    ) -> Result<Vec<(ToolCall, ToolResult)>, StoreError>;

    /// A person's message was added to the turn.
    fn hears(&mut self, item: &Item);

    /// Returns the outcome of a turn whose loop ended with `outcome`.
    fn outcome(&mut self, outcome: Outcome) -> Outcome;

    /// Closes calls that others still work on: nothing may stand between these and their results.
    async fn close_calls(&mut self, turn: &mut Turn) -> Result<(), StoreError>;

    /// Returns what the turn's row keeps of its report.
    fn report(&self) -> Option<&Value>;

    /// Stores the end of the turn (D8). Returns what people get.
    async fn close(
        &mut self,
        turn: &mut Turn,
        ended: FinishedTurn,
        said: Said,
    ) -> Result<Vec<Part>, StoreError>;
}

/// What the model may do besides calling the agent's tools.
#[derive(Default)]
pub(in crate::agent) struct Extras {
    /// The roles that it may call, in words; empty where there are none.
    pub(in crate::agent) roles: Arc<str>,
    /// Tools that end the turn, which its last step has too.
    pub(in crate::agent) ending: Vec<ToolSchema>,
    /// Whether it has only those.
    pub(in crate::agent) only_ending: bool,
    /// How its work ends, if it must end in one way.
    pub(in crate::agent) how_it_ends: &'static str,
}

/// A reply that is whole.
pub(in crate::agent) struct Whole {
    pub(in crate::agent) answer: Assistant,
    pub(in crate::agent) stop: StopReason,
    /// Whether calls of it are left out because they are cut or make no sense.
    pub(in crate::agent) lacks_calls: bool,
}

/// What a reply means for whatever surrounds the turn.
pub(in crate::agent) enum Taken {
    /// Nothing.
    Not(Assistant),
    Next(Next),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    mod no_ports;

    use std::collections::VecDeque;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use parking_lot::Mutex;
    use serde_json::json;
    use tempfile::TempDir;
    use tokio::sync::{mpsc, watch};
    use tokio_util::sync::CancellationToken;

    use self::no_ports::NoPorts;
    use super::*;
    use crate::agent::deps::AgentDeps;
    use crate::agent::deps::identity::Identity;
    use crate::agent::event::Progress;
    use crate::agent::models::Models;
    use crate::agent::models::budget::Payer;
    use crate::agent::stop::{Stop, StopSignal, Stopper};
    use crate::agent::turn::TurnParams;
    use crate::agent::turn::begin::{self, Begun};
    use crate::agent::turn::end::{self, EndReason};
    use crate::agent::turn::trigger::{Overrides, Source, Trigger};
    use crate::config::{Config, Paths};
    use crate::domain::{
        AgentId, AgentName, AgentStatus, CallId, ChannelId, GuildId, Inbound, MessageId, Person,
        ProfileRef, TurnId, Usage, UserId,
    };
    use crate::exec::Workers;
    use crate::llm::listing::Listing;
    use crate::llm::local::Reach;
    use crate::llm::route::Router;
    use crate::llm::{
        Catalog, Encoded, LlmError, OnDelta, Provider, Providers, Reply, Request, client, discovery,
    };
    use crate::store::{AgentRow, AttachedRows, Starting, Store};
    use crate::text::redact::Redactor;
    use crate::tools::output_store::OutputStore;
    use crate::tools::{NoCommands, RateLimit, Registry, Services, Web, http_client};
    use crate::workspace::decisions::Decisions;
    use crate::workspace::template::Template;

    const CHANNEL: ChannelId = ChannelId(50);
    const GUILD: GuildId = GuildId(7);

    /// What the model does when it is asked.
    enum Does {
        Says(&'static str),
        /// Calls a tool with this id.
        Calls(&'static str),
        Hangs,
    }
    use Does::{Calls, Hangs, Says};

    /// A model that follows a script.
    #[derive(Default)]
    struct Scripted {
        script: Mutex<VecDeque<Does>>,
        asked: Mutex<Vec<Request>>,
        /// Cancelled when it is asked for something that it never answers.
        hangs: CancellationToken,
    }

    #[async_trait]
    impl Provider for Scripted {
        fn name(&self) -> &str {
            "scripted"
        }

        fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
            self.asked.lock().push(request.clone());
            Ok(Encoded {
                body: Default::default(),
                model: request.model.clone(),
                format: "scripted",
                changed_by: Default::default(),
                reach: Reach::Anywhere,
            })
        }

        async fn stream(&self, _: &Encoded, _: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
            let does = self.script.lock().pop_front().unwrap();
            let mut assistant = Assistant::default();
            match does {
                Says(text) => text.clone_into(&mut assistant.text),
                Calls(id) => assistant.tool_calls.push(ToolCall {
                    id: CallId(id.to_owned()),
                    name: "view".to_owned(),
                    arguments: Default::default(),
                }),
                Hangs => {
                    self.hangs.cancel();
                    return std::future::pending().await;
                }
            }
            Ok(Reply {
                assistant,
                stop: StopReason::EndTurn,
                usage: Usage::default(),
                request_id: None,
                citations: Vec::new(),
                truncated_calls: Vec::new(),
            })
        }

        async fn list_models(&self) -> Result<Listing, LlmError> {
            Ok(Listing::default())
        }
    }

    /// Surrounds a turn with nothing: its calls are closed without running.
    #[derive(Default)]
    struct Nothing {
        called: Vec<CallId>,
    }

    #[async_trait]
    impl Host for Nothing {
        fn extras(&self, _: &Turn) -> Extras {
            Extras::default()
        }

        fn begins_step(&mut self) -> bool {
            false
        }

        async fn takes(
            &mut self,
            _: &mut Turn,
            reply: Whole,
            _: Option<&Last>,
            _: &mut RetryCounters,
        ) -> Result<Taken, StoreError> {
            Ok(Taken::Not(reply.answer))
        }

        async fn run_calls(
            &mut self,
            turn: &mut Turn,
            answer: Assistant,
        ) -> Result<Vec<(ToolCall, ToolResult)>, StoreError> {
            let calls = answer.tool_calls.clone();
            turn.record_and_start(answer, Starting::default()).await?;
            let mut results = Vec::new();
            for call in calls {
                let result = ToolResult {
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    content: format!("result {}", self.called.len()),
                    is_error: false,
                    images: Vec::new(),
                };
                let (store, id) = (&turn.context.deps.store, turn.context.id());
                store
                    .refuse_call(id, &result, AttachedRows::default())
                    .await?;
                self.called.push(call.id.clone());
                results.push((call, result));
            }
            Ok(results)
        }

        fn hears(&mut self, _: &Item) {}

        fn outcome(&mut self, outcome: Outcome) -> Outcome {
            outcome
        }

        async fn close_calls(&mut self, _: &mut Turn) -> Result<(), StoreError> {
            Ok(())
        }

        fn report(&self) -> Option<&Value> {
            None
        }

        async fn close(
            &mut self,
            turn: &mut Turn,
            ended: FinishedTurn,
            _: Said,
        ) -> Result<Vec<Part>, StoreError> {
            let id = turn.context.id();
            turn.context.deps.store.finish_turn(id, ended).await
        }
    }

    fn services(agents: &Path) -> Services {
        let none = Arc::new(NoPorts);
        Services {
            agents: agents.to_owned(),
            locks: Default::default(),
            outputs: OutputStore::new(agents.to_owned()),
            redactor: Redactor::new(Vec::new()),
            docs: Default::default(),
            instructions: Default::default(),
            sends: RateLimit::default(),
            branches: RateLimit::default(),
            git: Default::default(),
            http: http_client().unwrap(),
            workers: Workers::new("/nonexistent".into()),
            web: Web::new(Vec::new()).unwrap(),
            messenger: none.clone(),
            directory: none.clone(),
            models: none.clone(),
            configure: none.clone(),
            mcp: None,
            decisions: none.clone(),
            planner: none,
            shell: Err(NoCommands("these tests run no commands")),
        }
    }

    async fn deps(home: &Path, model: Arc<Scripted>, mut config: Value) -> AgentDeps {
        config["default_model"] = json!("scripted/m");
        let config = Config::parse(&config.to_string(), Path::new("config.json")).unwrap();
        let paths = Paths::new(home);
        let providers = Providers::default();
        providers.add(model);
        let (providers, catalog) = (Arc::new(providers), Catalog::new(config.models.clone()));
        let catalog = Arc::new(catalog);
        let known = discovery::Models::new(providers.clone(), catalog.clone(), None);
        AgentDeps {
            store: Store::open(&paths.database()).await.unwrap(),
            models: Arc::new(Models::new(known, Router::new(providers, catalog, 1))),
            tools: Arc::new(Registry::standard()),
            services: Arc::new(services(&paths.agents())),
            http: client().unwrap(),
            clock: Default::default(),
            events: mpsc::unbounded_channel().0,
            members: Default::default(),
            settings: Default::default(),
            charters: Default::default(),
            stage_news: Default::default(),
            workspace_news: Default::default(),
            roles: Default::default(),
            configurations: Default::default(),
            decisions: Arc::new(Decisions::new(home)),
            docs: Default::default(),
            instructions: Default::default(),
            told: Default::default(),
            reservations: Default::default(),
            unattended: Default::default(),
            planned: Default::default(),
            deliveries: Default::default(),
            unstored: Default::default(),
            unclosed: Default::default(),
            beside: Default::default(),
            at_work: Default::default(),
            turned_away: Default::default(),
            without_thread: Default::default(),
            unpriced: Default::default(),
            interruptions: Default::default(),
            questions: Default::default(),
            busy: Default::default(),
            childs_last_words: std::time::Duration::from_secs(10),
            profiles: Arc::new(arc_swap::ArcSwap::from_pointee(
                config.permission_profiles().unwrap(),
            )),
            config: Arc::new(arc_swap::ArcSwap::from_pointee(config)),
            paths,
        }
    }

    fn message() -> Inbound {
        Inbound {
            id: MessageId(1),
            channel_id: CHANNEL,
            guild_id: GUILD,
            parent_id: None,
            author: Person {
                id: UserId(1),
                name: "ann".to_owned(),
                roles: Vec::new(),
                is_administrator: false,
                may_manage_server: false,
            },
            content: "go".to_owned(),
            attachments: Vec::new(),
            reply_to: None,
            quote: None,
            sent_at: "2026-02-12T10:30:00Z".parse().unwrap(),
            via: None,
            is_from_webhook: false,
            is_from_bot: false,
        }
    }

    /// A turn that has begun, and the model that it asks.
    struct Bench {
        _home: TempDir,
        turn: Box<Turn>,
        model: Arc<Scripted>,
        stop: StopSignal,
    }

    impl Bench {
        async fn new(script: impl IntoIterator<Item = Does>, config: Value) -> Self {
            let home = tempfile::tempdir().unwrap();
            let agents = home.path().join("agents");
            std::fs::create_dir(&agents).unwrap();
            Template::Embedded.copy_to(&agents.join("lab")).unwrap();
            let model = Arc::new(Scripted {
                script: Mutex::new(script.into_iter().collect()),
                ..Scripted::default()
            });
            let deps = Arc::new(deps(home.path(), model.clone(), config).await);
            let (agent, name) = (AgentId::random(), AgentName::parse("lab").unwrap());
            let row = AgentRow {
                id: agent,
                name: "lab".to_owned(),
                guild_id: GUILD,
                channel_id: Some(CHANNEL),
                model: None,
                permissions: ProfileRef::Named("standard".to_owned()),
                owner_id: Some(UserId(1)),
                created_at: crate::clock::now(),
                back_since: None,
                status: AgentStatus::Active,
            };
            deps.store.insert_agent(row).await.unwrap();
            let conversation = deps.store.main_conversation(agent).await.unwrap();
            deps.store.accept(&message()).await.unwrap();
            let stop = StopSignal::default();
            let params = TurnParams {
                turn: TurnId::random(),
                conversation: conversation.id,
                branch: None,
                channel: CHANNEL,
                role: None,
                items: None,
                seed: Default::default(),
                calibration: Default::default(),
                len: Arc::new(AtomicUsize::new(0)),
                has_kept_notes: Arc::new(AtomicBool::new(false)),
                steered: mpsc::unbounded_channel().1,
                strays: mpsc::unbounded_channel().0,
                stop: stop.clone(),
                wanted: CancellationToken::new(),
                progress: watch::Sender::new(Progress::begin()),
            };
            let source = Source::Message(Box::new(message()));
            let trigger = Trigger::new(source, Overrides::default());
            let agent = Arc::new(Identity::elsewhere(agent, name, GUILD, CHANNEL));
            let begun =
                begin::begin(deps, agent, Vec::new(), trigger, Payer::default(), params).await;
            let Begun::Turn(turn, ..) = begun else {
                panic!("the turn does not begin");
            };
            Self {
                _home: home,
                turn,
                model,
                stop,
            }
        }

        /// Works to the end. Returns how it ended and what was said.
        async fn works(&mut self, host: &mut Nothing) -> (EndReason, String) {
            let outcome = self.turn.work(host).await.unwrap();
            let ended = match &outcome {
                Outcome::Answer { answer, exit, .. } => (*exit, answer.text.clone()),
                other => (other.exit(), String::new()),
            };
            end::finish(&mut self.turn, host, outcome).await.unwrap();
            ended
        }
    }

    #[tokio::test]
    async fn an_answer_ends_the_turn() {
        let mut bench = Bench::new([Says("Hello.")], json!({})).await;
        let ended = bench.works(&mut Nothing::default()).await;
        assert_eq!(ended, (EndReason::Answered, "Hello.".to_owned()));
        let last = bench.turn.transcript.items.last();
        assert!(matches!(last, Some(Item::Assistant(answer)) if answer.text == "Hello."));
    }

    #[tokio::test]
    async fn the_results_of_calls_are_in_the_next_request() {
        let mut bench = Bench::new([Calls("1"), Says("Done.")], json!({})).await;
        let mut host = Nothing::default();
        let ended = bench.works(&mut host).await;
        assert_eq!(ended, (EndReason::Answered, "Done.".to_owned()));
        assert_eq!(host.called, [CallId("1".to_owned())]);
        let asked = bench.model.asked.lock();
        let told = asked[1].items.last();
        assert!(matches!(told, Some(Item::ToolResult(result)) if result.content == "result 0"));
    }

    #[tokio::test]
    async fn a_limit_leaves_one_step_without_tools() {
        let script = [Calls("1"), Says("So far.")];
        let mut bench = Bench::new(script, json!({"max_steps": 1})).await;
        let ended = bench.works(&mut Nothing::default()).await;
        assert_eq!(ended, (EndReason::StepLimit, "So far.".to_owned()));
        let asked = bench.model.asked.lock();
        assert!(!asked[0].tools.is_empty());
        assert!(asked[1].tools.is_empty());
    }

    #[tokio::test]
    async fn a_stop_has_the_last_word_and_an_abort_has_none() {
        for (stop, exit, said) in [
            (Stop::Graceful, EndReason::Stopped, "Half."),
            (Stop::Abort, EndReason::Aborted, ""),
        ] {
            let mut bench = Bench::new([Hangs, Says("Half.")], json!({})).await;
            let (hangs, signal) = (bench.model.hangs.clone(), bench.stop.clone());
            let stops = tokio::spawn(async move {
                hangs.cancelled().await;
                signal.ask(stop, &Stopper::Machine("a test"));
            });
            let ended = bench.works(&mut Nothing::default()).await;
            assert_eq!(ended, (exit, said.to_owned()));
            stops.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_full_window_is_summarised_before_the_next_request() {
        let window = json!({"models": {"scripted/m": {"window": 20_000, "max_output": 1_000}}});
        let mut bench = Bench::new([Says("They talked."), Says("Yes.")], window).await;
        let items = Arc::make_mut(&mut bench.turn.transcript.items);
        let words = items.pop().unwrap();
        for number in 0..40 {
            let said = crate::domain::UserText::note("word ".repeat(400));
            items.push(Item::User(said));
            items.push(Item::Assistant(Assistant {
                text: format!("answer {number}"),
                ..Assistant::default()
            }));
        }
        items.push(words);
        let ended = bench.works(&mut Nothing::default()).await;
        assert_eq!(ended, (EndReason::Answered, "Yes.".to_owned()));
        let asked = bench.model.asked.lock();
        assert!(asked[1].items.len() < 40, "{}", asked[1].items.len());
    }
}
