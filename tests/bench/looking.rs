//! What looking at a run takes: 64 turns and 2,000 rows, as text, as a page and as a picture.

use std::time::{Duration, Instant};

use chorus::domain::{
    AgentId, Assistant, AttemptKind, AttemptOutcome, CallId, ChannelId, ConversationId, Cost, Item,
    MessageId, ToolCall, ToolResult, TurnId, Usage, UserText,
};
use chorus::drawing::{self, Detail};
use chorus::store::{
    AttachedRows, AttemptRow, ChildKind, ChildOf, EndReason, FinishedTurn, NewChild, NewTurn,
    Opening, Previews, Starting, Store, ToldOfEnd, TurnCause,
};
use chorus::text::redact::Redactor;
use tempfile::TempDir;

use super::machine::median;
use super::scratch;
use super::table::{Row, Target, Unit, ms};

/// Child turns, and calls of each: with the answers and results about 2,000 rows.
const CHILDREN: usize = 63;
const CALLS: usize = 7;

/// Characters of each result.
const RESULT: usize = 6_000;

/// Times that each is done.
const TIMES: usize = 15;

pub(crate) async fn rows(rows: &mut Vec<Row>) {
    let folder = TempDir::new_in(scratch()).unwrap();
    let store = Store::open(&folder.path().join("chorus.db")).await.unwrap();
    let run = fill(&store).await;
    let redactor = Redactor::new(vec!["a secret of this bench".to_owned()]);
    let now = chrono::Utc::now();
    let text = times(async || {
        let rows = store.run_rows(run, Previews::None).await.unwrap().unwrap();
        let run = rows.into_run(&redactor);
        assert_eq!(run.nodes().len(), CHILDREN + 1);
        drop(drawing::run_lines(&run, now, Detail::Line, str::to_owned));
    });
    let text = text.await;
    rows.push(row("a run of 64 turns, 2,000 rows as text", 100.0, text));
    let page = times(async || {
        let rows = store
            .run_rows(run, Previews::Bytes(4 << 10))
            .await
            .unwrap()
            .unwrap();
        let page = drawing::run_page(&rows.into_run(&redactor), now);
        assert!(page.len() < drawing::PAGE_BYTES && page.len() > 1 << 20);
    });
    let page = page.await;
    rows.push(row("the same as a page", 1_000.0, page));
    let picture = times(async || {
        let rows = store.run_rows(run, Previews::None).await.unwrap().unwrap();
        drop(drawing::run_picture(&rows.into_run(&redactor), now).unwrap());
    });
    let picture = picture.await;
    rows.push(row("the same as a picture", 300.0, picture));
    store.close().await;
}

fn row(name: &str, most: f64, took: Duration) -> Row {
    Row::new(name, Unit::Ms, Target::Below(most), ms(took), None)
}

async fn times(work: impl AsyncFn()) -> Duration {
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let began = Instant::now();
        work().await;
        took.push(began.elapsed());
    }
    median(&took)
}

/// A root with as many children as there may be, each with its calls.
async fn fill(store: &Store) -> TurnId {
    let agent = AgentId::random();
    let conversation = store.main_conversation(agent).await.unwrap();
    let root = turn(agent, conversation.id, None);
    let words = Item::User(UserText {
        text: "go".to_owned(),
        ..UserText::default()
    });
    store
        .begin_turn(Opening::new(root.clone(), vec![words.clone()]))
        .await
        .unwrap();
    for number in 0..CHILDREN {
        let call = CallId(format!("child-{number}"));
        let answer = calling(&call, "sub_agent");
        let child = turn(agent, conversation.id, Some((root.id, call.clone())));
        let new = NewChild {
            turn: child.clone(),
            item: words.clone(),
            seed: None,
            goes_on: None,
        };
        let starting = Starting {
            calls: vec![call.clone()],
            children: vec![new],
        };
        let attached = spent(agent, root.id, root.id);
        store
            .record_and_start(root.id, &answer, starting, Vec::new(), attached)
            .await
            .unwrap();
        for number in 0..CALLS {
            let call = CallId(format!("call-{number}"));
            let starting = Starting {
                calls: vec![call.clone()],
                children: Vec::new(),
            };
            let attached = spent(agent, child.id, root.id);
            store
                .record_and_start(
                    child.id,
                    &calling(&call, "view"),
                    starting,
                    Vec::new(),
                    attached,
                )
                .await
                .unwrap();
            store
                .finish_call(child.id, &result(call), AttachedRows::default())
                .await
                .unwrap();
        }
        store
            .finish_child(
                child.id,
                &end(),
                root.id,
                &result(call),
                ToldOfEnd::default(),
            )
            .await
            .unwrap();
    }
    store.finish_turn(root.id, end()).await.unwrap();
    root.id
}

fn turn(agent: AgentId, conversation: ConversationId, child: Option<(TurnId, CallId)>) -> NewTurn {
    NewTurn {
        id: TurnId::random(),
        agent,
        conversation,
        trigger: child.is_none().then_some(MessageId(1)),
        parent: child.as_ref().map(|(root, _)| *root),
        depth: 0,
        channel: ChannelId(1),
        reply_to: None,
        path: if child.is_some() {
            "lab/reviewer".to_owned()
        } else {
            "lab".to_owned()
        },
        cause: TurnCause::Message,
        child: child.map(|(run, call)| ChildOf {
            kind: ChildKind::SubAgent,
            run,
            call: Some(call),
            role: "reviewer".to_owned(),
            role_sha256: "0".repeat(64),
            title: "check the tests".to_owned(),
        }),
    }
}

fn calling(call: &CallId, tool: &str) -> Assistant {
    let mut arguments = serde_json::Map::new();
    arguments.insert("path".to_owned(), "src/main.rs".into());
    Assistant {
        text: "I look at the next file.".to_owned(),
        tool_calls: vec![ToolCall {
            id: call.clone(),
            name: tool.to_owned(),
            arguments,
        }],
        ..Assistant::default()
    }
}

fn result(call: CallId) -> ToolResult {
    ToolResult {
        call_id: call,
        name: "view".to_owned(),
        content: "fn main() { println!(\"<hello>\"); }\n".repeat(RESULT / 35),
        ..ToolResult::default()
    }
}

fn spent(agent: AgentId, turn: TurnId, run: TurnId) -> AttachedRows {
    AttachedRows {
        attempts: vec![AttemptRow {
            at: chrono::Utc::now(),
            guild: None,
            agent,
            turn: Some(turn),
            parent: None,
            run: Some(run),
            role: None,
            user: None,
            kind: AttemptKind::Model,
            provider: "anthropic".to_owned(),
            model: "sonnet".to_owned(),
            outcome: AttemptOutcome::Ok,
            usage: Usage {
                input: 1_000,
                output: 100,
                ..Usage::default()
            },
            cost: Cost::Usd(0.001),
            duration: Duration::from_millis(200),
            request_id: None,
            detail: None,
        }],
        ..AttachedRows::default()
    }
}

fn end() -> FinishedTurn {
    FinishedTurn {
        answer: Some(Assistant {
            text: "All is well.".to_owned(),
            ..Assistant::default()
        }),
        exit: EndReason::Answered,
        steps: 8,
        cost: Cost::Usd(0.0),
        report: None,
        ..FinishedTurn::broken_off(None)
    }
}
