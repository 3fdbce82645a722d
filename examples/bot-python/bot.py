"""A bot that answers for people: reading is fine, removing is not, the rest
waits for somebody. It is a NATS client and nothing else."""

import asyncio
import json
import os
import re

import nats


def decide(tool, arguments):
    if re.search(r"\b(rm|rmdir|del|delete|remove)\b", f"{tool} {json.dumps(arguments)}"):
        return {"action": "deny", "note": "Nothing is removed here. Move it to trash/ instead."}
    if re.fullmatch(r"(read|list|get)_\w+", tool):
        return {"action": "approve"}


async def main():
    nc = await nats.connect(os.environ.get("NATS_URL", "nats://127.0.0.1:4143"))
    requests = await nc.subscribe("heldcall.v1.requests.>")
    await nc.flush()
    print("ready", flush=True)
    async for message in requests.messages:
        request = json.loads(message.data)
        decision = decide(request["tool_name"], request["arguments"])
        print(request["id"], ascii(request["tool_name"]), ascii(request["arguments"]), "->", decision or "waits for people", flush=True)
        if decision:
            reply = await nc.request(f"heldcall.v1.decide.local.{request['id']}", json.dumps(decision).encode(), timeout=10)
            now = json.loads(reply.data)  # the request as it now stands, or {"code", "message"}
            print(request["id"], now.get("status") or f"{now['code']}: {now['message']}", flush=True)


asyncio.run(main())
