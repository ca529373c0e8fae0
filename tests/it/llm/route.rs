//! Whom a step asks, how often, and when it gives up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chorus::domain::{Assistant, AttemptOutcome, CallId, Cost, Item, StopReason, ToolCall, Usage};
use chorus::llm::listing::Listing;
use chorus::llm::local::Reach;
use chorus::llm::places::Lane;
use chorus::llm::quirks::Quirks;
use chorus::llm::route::{
    Attempt, NotAsked, Observer, Pace, Planned, Router, StepFailure, StepReply, StepRequest,
    TurnHealth,
};
use chorus::llm::{
    Catalog, Encoded, FailureClass, LlmError, OnDelta, Provider, Providers, Reply, Request, Target,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::conformance::view_tool;
use super::history::{called, result, said};

/// What a scripted provider does when it is asked.
#[derive(Clone, Debug)]
enum Does {
    Answers,
    Calls(&'static str),
    Fails(FailureClass, Option<u64>),
    Hangs,
}
use Does::{Answers, Calls, Fails, Hangs};

/// A provider that follows a script and counts what it is made to do.
struct Scripted {
    name: &'static str,
    script: Mutex<VecDeque<Does>>,
    encoded: Mutex<Vec<Request>>,
    asked: watch::Sender<u32>,
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        self.encoded.lock().unwrap().push(request.clone());
        Ok(Encoded {
            body: bytes::Bytes::new(),
            model: request.model.clone(),
            format: "scripted",
            changed_by: Quirks::default(),
            reach: Reach::Anywhere,
        })
    }

    async fn stream(&self, body: &Encoded, _: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        self.asked.send_modify(|count| *count += 1);
        let does = self
            .script
            .lock()
            .unwrap()
            .pop_front()
            .expect("asked more often than scripted");
        let mut assistant = Assistant {
            text: format!("{} answers", self.name),
            model: Some(body.model.clone()),
            ..Assistant::default()
        };
        match does {
            Answers => {}
            Calls(id) => {
                let call = ToolCall {
                    id: CallId(id.into()),
                    name: "view".into(),
                    arguments: serde_json::Map::new(),
                };
                assistant.tool_calls.push(call);
            }
            Fails(class, wait) => {
                return Err(LlmError {
                    class,
                    provider: self.name.into(),
                    message: "no".into(),
                    status: None,
                    retry_after: wait.map(Duration::from_secs),
                    request_id: Some("req_1".into()),
                    usage: None,
                });
            }
            Hangs => std::future::pending().await,
        }
        let usage = Usage {
            input: 1_000_000,
            output: 0,
            ..Usage::default()
        };
        Ok(Reply {
            assistant,
            stop: StopReason::EndTurn,
            usage,
            request_id: None,
            citations: vec![],
            truncated_calls: vec![],
        })
    }

    async fn list_models(&self) -> Result<Listing, LlmError> {
        Ok(Listing::default())
    }
}

/// So short that no test waits; how long a wait would be is told to the observer.
const HURRIED: Pace = Pace {
    min_wait: Duration::from_millis(1),
    max_wait: Duration::from_millis(1),
    pause: Duration::from_micros(1),
};

/// Providers `a`, `b`, `c` in that order, and a turn that asks them.
struct Turn {
    scripted: Vec<Arc<Scripted>>,
    router: Router,
    targets: Vec<Target>,
    health: TurnHealth,
    stop: CancellationToken,
    step: StepRequest,
}

impl Turn {
    fn new(scripts: Vec<Vec<Does>>) -> Self {
        Self::with_windows(scripts, &[])
    }

    fn with_windows(scripts: Vec<Vec<Does>>, windows: &[u64]) -> Self {
        let providers = Providers::default();
        let mut scripted = Vec::new();
        for (name, script) in ["a", "b", "c"].into_iter().zip(scripts) {
            let provider = Arc::new(Scripted {
                name,
                script: Mutex::new(script.into()),
                encoded: Mutex::default(),
                asked: watch::Sender::default(),
            });
            scripted.push(Arc::clone(&provider));
            providers.add(provider);
        }
        let overrides = ["a/m", "b/m", "c/m"]
            .into_iter()
            .zip(windows)
            .map(|(name, window)| {
                (
                    name.to_owned(),
                    serde_json::from_value(serde_json::json!({"window": window})).unwrap(),
                )
            });
        let priced = (
            "a/m".to_owned(),
            serde_json::from_value(serde_json::json!({"input_price": 2, "output_price": 4}))
                .unwrap(),
        );
        let overrides = [priced].into_iter().chain(overrides).collect();
        let targets = scripted
            .iter()
            .map(|provider| Target::new(provider.name, "m"))
            .collect();
        let catalog = Arc::new(Catalog::new(overrides));
        let mut router = Router::new(Arc::new(providers), catalog, 3);
        router.pace = HURRIED;
        Self {
            scripted,
            router,
            targets,
            health: TurnHealth::default(),
            stop: CancellationToken::new(),
            step: StepRequest {
                effort: None,
                reach: Reach::Anywhere,
                lane: Lane::Root,
                system: vec![],
                items: Arc::new(vec![said("hi"), called(&["call_1"]), result("call_1", "x")]),
                tools: Arc::new(vec![view_tool()]),
                max_output: None,
                web_search: true,
                used_tokens: 1_000,
            },
        }
    }

    async fn asks(&mut self) -> Result<StepReply, StepFailure> {
        self.asks_watched_by(&mut Notes::default()).await
    }

    async fn asks_watched_by(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<StepReply, StepFailure> {
        self.router
            .step(
                &self.targets,
                &self.step,
                &mut self.health,
                observer,
                &self.stop,
            )
            .await
    }

    fn asked(&self) -> Vec<u32> {
        self.scripted
            .iter()
            .map(|provider| *provider.asked.borrow())
            .collect()
    }
}

/// Writes down what it sees.
#[derive(Default)]
struct Notes {
    attempts: Vec<Attempt>,
    waits: Vec<Duration>,
    lost: Vec<(String, FailureClass)>,
    worst: Vec<Cost>,
    allowed: Option<u32>,
    /// Tokens that the answers of the attempts may have; then as many as planned.
    granted: VecDeque<u32>,
    stops_when_waiting: Option<CancellationToken>,
    stops_after: Option<(usize, CancellationToken)>,
}

#[async_trait]
impl Observer for Notes {
    async fn may_ask(&mut self, planned: &Planned<'_>) -> Result<u32, NotAsked> {
        self.worst.push(planned.worst(planned.max_output));
        match self.allowed {
            Some(allowed) if planned.number > allowed => {
                Err(NotAsked("the budget of this turn is spent".into()))
            }
            _ => Ok(self.granted.pop_front().unwrap_or(planned.max_output)),
        }
    }

    async fn attempted(&mut self, attempt: &Attempt) {
        self.attempts.push(attempt.clone());
        if let Some((attempts, stop)) = &self.stops_after
            && self.attempts.len() >= *attempts
        {
            stop.cancel();
        }
    }

    async fn waiting(&mut self, pause: Duration) {
        self.waits.push(pause);
        if let Some(stop) = &self.stops_when_waiting {
            stop.cancel();
        }
    }

    async fn lost(&mut self, target: &Target, error: &LlmError) {
        self.lost.push((target.to_string(), error.class));
    }
}

fn class(failure: &StepFailure) -> FailureClass {
    match failure {
        StepFailure::Failed { last, .. } => last.class,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_first_target_answers_and_nobody_else_is_asked() {
    let mut turn = Turn::new(vec![vec![Answers], vec![]]);
    let reply = turn.asks().await.unwrap();
    assert_eq!(reply.reply.assistant.text, "a answers");
    assert_eq!((reply.target, reply.attempts), (Target::new("a", "m"), 1));
    assert_eq!(reply.cost, Cost::Usd(2.0));
    assert_eq!(turn.asked(), [1, 0]);
}

#[tokio::test]
async fn every_failure_goes_on_to_the_next_target() {
    use FailureClass::*;
    let classes = [
        RateLimit,
        AuthError,
        QuotaExceeded,
        ModelError,
        ServerError,
        NetworkError,
        Timeout,
        InvalidResponse,
        ContextExceeded,
    ];
    for class in classes {
        let mut turn = Turn::new(vec![vec![Fails(class, None)], vec![Answers]]);
        let reply = turn.asks().await.unwrap();
        assert_eq!(
            (reply.target.provider.as_str(), reply.attempts),
            ("b", 2),
            "{class:?}"
        );
    }
}

#[tokio::test]
async fn refused_keys_credit_and_models_are_out_for_the_turn_and_told_once() {
    for class in [
        FailureClass::AuthError,
        FailureClass::QuotaExceeded,
        FailureClass::ModelError,
    ] {
        let mut turn = Turn::new(vec![vec![Fails(class, None)], vec![Answers, Answers]]);
        let mut notes = Notes::default();
        turn.asks_watched_by(&mut notes).await.unwrap();
        turn.asks_watched_by(&mut notes).await.unwrap();
        assert_eq!(turn.asked(), [1, 2], "{class:?}");
        assert_eq!(notes.lost, [("a/m".to_owned(), class)]);
    }
}

#[tokio::test]
async fn never_more_than_three_tries_whatever_fails() {
    use FailureClass::*;
    for class in [
        RateLimit,
        ServerError,
        NetworkError,
        Timeout,
        InvalidResponse,
    ] {
        let failures = || vec![Fails(class, None); 9];
        for targets in 1..=3 {
            let mut turn = Turn::new((0..targets).map(|_| failures()).collect());
            let failure = turn.asks().await.unwrap_err();
            assert_eq!(self::class(&failure), class);
            assert_eq!(
                turn.asked().iter().sum::<u32>(),
                3,
                "{class:?} with {targets} targets"
            );
        }
    }
}

/// Only a pause that is long can be told from none: with one of an hour the second attempt never comes.
#[tokio::test]
async fn a_target_is_asked_again_only_after_a_pause() {
    let mut turn = Turn::new(vec![vec![Fails(FailureClass::ServerError, None)]]);
    turn.router.pace.pause = Duration::from_secs(3_600);
    let mut notes = Notes {
        stops_after: Some((1, turn.stop.clone())),
        ..Notes::default()
    };
    assert!(matches!(
        turn.asks_watched_by(&mut notes).await,
        Err(StepFailure::Stopped)
    ));
    assert_eq!(turn.asked(), [1]);
}

#[tokio::test]
async fn when_all_are_limited_the_longest_wait_is_kept_and_shown() {
    let table = [
        ((Some(7), Some(12)), 12),
        ((Some(600), None), 60),
        ((Some(0), None), 1),
        ((None, None), 1),
    ];
    for ((first, second), expected) in table {
        let limited = |wait| Fails(FailureClass::RateLimit, wait);
        let mut turn = Turn::new(vec![vec![limited(first)], vec![limited(second)]]);
        turn.router.pace = Pace::default();
        let mut notes = Notes {
            stops_when_waiting: Some(turn.stop.clone()),
            ..Notes::default()
        };
        let failure = turn.asks_watched_by(&mut notes).await.unwrap_err();
        assert!(
            matches!(failure, StepFailure::Stopped),
            "a stop cuts the wait short"
        );
        let (least, most) = (
            Duration::from_secs(expected),
            Duration::from_secs(expected).mul_f64(1.1),
        );
        assert_eq!(notes.waits.len(), 1);
        assert!(
            notes.waits[0] >= least && notes.waits[0] <= most.min(Duration::from_secs(60)),
            "{:?}",
            notes.waits
        );
        assert_eq!(turn.asked(), [1, 1]);
    }
}

#[tokio::test]
async fn after_the_wait_the_first_is_asked_again() {
    let limited = || Fails(FailureClass::RateLimit, Some(5));
    let mut turn = Turn::new(vec![vec![limited(), Answers], vec![limited()]]);
    let reply = turn.asks().await.unwrap();
    assert_eq!((reply.target.provider.as_str(), reply.attempts), ("a", 3));
}

#[tokio::test]
async fn a_limited_target_is_left_alone_while_another_can_be_asked() {
    let limited = Fails(FailureClass::RateLimit, Some(3_600));
    let mut turn = Turn::new(vec![
        vec![limited],
        vec![Fails(FailureClass::ServerError, None), Answers],
    ]);
    turn.router.pace = Pace {
        pause: Duration::from_micros(1),
        ..Pace::default()
    };
    assert_eq!(turn.asks().await.unwrap().target.provider, "b");
    assert_eq!(turn.asked(), [1, 2]);
}

#[tokio::test]
async fn a_stop_cuts_a_request_short_and_accounts_for_it() {
    let mut turn = Turn::new(vec![vec![Hangs]]);
    let stop = turn.stop.clone();
    let mut asked = turn.scripted[0].asked.subscribe();
    let stopping = async {
        asked.wait_for(|count| *count > 0).await.unwrap();
        stop.cancel();
    };
    let mut notes = Notes::default();
    let (failure, ()) = tokio::join!(turn.asks_watched_by(&mut notes), stopping);
    assert!(matches!(failure, Err(StepFailure::Stopped)));
    assert_eq!(notes.attempts[0].outcome.as_str(), "stopped");
    assert_eq!(notes.attempts[0].cost, Cost::Unknown);
}

#[tokio::test]
async fn every_attempt_is_accounted() {
    let mut turn = Turn::new(vec![
        vec![Fails(FailureClass::Timeout, None)],
        vec![Answers],
    ]);
    let mut notes = Notes::default();
    turn.asks_watched_by(&mut notes).await.unwrap();
    let rows: Vec<_> = notes
        .attempts
        .iter()
        .map(|row| {
            (
                row.target.to_string(),
                row.number,
                row.outcome.as_str(),
                row.cost,
            )
        })
        .collect();
    let expected = [
        ("a/m".to_owned(), 1, "timeout", Cost::Unknown),
        ("b/m".to_owned(), 2, "ok", Cost::Unknown),
    ];
    assert_eq!(rows, expected);
    assert_eq!(notes.attempts[0].request_id.as_deref(), Some("req_1"));
    assert_eq!(notes.attempts[0].error.as_deref(), Some("no"));
    assert_eq!(notes.attempts[1].outcome, AttemptOutcome::Ok);
    assert_eq!(notes.attempts[1].usage.input, 1_000_000);
}

#[tokio::test]
async fn a_budget_is_asked_before_each_attempt_with_the_worst_case() {
    let mut turn = Turn::new(vec![vec![Fails(FailureClass::ServerError, None), Answers]]);
    let mut notes = Notes {
        allowed: Some(1),
        ..Notes::default()
    };
    let failure = turn.asks_watched_by(&mut notes).await.unwrap_err();
    assert_eq!(failure.to_string(), "the budget of this turn is spent");
    assert_eq!(turn.asked(), [1]);
    // 1,000 tokens in at 2 dollars, 8,192 out at 4 dollars a million.
    let worst = (1_000.0 * 2.0 + 8_192.0 * 4.0) / 1e6;
    assert!(
        matches!(notes.worst[0], Cost::Usd(sum) if (sum - worst).abs() < 1e-9),
        "{:?}",
        notes.worst
    );
}

/// What a budget leaves is the most that is asked for; a further attempt that has less is asked for less.
#[tokio::test]
async fn an_answer_is_as_long_as_its_budget_allows() {
    let fails = || Fails(FailureClass::ServerError, None);
    let mut turn = Turn::new(vec![vec![fails(), fails(), Answers]]);
    let mut notes = Notes {
        granted: [5_000, 2_000, 3_000].into(),
        ..Notes::default()
    };
    turn.asks_watched_by(&mut notes).await.unwrap();
    let built: Vec<u32> = turn.scripted[0]
        .encoded
        .lock()
        .unwrap()
        .iter()
        .map(|request| request.max_output_tokens)
        .collect();
    assert_eq!(built, [5_000, 2_000]);
}

#[tokio::test]
async fn a_body_is_built_once_for_each_target_of_a_step() {
    let fails = || Fails(FailureClass::ServerError, None);
    let mut turn = Turn::new(vec![vec![fails(), Answers], vec![fails()]]);
    turn.asks().await.unwrap();
    let built: Vec<usize> = turn
        .scripted
        .iter()
        .map(|provider| provider.encoded.lock().unwrap().len())
        .collect();
    assert_eq!(built, [1, 1]);
    let request = turn.scripted[0].encoded.lock().unwrap()[0].clone();
    assert_eq!(
        (
            request.max_output_tokens,
            request.web_search,
            request.tools.len()
        ),
        (8_192, false, 1)
    );
}

#[tokio::test]
async fn a_conversation_goes_to_a_target_with_room() {
    let mut turn = Turn::with_windows(vec![vec![], vec![Answers]], &[900, 100_000]);
    assert_eq!(turn.asks().await.unwrap().target.provider, "b");
    assert_eq!(turn.asked(), [0, 1]);
    let mut turn = Turn::with_windows(
        vec![vec![], vec![Fails(FailureClass::ContextExceeded, None)]],
        &[900, 100_000],
    );
    assert!(matches!(
        turn.asks().await,
        Err(StepFailure::ContextExceeded)
    ));
    let mut turn = Turn::with_windows(vec![vec![]], &[900]);
    assert!(matches!(
        turn.asks().await,
        Err(StepFailure::ContextExceeded)
    ));
}

#[tokio::test]
async fn with_nobody_left_that_is_said() {
    let mut turn = Turn::new(vec![vec![Fails(FailureClass::AuthError, None)]]);
    assert_eq!(
        class(&turn.asks().await.unwrap_err()),
        FailureClass::AuthError
    );
    assert!(matches!(
        turn.asks().await,
        Err(StepFailure::NobodyLeft { .. })
    ));
    turn.targets = vec![Target::new("nobody", "m")];
    assert_eq!(
        class(&turn.asks().await.unwrap_err()),
        FailureClass::InvalidRequest
    );
    turn.targets.clear();
    assert!(matches!(
        turn.asks().await,
        Err(StepFailure::NobodyLeft { .. })
    ));
}

#[tokio::test]
async fn a_call_gets_an_id_that_the_conversation_does_not_have() {
    let mut turn = Turn::new(vec![vec![Calls("call_1"), Calls("call_9")]]);
    let ids = |reply: StepReply| reply.reply.assistant.tool_calls[0].id.0.clone();
    assert_eq!(ids(turn.asks().await.unwrap()), "call_1_2");
    assert_eq!(ids(turn.asks().await.unwrap()), "call_9");
    assert!(
        matches!(&turn.step.items[1], Item::Assistant(_)),
        "the history has no trace of it"
    );
}
