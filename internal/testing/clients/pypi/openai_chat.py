"""The official OpenAI SDK for Python on Chat Completions: whole answers, raw
chunks, its own stream helper, and raw chunks in a loop that counts on a choice in
each, as many programs do (careless)."""

from openai import AsyncOpenAI

from jobs import TOOLS, main, result, sdk_timeout, within, words

FUNCTIONS = [{"type": "function", "function": {**tool, "strict": True}} for tool in TOOLS]


async def complete(client, mode, messages, fields=None):
    """Returns text, calls, finish reason and usage of one answer."""
    body = {"model": "gpt-test", "messages": messages, "tools": FUNCTIONS, "extra_body": fields}
    if mode in ("raw", "careless"):
        return await accumulate(client, body, mode)
    if mode == "whole":
        completion = await client.chat.completions.create(**body)
    else:
        async with client.chat.completions.stream(**body, stream_options={"include_usage": True}) as stream:
            completion = await stream.get_final_completion()
    choice = completion.choices[0]
    calls = [
        {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
        for call in choice.message.tool_calls or []
    ]
    return choice.message.content or "", calls, choice.finish_reason, completion.usage


async def accumulate(client, body, mode):
    text, calls, finish, usage = "", {}, None, None
    async for chunk in await client.chat.completions.create(
        **body, stream=True, stream_options={"include_usage": True}
    ):
        usage = chunk.usage or usage
        if mode == "careless" and not usage:
            chunk.choices[0]
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = part.id or call["id"]
                call["name"] += part.function.name or ""
                call["arguments"] += part.function.arguments or ""
    if sorted(calls) != list(range(len(calls))):
        raise ValueError(f"the calls have the indices {sorted(calls)}")
    return text, [calls[i] for i in sorted(calls)], finish, usage


async def ask(base_url, job):
    client = AsyncOpenAI(base_url=base_url, api_key="test", **sdk_timeout(job))
    messages = [{"role": "user", "content": words(job)}]
    answer, tries = await within(job, lambda: complete(client, job["mode"], messages, job.get("fields")))
    text, calls, finish, usage = answer
    if job.get("once"):
        return {"text": str(text or ""), "calls": calls, "tries": tries}  # hostile answers have other types
    message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls
        ]
    answers = [{"role": "tool", "tool_call_id": c["id"], "content": result(c)} for c in calls]
    answers = answers or [{"role": "user", "content": "go on"}]
    after, _, _, _ = await complete(client, job["mode"], [*messages, message, *answers], job.get("fields"))
    return {
        "text": text,
        "calls": calls,
        "finish": finish,
        "usage": usage and {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens},
        "next": after,
    }


main(ask)
