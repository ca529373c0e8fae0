//! The client against servers that do what they should not: each must cost little and spoil nothing else.

#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::time::Duration;

use chorus_mcp::{
    Broken, CallResult, Client, Cut, Given, MAX_LINE, Mode, Patience, RequestError, StartError,
    Timing, ToolError,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};

const TIMING: Timing = Timing {
    start: Duration::from_secs(60),
    list: Duration::from_secs(30),
};

const PATIENCE: Patience = Patience {
    quiet: Duration::from_secs(120),
    most: Duration::from_secs(600),
};

/// The server's end.
struct Server {
    input: Lines<BufReader<DuplexStream>>,
    output: DuplexStream,
}

impl Server {
    /// The next message of the client.
    async fn hear(&mut self) -> Value {
        let line = self.input.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The next request of this method.
    async fn hear_of(&mut self, method: &str) -> Value {
        loop {
            let heard = self.hear().await;
            if heard["method"] == method {
                return heard;
            }
        }
    }

    async fn print(&mut self, line: &str) {
        // The client may have ended.
        let _ = self.output.write_all(format!("{line}\n").as_bytes()).await;
    }

    async fn answer(&mut self, to: &Value, mut result: Value) {
        if let Some(members) = result.as_object_mut() {
            members.insert("resultType".to_owned(), json!("complete"));
        }
        let line = json!({"jsonrpc": "2.0", "id": to["id"], "result": result});
        self.print(&line.to_string()).await;
    }

    async fn refuse(&mut self, to: &Value) {
        let error = json!({"code": -32601, "message": "no"});
        let line = json!({"jsonrpc": "2.0", "id": to["id"], "error": error});
        self.print(&line.to_string()).await;
    }

    /// The handshake of the newer revision.
    async fn discovered(mut self) -> Self {
        let asked = self.hear_of("server/discover").await;
        self.answer(
            &asked,
            json!({"supportedVersions": ["2026-07-28"], "instructions": "hi",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "odd", "version": "1"}}}),
        )
        .await;
        self
    }

    /// Answers requests for the list with one page.
    async fn lists(&mut self, tools: Value) {
        let asked = self.hear_of("tools/list").await;
        self.answer(&asked, json!({"tools": tools})).await;
    }

    /// Keeps its streams open.
    async fn hangs(self) -> ! {
        let _kept = self;
        std::future::pending().await
    }
}

/// A client of a server that does `what`.
async fn against<F>(
    known: Option<Mode>,
    what: impl FnOnce(Server) -> F,
) -> Result<Client, StartError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let (ours_in, theirs_out) = duplex(64 << 10);
    let (theirs_in, ours_out) = duplex(64 << 10);
    let server = Server {
        input: BufReader::new(theirs_in).lines(),
        output: theirs_out,
    };
    tokio::spawn(what(server));
    Client::start(ours_in, ours_out, known.as_ref(), TIMING).await
}

async fn call(client: &Client) -> Result<CallResult, RequestError> {
    client.call("do", &Map::new(), PATIENCE, drop).await
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "x", "inputSchema": {"type": "object"}})
}

