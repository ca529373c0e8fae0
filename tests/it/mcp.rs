//! MCP servers as agents use them: real processes in their sandbox, a scripted model, people who approve.

mod approval;
mod calls;
mod hostile;
mod roles;
mod versions;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::World;

/// A server in Python, without packages. Files in its home say what it offers and show what it got.
const SERVER: &str = r#"
import json, os, subprocess, sys
open("started", "a").write("%d %s\n" % (os.getpid(), " ".join(sys.argv[1:])))
def read(name, default):
    try: return json.load(open(name))
    except Exception: return default
def tool(name, words, properties={}, hint=False):
    return {"name": name, "description": words, "annotations": {"readOnlyHint": hint},
            "inputSchema": {"type": "object", "properties": properties, "required": list(properties)}}
TOOLS = [
    tool("get_issue", "Gets one issue by its number.", {"number": {"type": "integer"}}, True),
    tool("create_issue", "Creates an issue.", {"title": {"type": "string"}}),
    tool("environment", "Tells its variables."),
    tool("child", "Leaves a child behind."),
    tool("hang", "Never answers."),
    tool("exits", "Ends in the call."),
    tool("fails", "Says that it failed."),
    tool("wide", "Gives all kinds of things."),
]
def send(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
def text(words, failed=False):
    return {"content": [{"type": "text", "text": words}], "isError": failed}
def call(name, arguments):
    if name == "hang": return None
    if name == "exits": os._exit(3)
    if name == "environment": return text(json.dumps(dict(os.environ)))
    if name == "fails": return text("no such issue", True)
    if name == "child":
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        return text("child %d" % child.pid)
    if name == "wide":
        return {"content": [{"type": "text", "text": "a\u200bb"}, {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "https://example.com/a", "name": "a"}, {"type": "hologram"}]}
    return text(name + " " + json.dumps(arguments))
for line in sys.stdin:
    try: message = json.loads(line)
    except Exception: continue
    number, method = message.get("id"), message.get("method")
    if number is None or method is None: continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "script", "version": "1"}, "capabilities": {"tools": {}},
                  "instructions": read("instructions.json", "Issues of a tracker.")}
    elif method == "tools/list":
        result = {"tools": read("list.json", TOOLS)}
    elif method == "tools/call":
        params = message["params"]
        open("calls", "a").write(json.dumps([params["name"], params["arguments"]]) + "\n")
        result = call(params["name"], params["arguments"])
        if result is None: continue
    else:
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}})
        continue
    send({"jsonrpc": "2.0", "id": number, "result": result})
"#;

/// The entry of that server.
fn entry() -> Value {
    json!({"command": "python3", "args": ["-c", SERVER], "chorus": {"network": false}})
}

/// Writes the agent's own file with these servers.
fn writes_file(world: &World, servers: &Value) {
    let file = world.home().join("agents/lab/.mcp.json");
    fs::write(file, json!({ "mcpServers": servers }).to_string()).unwrap();
}

/// The home of a server of `lab`.
fn home_of(world: &World, server: &str) -> PathBuf {
    world.home().join("agents/lab/mcp").join(server)
}

/// What the server wrote into a file of its home.
fn written(world: &World, server: &str, file: &str) -> Vec<String> {
    let text = fs::read_to_string(home_of(world, server).join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Has the server offer these tools from its next list on.
fn offers(world: &World, server: &str, tools: &Value) {
    fs::write(home_of(world, server).join("list.json"), tools.to_string()).unwrap();
}

/// `lab` has the scripted server `tracker`, and Ann has approved it.
async fn has_tracker(world: &mut World) {
    writes_file(world, &json!({ "tracker": entry() }));
    let asked = world.ann.asks("/mcp approve server:tracker", "#lab").await;
    assert!(asked.contains("The card"), "{asked}");
    world.sees("#lab", "waits for approval").await;
    world.ann.clicks("#lab", "Approve, ask each time").await;
    world.sees("#lab", "approved MCP server").await;
}

/// The result of the latest call, as the model got it.
fn given(world: &World) -> String {
    let requests = world.model.requests();
    let blocks = requests.iter().rev().flat_map(|request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().cloned().unwrap_or_default();
        last["content"].as_array().cloned().unwrap_or_default()
    });
    let block = blocks
        .into_iter()
        .find(|block| block["type"] == "tool_result")
        .expect("no result went to the model");
    match &block["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Has the model call one tool and waits for the end of its turn. A question stays for the test to answer.
async fn calls(world: &mut World, tool: &str, arguments: Value) -> String {
    begins_call(world, tool, arguments).await;
    ends(world).await;
    given(world)
}

/// Has the model call one tool.
async fn begins_call(world: &mut World, tool: &str, arguments: Value) {
    world.reads_everything();
    world.model.calls_tool(tool, arguments);
    world.model.answers("That was it.");
    world.ann.says("#lab", "please").await;
}

/// Waits for the end of the turn.
async fn ends(world: &mut World) {
    loop {
        let message = world.next_message("#lab").await;
        if message.content.contains("That was it.") {
            return;
        }
    }
}
