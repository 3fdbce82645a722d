"""A bot that answers for people: reading is fine, removing is not, the rest
waits for somebody. It is a NATS client and nothing else."""

import asyncio
import json
import os
import re
import sys

import nats

URL = os.environ.get("NATS_URL", "nats://127.0.0.1:4143")


def decide(tool, arguments):
    if re.search(r"\b(rm|rmdir|del|delete|remove)\b", f"{tool} {json.dumps(arguments)}"):
        return {"action": "deny", "note": "Nothing is removed here. Move it to trash/ instead."}
    if re.fullmatch(r"(read|list|get)_\w+", tool):
        return {"action": "approve"}


async def answer(nc, request):
    decision = decide(request["tool_name"], request["arguments"])
    print(request["id"], ascii(request["tool_name"]), ascii(request["arguments"]), "->", decision or "waits for people", flush=True)
    if decision:
        reply = await nc.request(f"heldcall.v1.decide.local.{request['id']}", json.dumps(decision).encode(), timeout=10)
        now = json.loads(reply.data)  # the request as it now stands, or {"code", "message"}
        print(request["id"], now.get("status") or f"{now['code']}: {now['message']}", flush=True)


async def whole(nc, request):
    if not request["details"].get("abridged"):  # a large request in a list has no arguments
        return request
    reply = await nc.request("heldcall.v1.svc.requests.get", json.dumps({"id": request["id"]}).encode(), timeout=10)
    return json.loads(reply.data)


async def complain(error):
    print(f"{URL}: {error}", file=sys.stderr)


async def main():
    try:
        nc = await asyncio.wait_for(nats.connect(URL, error_cb=complain), 3)
    except asyncio.TimeoutError:
        sys.exit(f"no NATS at {URL}: is heldcall running? NATS_URL names another server")
    requests = await nc.subscribe("heldcall.v1.requests.>")
    waiting = await nc.request("heldcall.v1.svc.requests.list", b'{"status":"pending","limit":500}', timeout=10)  # asked before
    print("ready", flush=True)
    for request in json.loads(waiting.data)["items"]:
        await answer(nc, await whole(nc, request))
    async for message in requests.messages:
        await answer(nc, json.loads(message.data))


asyncio.run(main())