#[tokio::test(start_paused = true)]
async fn a_silent_discover_leads_to_the_older_revision_in_five_seconds() {
    let before = tokio::time::Instant::now();
    let client = against(None, |mut server| async move {
        let asked = server.hear_of("initialize").await;
        assert_eq!(asked["params"]["protocolVersion"], "2025-11-25");
        server
            .answer(
                &asked,
                json!({"protocolVersion": "2025-03-26", "serverInfo": {"name": "old"}}),
            )
            .await;
        server.hear_of("notifications/initialized").await;
        server.hangs().await;
    });
    let client = client.await.unwrap();
    assert_eq!(client.mode(), &Mode::Session("2025-03-26".to_owned()));
    assert_eq!(before.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_refused_discover_leads_to_the_older_revision_at_once() {
    let client = against(None, |mut server| async move {
        let asked = server.hear().await;
        assert_eq!(asked["method"], "server/discover");
        let meta = &asked["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "chorus");
        server.refuse(&asked).await;
        let asked = server.hear().await;
        server
            .answer(&asked, json!({"protocolVersion": "2024-11-05"}))
            .await;
        server.hangs().await;
    });
    assert_eq!(client.await.unwrap().mode().revision(), "2024-11-05");
}

#[tokio::test(start_paused = true)]
async fn a_known_revision_is_tried_first_and_another_found() {
    let client = against(Some(Mode::of("2025-11-25")), |mut server| async move {
        let asked = server.hear().await;
        assert_eq!(asked["method"], "initialize");
        server.refuse(&asked).await;
        server.discovered().await.hangs().await;
    });
    let client = client.await.unwrap();
    assert_eq!(
        (client.mode(), client.server.as_str()),
        (&Mode::SelfContained, "odd 1")
    );
}

#[tokio::test(start_paused = true)]
async fn odd_revisions_are_refused() {
    for version in ["2024-10-07", "1.0", "", "2025-11-2x"] {
        let client = against(Some(Mode::of("2025-11-25")), move |mut server| async move {
            let asked = server.hear().await;
            server
                .answer(&asked, json!({"protocolVersion": version}))
                .await;
            server.hangs().await;
        });
        let error = client.await.map(|_| ()).unwrap_err();
        assert_eq!(error, StartError::Revision(version.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let client = against(None, |server| async move { server.hangs().await });
    assert_eq!(client.await.map(|_| ()).unwrap_err(), StartError::Deadline);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_at_its_start_is_told() {
    let client = against(None, |server| async move { drop(server) });
    assert_eq!(
        client.await.map(|_| ()).unwrap_err(),
        StartError::Broken(Broken::Ended)
    );
}

#[tokio::test(start_paused = true)]
async fn noise_before_and_between_answers_is_counted() {
    let client = against(None, |mut server| async move {
        server.print("Starting odd server…").await;
        server.print("[1,2]").await;
        server.print("{\"broken\":").await;
        server
            .print("{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}")
            .await;
        server
            .print("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}")
            .await;
        server.discovered().await.hangs().await;
    });
    assert_eq!(client.await.unwrap().noise(), 5);
}

#[tokio::test(start_paused = true)]
async fn endless_noise_ends_the_connection() {
    let client = against(None, |mut server| async move {
        loop {
            server.print("log log log").await;
        }
    });
    assert_eq!(
        client.await.map(|_| ()).unwrap_err(),
        StartError::Broken(Broken::TooNoisy)
    );
}

#[tokio::test(start_paused = true)]
async fn one_bad_tool_of_forty_leaves_the_others() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        let mut tools: Vec<Value> = (0..40).map(|number| tool(&format!("t{number}"))).collect();
        tools[7]["inputSchema"] = json!("none");
        tools[8]["name"] = json!(null);
        tools[9]["description"] = json!({"en": "x"});
        tools[10]["inputSchema"]["properties"] = json!({"a": {"$ref": "http://169.254.169.254/x"}});
        tools[11]["name"] = json!("t0");
        server.lists(json!(tools)).await;
        server.hangs().await;
    });
    let list = client.await.unwrap().list_tools().await.unwrap();
    assert_eq!(
        (list.tools.len(), list.refused.len(), list.cut),
        (35, 5, None)
    );
    assert_eq!(list.refused[4].why, ToolError::Twice);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_cursor_ends_the_list() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        for page in 0.. {
            let asked = server.hear_of("tools/list").await;
            server
                .answer(
                    &asked,
                    json!({"tools": [tool(&format!("t{page}"))], "nextCursor": "again"}),
                )
                .await;
        }
    });
    let list = client.await.unwrap().list_tools().await.unwrap();
    assert_eq!((list.tools.len(), list.cut), (2, Some(Cut::RepeatedCursor)));
}

#[tokio::test(start_paused = true)]
async fn endless_pages_end() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        for page in 0.. {
            let asked = server.hear_of("tools/list").await;
            server
                .answer(&asked, json!({"tools": [], "nextCursor": page.to_string()}))
                .await;
        }
    });
    let list = client.await.unwrap().list_tools().await.unwrap();
    assert_eq!(list.cut, Some(Cut::Pages));
}

