//! Servers that behave badly cost other agents nothing.

use serde_json::{Value, json};

use super::{calls, writes_file};
use crate::world::run_test;

/// A server that answers the handshake and then does what `body` says with each request.
fn bad(body: &str) -> Value {
    let script = format!(
        r#"
import json, os, sys, time
def send(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
def raw(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
good = {{"name": "good", "description": "Works.", "inputSchema": {{"type": "object"}}}}
for line in sys.stdin:
    message = json.loads(line)
    i, method = message.get("id"), message.get("method")
    if i is None or method is None: continue
    def answer(result): send({{"jsonrpc": "2.0", "id": i, "result": result}})
    if method == "initialize":
        answer({{"protocolVersion": "2025-06-18", "serverInfo": {{"name": "bad", "version": "1"}}}})
    elif method == "server/discover":
        send({{"jsonrpc": "2.0", "id": i, "error": {{"code": -32601, "message": "no"}}}})
    else:
{}
"#,
        body.lines()
            .map(|line| format!("        {line}\n"))
            .collect::<String>()
    );
    json!({"command": "python3", "args": ["-c", script], "chorus": {"network": false}})
}

#[tokio::test]
async fn bad_lists_are_refused_by_tool_and_the_others_work() {
    run_test(async |world| {
        let lists = [
            ("root", r#"answer({"tools": [good, {"name": "list", "inputSchema": []}]})"#),
            ("remote", r#"answer({"tools": [good, {"name": "r", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://evil.example/s"}}}}]})"#),
            ("cursor", r#"answer({"tools": [dict(good, name="t%d" % time.time_ns())], "nextCursor": "again"})"#),
            ("names", r#"answer({"tools": [good, dict(good, name="a.b"), dict(good, name="a/b"), dict(good, name="good")]})"#),
            ("long", r#"answer({"tools": [good, dict(good, name="l", description="x" * 3000000)]})"#),
            ("deep", r#"raw('{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"d","inputSchema":{"type":"object","x":%s%s}}]}}' % (i, "[" * 5000, "]" * 5000))"#),
            ("many", r#"answer({"tools": [dict(good, name="t%d" % n) for n in range(5000)]})"#),
            ("asks", "send({\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"sampling/createMessage\", \"params\": {}})\nanswer({\"tools\": [good]})"),
        ];
        let servers = lists.iter().map(|(name, body)| ((*name).to_owned(), bad(body)));
        writes_file(world, &Value::Object(servers.collect()));
        for (name, _) in lists {
            let said = world.ann.asks(&format!("/mcp approve server:{name}"), "#lab").await;
            assert!(said.contains("The card"), "{name}: {said}");
        }
        let kept = "SELECT server || ' ' || count(*) FROM mcp_pins GROUP BY server ORDER BY server";
        let kept = world.ledger(kept).await.join(", ");
        assert_eq!(kept, "asks 1, cursor 2, deep 1, long 1, many 256, names 3, remote 1, root 1");
    })
    .await;
}

#[tokio::test]
async fn bad_answers_are_errors_and_the_daemon_goes_on() {
    run_test(async |world| {
        let body = r#"
name = message["params"].get("name")
tools = ["hangs", "noise", "long", "error", "odd", "flood"]
if method == "tools/list":
    answer({"tools": [dict(good, name=name) for name in tools]})
elif name == "noise":
    for n in range(50): raw("noise %d" % n)
    answer({"content": [{"type": "text", "text": "after the noise"}]})
elif name == "long":
    raw("x" * 20000000)
    answer({"content": [{"type": "text", "text": "after a long line"}]})
elif name == "error":
    send({"jsonrpc": "2.0", "id": i, "error": {"code": -1, "message": "no\u200b"}})
elif name == "odd":
    answer(7)
elif name == "flood":
    for n in range(2000): raw("noise %d" % n)
"#;
        let patient = bad(body.trim());
        // Only what never answers is given little time.
        let mut hasty = patient.clone();
        hasty["timeout"] = json!(1000);
        writes_file(world, &json!({ "bad": patient, "hasty": hasty }));
        for name in ["bad", "hasty"] {
            world
                .ann
                .asks(&format!("/mcp approve server:{name}"), "#lab")
                .await;
            world.ann.clicks("#lab", "Approve, ask each time").await;
            world
                .sees("#lab", &format!("approved MCP server `{name}`"))
                .await;
        }
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        for (tool, said) in [
            ("bad__noise", "after the noise"),
            ("bad__long", "after a long line"),
            ("bad__error", "answered with an error (-1)"),
            ("bad__odd", "may have run"),
            ("hasty__hangs", "did not answer in time"),
            ("bad__flood", "may have run"),
        ] {
            let given = calls(world, &format!("mcp__{tool}"), json!({})).await;
            assert!(given.contains(said), "{tool}: {given}");
        }
        world.exchange("hello", "Hello.").await;
    })
    .await;
}
