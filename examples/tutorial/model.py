"""A scripted model with the API of OpenAI, so that the tutorial needs no key. It knows two tasks."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(messages):
    """Return the words and the calls that follow a conversation."""
    task = next(m["content"] for m in messages if m["role"] == "user")
    results = [m["content"] for m in messages if m["role"] == "tool"]
    if "Tidy" in task:
        return tidy(results)
    if "Free" in task:
        return free(results)
    return "I am a script: ask me to tidy up, or to free some space.", []


def tidy(results):
    if not results:
        return "I look around.", [("bash", {"command": "ls"})]
    if len(results) == 1:
        return "The drafts look old.", [("bash", {"command": "rm -r out drafts"})]
    if "It was not run" in results[-1]:
        return "Then I remove only what can be built again.", [("bash", {"command": "rm -r out"})]
    return "The project is tidy.", []


def free(results):
    if not results:
        options = [{"id": "out", "label": "The output", "recommended": True}, {"id": "drafts", "label": "The drafts"}]
        return None, [("request_decision", {"question": "What may I remove?", "type": "single_choice", "options": options})]
    if '"selected"' in results[-1]:
        return "I remove it.", [("bash", {"command": "rm -r " + json.loads(results[-1])["selected"][0]})]
    return "There is more space now.", []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        text, calls = answer(messages)
        message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {"id": f"call_{len(messages)}_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
                for i, (name, args) in enumerate(calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        body = json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "script", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


print("the model listens on http://127.0.0.1:8000/v1", flush=True)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Handler).serve_forever()