#[tokio::test(start_paused = true)]
async fn five_thousand_tools_are_cut() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        let tools: Vec<Value> = (0..5_000)
            .map(|number| tool(&format!("t{number}")))
            .collect();
        server.lists(json!(tools)).await;
        server.hangs().await;
    });
    let list = client.await.unwrap().list_tools().await.unwrap();
    assert_eq!((list.tools.len(), list.cut), (256, Some(Cut::Tools)));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_many_megabytes_is_cut() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        for page in 0.. {
            let mut large = tool(&format!("t{page}"));
            large["description"] = json!("d".repeat(200 << 10));
            let asked = server.hear_of("tools/list").await;
            server
                .answer(
                    &asked,
                    json!({"tools": [large], "nextCursor": page.to_string()}),
                )
                .await;
        }
    });
    let list = client.await.unwrap().list_tools().await.unwrap();
    assert_eq!((list.tools.len(), list.cut), (20, Some(Cut::Bytes)));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_none_is_an_error() {
    for odd in [json!({}), json!({"tools": {}}), json!({"tools": "x"})] {
        let client = against(None, move |server| async move {
            let mut server = server.discovered().await;
            let asked = server.hear_of("tools/list").await;
            server.answer(&asked, odd).await;
            server.hangs().await;
        });
        let error = client.await.unwrap().list_tools().await.unwrap_err();
        assert!(matches!(error, RequestError::Unreadable(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn depth_is_no_matter() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        let asked = server.hear_of("tools/list").await;
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let good = tool("good");
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"x\":{deep},\"result\":{{\"resultType\":\"complete\",\"y\":{deep},\"tools\":\
             [{{\"name\":\"deep\",\"inputSchema\":{{\"type\":\"object\",\"z\":{deep}}}}},{good}]}}}}",
            asked["id"]
        );
        server.print(&line).await;
        server.hangs().await;
    });
    let list = client.await.unwrap().list_tools().await.unwrap();
    assert_eq!(
        (list.tools[0].name.as_str(), list.refused[0].name.as_str()),
        ("good", "deep")
    );
}

#[tokio::test(start_paused = true)]
async fn a_line_of_twenty_megabytes_is_dropped_and_the_request_ends_at_its_deadline() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        server.hear_of("tools/call").await;
        server
            .print(&format!("{{\"x\":\"{}\"}}", "y".repeat(20 << 20)))
            .await;
        server.hangs().await;
    });
    let client = client.await.unwrap();
    assert_eq!(call(&client).await, Err(RequestError::Deadline));
    assert_eq!(client.noise(), 1);
    const { assert!(MAX_LINE < 20 << 20) };
}

