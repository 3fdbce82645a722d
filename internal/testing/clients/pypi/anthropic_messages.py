"""The official Anthropic SDK for Python: whole answers, raw events, its own stream
helper, and its own loop, which sends only new messages: Anthropic keeps the
conversation in a message thread."""

import json

from anthropic import AsyncAnthropic, beta_async_tool

from jobs import TOOLS, compact, main, result, sdk_timeout, within, words

FUNCTIONS = [
    {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]} for tool in TOOLS
]


async def say(client, mode, messages):
    """Returns content blocks, stop reason, input and output tokens of one message."""
    thinking = {"type": "enabled", "budget_tokens": 1024}
    body = {"model": "claude-test", "max_tokens": 2048, "messages": messages, "tools": FUNCTIONS, "thinking": thinking}
    if mode == "raw":
        return await accumulate(await client.messages.create(**body, stream=True))
    if mode == "whole":
        message = await client.messages.create(**body)
    else:
        async with client.messages.stream(**body) as stream:
            message = await stream.get_final_message()
    content = [block.model_dump(exclude_none=True) for block in message.content]
    return content, message.stop_reason, message.usage.input_tokens, message.usage.output_tokens


async def accumulate(stream):
    content, inputs, stop, prompt, completion = [], {}, None, None, None
    async for event in stream:
        if event.type == "message_start":
            prompt = event.message.usage.input_tokens
        elif event.type == "content_block_start":
            if event.index != len(content):
                raise ValueError(f"the block {event.index} starts after {len(content)} others")
            content.append(event.content_block.model_dump(exclude_none=True))
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            inputs[event.index] = inputs.get(event.index, "") + event.delta.partial_json
        elif event.type == "content_block_delta":
            field = event.delta.type.removesuffix("_delta")  # text, thinking or signature
            content[event.index][field] += getattr(event.delta, field)
        elif event.type == "content_block_stop" and inputs.get(event.index):
            content[event.index]["input"] = json.loads(inputs[event.index])
        elif event.type == "message_delta":
            stop = event.delta.stop_reason
            completion = event.usage.output_tokens
            if event.usage.input_tokens is not None:  # cumulative, where it is repeated
                prompt = event.usage.input_tokens
    return content, stop, prompt, completion


@beta_async_tool(name="transfer", description="Moves money")
async def transfer(job: str, amount: float) -> str:
    return result({"name": "transfer", "arguments": compact({"job": job, "amount": amount})})


@beta_async_tool(name="lookup", description="Looks an account up")
async def lookup(job: str) -> str:
    return result({"name": "lookup", "arguments": compact({"job": job})})


async def loop(client, job):
    """Lets the SDK run the calls, and the user write after an answer without any."""
    stream = "whole" not in job["mode"]
    thread = client.beta.messages.thread(
        model="claude-test",
        max_tokens=2048,
        tools=[transfer, lookup],
        extra_body=job.get("fields"),
    )
    if "kept" in job:
        await thread.send({"role": "user", "content": "hello"})
    thread.append({"role": "user", "content": words(job)})
    answers = []
    async for answer in thread.tool_runner(stream=stream):
        answers.append(await answer.get_final_message() if stream else answer)
    if len(answers) == 1 and not job.get("once"):
        answers.append(await thread.send({"role": "user", "content": "go on"}))
    first, last = (answers[i] for i in (0, -1))
    content = [block.model_dump(exclude_none=True) for block in first.content]
    return {
        "text": text_of(content),
        "calls": calls_of(content),
        "finish": first.stop_reason,
        "usage": {"prompt": first.usage.input_tokens, "completion": first.usage.output_tokens},
        "next": "".join(block.text for block in last.content if block.type == "text"),
    }


async def ask(base_url, job):
    client = AsyncAnthropic(base_url=base_url.removesuffix("/v1"), api_key="test", **sdk_timeout(job))
    if "loop" in job["mode"]:
        return await loop(client, job)
    messages = [{"role": "user", "content": job["name"]}]
    answer, tries = await within(job, lambda: say(client, job["mode"], messages))
    content, stop, prompt, completion = answer
    calls = calls_of(content)
    if job.get("once"):
        return {"text": text_of(content), "calls": calls, "tries": tries}
    answers = [{"type": "tool_result", "tool_use_id": c["id"], "content": result(c)} for c in calls]
    follow_up = [{"role": "assistant", "content": content}, {"role": "user", "content": answers or "go on"}]
    after, _, _, _ = await say(client, job["mode"], [*messages, *follow_up])
    return {
        "text": text_of(content),
        "calls": calls,
        "finish": stop,
        "usage": {"prompt": prompt, "completion": completion},
        "next": text_of(after),
    }


def calls_of(content):
    return [
        {"id": block["id"], "name": block["name"], "arguments": compact(block["input"])}
        for block in content
        if block["type"] == "tool_use"
    ]


def text_of(content):
    return "".join(block["text"] for block in content if block["type"] == "text")


main(ask)
