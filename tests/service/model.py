"""A scripted model that speaks OpenAI's chat completions: it does what the last message of a person says.

`bash: COMMAND` and `file: NAME` call the tool; `slow` takes 30 seconds, but not after a restart; everything else is answered at once.
"""

import http.server
import json
import sys
import time

DONE = b"data: [DONE]\n\n"


def text(message):
    content = message.get("content")
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content or [])


def reply(messages):
    asked = max(at for at, message in enumerate(messages) if message["role"] == "user")
    said = text(messages[asked])
    results = [text(message) for message in messages[asked:] if message["role"] == "tool"]
    if "slow" in said and "stopped" not in said:
        time.sleep(30)
    if results:
        return {"content": f"Result: {results[-1][:300]}"}
    for name, tool, argument in (("bash: ", "bash", "command"), ("file: ", "create_file", "path")):
        if name in said:
            arguments = {argument: said.split(name, 1)[1].split("\n")[0].strip()}
            if tool == "create_file":
                arguments["content"] = "made\n"
            function = {"name": tool, "arguments": json.dumps(arguments)}
            return {"tool_calls": [{"index": 0, "id": f"call{asked}", "type": "function", "function": function}]}
    return {"content": "Done."}


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, kind, body):
        try:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass

    def do_GET(self):
        self.give("application/json", json.dumps({"object": "list", "data": [{"id": "walk", "object": "model"}]}).encode())

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        delta = reply(request["messages"])
        reason = "tool_calls" if "tool_calls" in delta else "stop"
        common = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "walk"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        chunks = [
            {**common, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]},
            {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        ]
        body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
        self.give("text/event-stream", body + DONE)


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
