"""LangChain for Python, on the API that the argument names: chat, responses or
messages. Whole answers are invoked, streams are added up chunk by chunk, in the
mode impatient with a short limit for the time between two chunks."""

import sys

from langchain_core.messages import HumanMessage, ToolMessage

from jobs import TOOLS, compact, main, result

API = sys.argv[1]
FUNCTIONS = [{"type": "function", "function": tool} for tool in TOOLS]


def model(base_url, mode):
    if API == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(
            model="claude-test",
            base_url=base_url.removesuffix("/v1"),
            api_key="test",
            max_tokens=2048,
            thinking={"type": "enabled", "budget_tokens": 1024},
        )
    from langchain_openai import ChatOpenAI

    options = {"use_responses_api": True, "reasoning": {"summary": "auto"}} if API == "responses" else {}
    if mode == "impatient":
        options["stream_chunk_timeout"] = 20.0
    return ChatOpenAI(model="gpt-test", base_url=base_url, api_key="test", stream_usage=True, **options)


async def invoke(client, mode, messages):
    if mode == "whole":
        return await client.ainvoke(messages)
    message = None
    async for chunk in client.astream(messages):
        message = chunk if message is None else message + chunk
    return message


async def ask(base_url, job):
    client = model(base_url, job["mode"]).bind_tools(FUNCTIONS)
    messages = [HumanMessage(job["name"])]
    message = await invoke(client, job["mode"], messages)
    # An agent runs the calls that can be read also beside others that cannot.
    if message.invalid_tool_calls and not job.get("once"):
        raise ValueError(f"invalid calls: {message.invalid_tool_calls}")
    calls = [{"id": c["id"], "name": c["name"], "arguments": compact(c["args"])} for c in message.tool_calls]
    if job.get("once"):
        return {"calls": calls, "error": str(message.invalid_tool_calls or "")}
    answers = [ToolMessage(result(c), tool_call_id=c["id"]) for c in calls] or [HumanMessage("go on")]
    after = await invoke(client, job["mode"], [*messages, message, *answers])
    usage, told = message.usage_metadata, message.response_metadata
    return {
        "text": message.text,
        "calls": calls,
        "finish": told.get("finish_reason") or told.get("stop_reason") or told.get("status"),
        "usage": usage and {"prompt": usage["input_tokens"], "completion": usage["output_tokens"]},
        "next": after.text,
    }


main(ask)
