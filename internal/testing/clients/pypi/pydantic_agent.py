"""An agent of pydantic-ai that runs its tools itself, on the API that the
argument names: chat, responses or messages."""

import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from jobs import compact, main, result

API = sys.argv[1]


def model(base_url):
    if API == "messages":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        provider = AnthropicProvider(base_url=base_url.removesuffix("/v1"), api_key="test")
        settings = {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048}
        return AnthropicModel("claude-test", provider=provider, settings=settings)
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=base_url, api_key="test")
    if API == "responses":
        return OpenAIResponsesModel("gpt-5", provider=provider, settings={"openai_reasoning_summary": "auto"})
    return OpenAIChatModel("gpt-test", provider=provider)


def transfer(job: str, amount: int) -> str:
    """Moves money"""
    return result({"name": "transfer", "arguments": compact({"job": job, "amount": amount})})


def lookup(job: str) -> str:
    """Looks an account up"""
    return result({"name": "lookup", "arguments": compact({"job": job})})


async def drain(_, events):
    """Makes the agent stream: it does so for whoever listens."""
    async for _ in events:
        pass


def text_of(response):
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


async def ask(base_url, job):
    agent = Agent(model(base_url), tools=[transfer, lookup])
    listen = None if job["mode"] == "whole" else drain
    done = await agent.run(job["name"], event_stream_handler=listen)
    responses = [message for message in done.all_messages() if isinstance(message, ModelResponse)]
    calls = [
        {"id": part.tool_call_id, "name": part.tool_name, "arguments": part.args_as_json_str()}
        for part in responses[0].parts
        if isinstance(part, ToolCallPart)
    ]
    if not calls:
        done = await agent.run("go on", message_history=done.all_messages(), event_stream_handler=listen)
    return {
        "text": text_of(responses[0]),
        "calls": calls,
        "finish": (responses[0].provider_details or {}).get("finish_reason"),
        "usage": {"prompt": responses[0].usage.input_tokens, "completion": responses[0].usage.output_tokens},
        "next": done.output,
    }


main(ask)
