//! The client against scripted programs over a pair of streams: in order, and behaving badly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use chorus_acp::{
    Block, Client, Decision, Event, Events, Reading, RequestError, SetupError, StartMeta,
    StopReason, Update, choose, connect, readings,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

const LONG: Duration = Duration::from_secs(60);

/// The program's end of the streams.
struct Program {
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    writer: tokio::io::WriteHalf<DuplexStream>,
}

impl Program {
    async fn reads(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    }

    async fn writes(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    async fn answers(&mut self, result: &Value) -> Value {
        let request = self.reads().await;
        self.writes(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
        request
    }

    async fn updates(&mut self, update: &Value) {
        self.writes(&json!({"jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": "s", "update": update}}))
            .await;
    }

    async fn says(&mut self, text: &str) {
        self.updates(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
            .await;
    }
}

fn pair() -> (Client, Events, Program) {
    let (ours, theirs) = duplex(1 << 16);
    let (reader, writer) = split(ours);
    let (client, events) = connect(reader, writer);
    let (reader, writer) = split(theirs);
    let program = Program {
        lines: BufReader::new(reader).lines(),
        writer,
    };
    (client, events, program)
}

fn start() -> StartMeta {
    let mut meta = serde_json::Map::new();
    meta.insert("x".to_owned(), json!({"y": 1}));
    StartMeta {
        folder: "/w".to_owned(),
        meta,
    }
}

#[tokio::test]
async fn a_session_is_opened_and_its_mode_is_confirmed() {
    let (client, mut events, mut program) = pair();
    let play = tokio::spawn(async move {
        let hello = program.answers(&json!({"protocolVersion": 1})).await;
        assert_eq!(
            hello["params"]["clientCapabilities"]["fs"],
            json!({"readTextFile": false, "writeTextFile": false})
        );
        assert_eq!(
            hello["params"]["clientCapabilities"]["session"],
            json!({"notices": {}, "compaction": {}})
        );
        // It may tell things before it answers.
        for _ in 0..500 {
            program
                .updates(&json!({"sessionUpdate": "available_commands_update"}))
                .await;
            program.says("early").await;
        }
        let new = program
            .answers(&json!({"sessionId": "s", "modes": {"currentModeId": "auto", "availableModes": [{"id": "default"}]}}))
            .await;
        assert_eq!(
            new["params"],
            json!({"cwd": "/w", "mcpServers": [], "_meta": {"x": {"y": 1}}})
        );
        let mode = program.answers(&json!({})).await;
        assert_eq!(
            (&mode["method"], &mode["params"]["modeId"]),
            (&json!("session/set_mode"), &json!("default"))
        );
        program
    });
    client.initialize(&mut events, "1", LONG).await.unwrap();
    let mut session = client
        .new_session(&mut events, &start(), LONG)
        .await
        .unwrap();
    client
        .set_mode(&mut events, &mut session, "default", LONG)
        .await
        .unwrap();
    let program = play.await.unwrap();
    let refused = client
        .set_mode(&mut events, &mut session, "plan", LONG)
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "starts in mode default and does not accept plan"
    );
    drop(program);
}

#[tokio::test]
async fn an_option_that_does_not_change_is_not_confirmed() {
    let (client, mut events, mut program) = pair();
    let option = json!([{"id": "m", "name": "Mode", "category": "mode", "type": "select", "currentValue": "auto",
        "options": [{"value": "auto", "name": "A"}, {"value": "default", "name": "D"}]}]);
    let play = tokio::spawn(async move {
        program
            .answers(&json!({"sessionId": "s", "configOptions": option}))
            .await;
        for _ in 0..2 {
            program.answers(&json!({"configOptions": option})).await;
        }
    });
    let mut session = client
        .new_session(&mut events, &start(), LONG)
        .await
        .unwrap();
    let refused = client
        .set_mode(&mut events, &mut session, "default", LONG)
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "starts in mode auto and does not accept default"
    );
    play.await.unwrap();
}

#[tokio::test]
async fn updates_come_before_the_end_and_a_question_is_answered_once() {
    let (client, mut events, mut program) = pair();
    let number = client.prompt("s", &[Block::Text("hi".to_owned())]).unwrap();
    let asked = program.reads().await;
    assert_eq!(
        asked["params"]["prompt"],
        json!([{"type": "text", "text": "hi"}])
    );
    program.says("a").await;
    program
        .writes(&json!({"jsonrpc": "2.0", "id": "q-1", "method": "session/request_permission", "params": {
            "sessionId": "s", "toolCall": {"toolCallId": "1", "kind": "execute", "rawInput": {"command": "ls"}},
            "options": [{"optionId": "always", "name": "x", "kind": "allow_always"}, {"optionId": "once", "name": "x", "kind": "allow_once"}]}}))
        .await;
    assert!(matches!(events.next().await, Some(Event::Update(Update::Text(text))) if text == "a"));
    let Some(Event::Permission(question)) = events.next().await else {
        panic!("no question")
    };
    assert_eq!(
        readings(&[&question.call]),
        [Reading::Command("ls".to_owned())]
    );
    let choice = choose(&question.options, Decision::Allow);
    client.answer(question, &choice).unwrap();
    assert_eq!(
        program.reads().await,
        json!({"jsonrpc": "2.0", "id": "q-1", "result": {"outcome": {"outcome": "selected", "optionId": "once"}}})
    );
    program.says("b").await;
    let end = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"stopReason": "end_turn"}});
    program.writes(&end).await;
    // A second answer, and words after the end.
    program.writes(&end).await;
    program.says("late").await;
    assert!(matches!(events.next().await, Some(Event::Update(Update::Text(text))) if text == "b"));
    let ended = events.next().await;
    assert!(
        matches!(ended, Some(Event::PromptEnded { prompt, result: Ok(StopReason::EndTurn) }) if prompt == number),
        "{ended:?}"
    );
    assert!(
        matches!(events.next().await, Some(Event::Update(Update::Text(text))) if text == "late")
    );
    assert_eq!(client.dropped(), 1);
}

