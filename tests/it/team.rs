//! Members of teams: their rows, and how a program is checked in its sandbox.

mod check;
mod relay;
mod rows;
mod worktrees;

/// A program that speaks the Agent Client Protocol, in Python, without packages. Its argument says how it behaves.
const PROGRAM: &str = r#"
import json, os, subprocess, sys, urllib.error, urllib.request
mode = sys.argv[1]
last = [0]
def send(value):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **value}) + "\n")
    sys.stdout.flush()
def reads():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    return json.loads(line)
def asks(method, params):
    last[0] += 1
    send({"id": "q%d" % last[0], "method": method, "params": params})
    while True:
        answer = reads()
        if answer.get("id") == "q%d" % last[0]: return answer
def says(text):
    send({"method": "session/update", "params": {"sessionId": "s", "update": {
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}})
def model(token=os.environ.get("ANTHROPIC_API_KEY"), path="/v1/messages"):
    tools = [] if mode == "no tool" else [{"name": "Bash", "input_schema": {"type": "object",
        "properties": {"command": {"type": "string"}}, "required": ["command"]}}]
    body = json.dumps({"model": "m", "max_tokens": 10, "messages": [], "tools": tools}).encode()
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + path, body, {"x-api-key": token})
    try: return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error: return {"status": error.code, **json.load(error)}
def environment(pid):
    try: return open("/proc/%s/environ" % pid, errors="replace").read()
    except OSError: return ""
def works():
    if mode == "no model": return
    reply = model()
    block = reply["content"][0]
    if block["type"] != "tool_use":
        says(block["text"])
        return
    command = block["input"]["command"]
    if mode in ("asks", "asks and goes on", "asks and waits"):
        options = [{"optionId": "a", "name": "Always", "kind": "allow_always"}, {"optionId": "y", "name": "Yes", "kind": "allow_once"},
                   {"optionId": "n", "name": "No", "kind": "reject_once"}]
        answer = asks("session/request_permission", {"sessionId": "s", "options": options, "toolCall": {
            "toolCallId": "1", "kind": "execute", "title": command, "rawInput": {"command": command}}})
        outcome = answer["result"]["outcome"]
        if outcome.get("optionId") != "y" and mode == "asks": return
    subprocess.run(["sh", "-c", command])
if mode == "dies":
    print("boom: cannot start", file=sys.stderr)
    os._exit(3)
while True:
    message = reads()
    number, method = message.get("id"), message.get("method")
    if number is None: continue
    if method == "initialize":
        if mode == "silent": continue
        result = {"protocolVersion": 2 if mode == "version 2" else 1, "agentInfo": {"name": "script", "version": "1.0"}}
    elif method == "session/new":
        if mode == "sign-in":
            send({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
            continue
        if mode == "shows itself":
            canary = any("canary" in environment(pid) for pid in os.listdir("/proc") if pid.isdigit())
            names = ["OWN", "HOME", "DISCORD_TOKEN", "CHORUS_HOME", "ANTHROPIC_BASE_URL"]
            own = {name: os.path.basename(os.environ.get(name, "none").split(":")[0]) for name in names}
            print(json.dumps([canary, own, message["params"]["_meta"], os.path.basename(message["params"]["cwd"])]), file=sys.stderr)
            os._exit(5)
        if mode == "wrong token":
            said = model("x"), model(path="/v1/files")
            print(json.dumps([[each["status"], each["error"]["message"]] for each in said]), file=sys.stderr)
            os._exit(4)
        result = {"sessionId": "s", "modes": {"currentModeId": "auto", "availableModes": [{"id": "auto", "name": "A"}, {"id": "default", "name": "D"}]}}
    elif method == "session/set_mode":
        if mode == "keeps its mode":
            send({"id": number, "error": {"code": -32602, "message": "no"}})
            continue
        result = {}
    elif method == "session/prompt":
        works()
        result = {"stopReason": "end_turn"}
    else:
        send({"id": number, "error": {"code": -32601, "message": "no"}})
        continue
    send({"id": number, "result": result})
"#;
