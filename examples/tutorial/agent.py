"""A small agent: it runs the shell commands that the model asks for, in this folder."""

import json
import subprocess
import sys

from openai import OpenAI

TOOLS = [{"type": "function", "function": {
    "name": "bash",
    "description": "Run a shell command.",
    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}}]

client = OpenAI()  # reads OPENAI_BASE_URL and OPENAI_API_KEY
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    answer = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=TOOLS).choices[0].message
    messages.append(answer.model_dump(exclude_none=True))
    if answer.content:
        print("model:", answer.content)
    if not answer.tool_calls:
        break
    for call in answer.tool_calls:
        command = json.loads(call.function.arguments)["command"]
        print("runs: ", command)
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": done.stdout + done.stderr or "done"})