#[tokio::test]
async fn whatever_else_a_program_asks_is_refused() {
    let (_client, _events, mut program) = pair();
    for method in [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "elicitation/create",
        "x",
    ] {
        program
            .writes(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"path": "/etc/shadow"}}))
            .await;
        let answer = program.reads().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32601)),
            "{method}"
        );
    }
    // A question without a call is none.
    program
        .writes(&json!({"jsonrpc": "2.0", "id": 8, "method": "session/request_permission", "params": {"options": []}}))
        .await;
    assert_eq!(program.reads().await["error"]["code"], json!(-32601));
}

#[tokio::test]
async fn a_program_that_ends_ends_its_prompt_first() {
    let (client, mut events, program) = pair();
    client.prompt("s", &[]).unwrap();
    drop(program);
    let ended = events.next().await;
    assert!(
        matches!(
            ended,
            Some(Event::PromptEnded {
                result: Err(RequestError::Broken(_)),
                ..
            })
        ),
        "{ended:?}"
    );
    assert!(matches!(events.next().await, Some(Event::Gone(_))));
    assert!(events.next().await.is_none());
    assert!(matches!(
        client.prompt("s", &[]),
        Err(RequestError::Broken(_))
    ));
}

#[tokio::test]
async fn a_question_during_the_start_is_cancelled() {
    let (client, mut events, mut program) = pair();
    let play = tokio::spawn(async move {
        let request = program.reads().await;
        program
            .writes(&json!({"id": 1, "method": "session/request_permission", "params": {"toolCall": {"toolCallId": "1"}}}))
            .await;
        assert_eq!(
            program.reads().await["result"]["outcome"],
            json!({"outcome": "cancelled"})
        );
        program
            .writes(&json!({"id": request["id"], "error": {"code": -32000, "message": "Authentication required"}}))
            .await;
    });
    let error = client.new_session(&mut events, &start(), LONG).await;
    assert_eq!(error, Err(SetupError::SignIn));
    play.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn starts_that_fail_say_why() {
    let (client, mut events, _program) = pair();
    let error = client.initialize(&mut events, "1", LONG).await.unwrap_err();
    assert_eq!(error.to_string(), "did not answer within 60 s");
    for (answer, text) in [
        (
            json!({"result": {"protocolVersion": 2}}),
            "speaks ACP 2 only",
        ),
        (
            json!({"result": {}}),
            "its answer to initialize cannot be read",
        ),
        (
            json!({"result": "x"}),
            "its answer to initialize cannot be read",
        ),
        (
            json!({}),
            "its answer to initialize cannot be used: its answer cannot be read",
        ),
        (
            json!({"error": {"code": 5, "message": "no\nway"}}),
            "its answer to initialize cannot be used: it answered with an error (5): no way",
        ),
    ] {
        let (client, mut events, mut program) = pair();
        let play = tokio::spawn(async move {
            let request = program.reads().await;
            let mut answer = answer;
            answer["id"] = request["id"].clone();
            program.writes(&answer).await;
            program
        });
        let error = client.initialize(&mut events, "1", LONG).await.unwrap_err();
        assert_eq!(error.to_string(), text);
        drop(play.await.unwrap());
    }
}

#[tokio::test]
async fn long_lines_noise_and_broken_updates_are_counted() {
    let (client, mut events, mut program) = pair();
    let play = tokio::spawn(async move {
        let mut long = vec![b'{'; 20 << 20];
        long.push(b'\n');
        program.raw(&long).await;
        program.raw(b"hello\n{\"a\n").await;
        program.updates(&json!({"sessionUpdate": "levitate"})).await;
        program.updates(&json!(7)).await;
        program.says("after").await;
        program
    });
    assert!(
        matches!(events.next().await, Some(Event::Update(Update::Text(text))) if text == "after")
    );
    assert_eq!(client.dropped(), 5);
    let mut program = play.await.unwrap();
    tokio::spawn(async move {
        for _ in 0..1_500 {
            if program.writer.write_all(b"noise\n").await.is_err() {
                return;
            }
        }
    });
    assert!(matches!(
        events.next().await,
        Some(Event::Gone(chorus_rpc::Broken::TooNoisy))
    ));
}

#[tokio::test]
async fn a_burst_waits_for_whoever_takes_it() {
    let (_client, mut events, mut program) = pair();
    let play = tokio::spawn(async move {
        for _ in 0..100_000 {
            program.says("x").await;
        }
    });
    let mut count = 0;
    while let Some(Event::Update(Update::Text(_))) = events.next().await {
        count += 1;
    }
    assert_eq!(count, 100_000);
    play.await.unwrap();
}

#[tokio::test]
async fn a_program_that_does_not_read_stops_nobody() {
    let (client, _events, _program) = pair();
    let big = Block::Text("x".repeat(1 << 16));
    let mut refused = 0;
    for _ in 0..100 {
        if client.prompt("s", std::slice::from_ref(&big)) == Err(RequestError::NotReading) {
            refused += 1;
        }
    }
    assert!(refused >= 60, "{refused}");
    assert_eq!(client.cancel("s"), Err(RequestError::NotReading));
}