#[tokio::test(start_paused = true)]
async fn an_end_in_a_call_is_told() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        server.hear_of("tools/call").await;
    });
    let client = client.await.unwrap();
    assert_eq!(
        call(&client).await,
        Err(RequestError::Broken(Broken::Ended))
    );
    assert_eq!(
        call(&client).await,
        Err(RequestError::Broken(Broken::Ended))
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_cancelled_at_its_deadline() {
    let (told, heard) = tokio::sync::oneshot::channel();
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        let asked = server.hear_of("tools/call").await;
        let cancelled = server.hear_of("notifications/cancelled").await;
        told.send(cancelled["params"]["requestId"] == asked["id"])
            .unwrap();
        server.hangs().await;
    });
    let client = client.await.unwrap();
    let before = tokio::time::Instant::now();
    assert_eq!(call(&client).await, Err(RequestError::Deadline));
    assert_eq!(before.elapsed().as_secs(), 120);
    assert!(heard.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn progress_extends_a_call_to_ten_minutes_and_no_further() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        let asked = server.hear_of("tools/call").await;
        let token = &asked["params"]["_meta"]["progressToken"];
        loop {
            tokio::time::sleep(Duration::from_secs(50)).await;
            let params = json!({"progressToken": token, "progress": 1, "message": "still\nat it"});
            server.print(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string()).await;
        }
    });
    let client = client.await.unwrap();
    let before = tokio::time::Instant::now();
    let mut seen = Vec::new();
    let result = client
        .call("do", &Map::new(), PATIENCE, |progress| {
            seen.push(progress.message)
        })
        .await;
    assert_eq!(result, Err(RequestError::Deadline));
    assert_eq!(before.elapsed().as_secs(), 600);
    assert_eq!(seen[0].as_deref(), Some("still at it"));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_offered_is_refused_and_the_call_goes_on() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        let asked = server.hear_of("tools/call").await;
        for method in [
            "sampling/createMessage",
            "roots/list",
            "elicitation/create",
            "tasks/get",
        ] {
            server
                .print(
                    &json!({"jsonrpc": "2.0", "id": method, "method": method, "params": {}})
                        .to_string(),
                )
                .await;
            let answer = server.hear().await;
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&json!(method), &json!(-32601))
            );
        }
        server
            .print("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}")
            .await;
        assert_eq!(server.hear().await["result"], json!({}));
        server
            .answer(
                &asked,
                json!({"content": [{"type": "text", "text": "done"}]}),
            )
            .await;
        server.hangs().await;
    });
    let result = call(&client.await.unwrap()).await.unwrap();
    assert_eq!(result.given, [Given::Text("done".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_and_never_reads_blocks_nothing() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        for id in 0..5_000 {
            server.print(&json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": {"x": "y".repeat(100)}}).to_string()).await;
        }
        server.hangs().await;
    });
    let client = client.await.unwrap();
    assert_eq!(call(&client).await, Err(RequestError::Deadline));
}

#[tokio::test(start_paused = true)]
async fn questions_and_unknown_kinds_of_result_are_errors() {
    for (kind, error) in [
        (json!("input_required"), RequestError::Asked),
        (json!("task"), RequestError::Asked),
        (
            json!(null),
            RequestError::Unreadable("it has no `resultType`".to_owned()),
        ),
    ] {
        let client = against(None, move |server| async move {
            let mut server = server.discovered().await;
            let asked = server.hear_of("tools/call").await;
            let line = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"resultType": kind, "content": []}});
            server.print(&line.to_string()).await;
            server.hangs().await;
        });
        assert_eq!(call(&client.await.unwrap()).await, Err(error));
    }
}

#[tokio::test(start_paused = true)]
async fn odd_answers_fail_one_call_only() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        for odd in [
            "\"error\":{\"code\":\"x\"}",
            "\"error\":{\"code\":-1,\"message\":\"no\\u202eway\"}",
            "\"other\":1",
            "\"result\":[1]",
        ] {
            let asked = server.hear_of("tools/call").await;
            server
                .print(&format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{},{odd}}}",
                    asked["id"]
                ))
                .await;
        }
        server.hangs().await;
    });
    let client = client.await.unwrap();
    assert!(matches!(
        call(&client).await,
        Err(RequestError::Unreadable(_))
    ));
    let refused = RequestError::Refused {
        code: -1,
        message: "no\\u{202E}way".to_owned(),
    };
    assert_eq!(call(&client).await, Err(refused));
    assert!(matches!(
        call(&client).await,
        Err(RequestError::Unreadable(_))
    ));
    assert!(matches!(
        call(&client).await,
        Err(RequestError::Unreadable(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_is_one_count() {
    let client = against(None, |server| async move {
        let mut server = server.discovered().await;
        for _ in 0..10_000 {
            server
                .print("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}")
                .await;
        }
        server.lists(json!([])).await;
        server.hangs().await;
    });
    let client = client.await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(
        (*client.list_changes().borrow(), client.noise()),
        (10_000, 0)
    );
}
