"""The official OpenAI SDK for Python on Responses: whole answers, raw events,
and its own stream helper. The mode's last word says how: whole, raw or helper.
A mode that begins with "stored" goes on from the stored response with
previous_response_id, the others send everything again."""

from uuid import uuid4

from openai import AsyncOpenAI

from jobs import TOOLS, main, result, words

FUNCTIONS = [{"type": "function", **tool, "strict": True} for tool in TOOLS]


async def respond(client, mode, body):
    """Returns one response."""
    body = {"model": "gpt-test", "tools": FUNCTIONS, "reasoning": {"summary": "auto"}, **body}
    if mode.endswith("whole"):
        return await client.responses.create(**body)
    if mode.endswith("helper"):
        async with client.responses.stream(**body) as stream:
            return await stream.get_final_response()
    return await accumulate(await client.responses.create(**body, stream=True))


async def accumulate(stream):
    """Reads the events one by one, and compares what they said of each item with
    the response at the end."""
    number, done, arguments, response = -1, [], {}, None
    async for event in stream:
        if event.sequence_number <= number:
            raise ValueError(f"the sequence number {event.sequence_number} comes after {number}")
        number = event.sequence_number
        if event.type == "response.function_call_arguments.delta":
            arguments[event.output_index] = arguments.get(event.output_index, "") + event.delta
        elif event.type == "response.output_item.done":
            if event.output_index != len(done):
                raise ValueError(f"the item {event.output_index} is done after {len(done)} others")
            done.append(event.item)
        elif event.type == "response.completed":
            response = event.response
    if response is None:
        raise ValueError("the stream has no completed response")
    if shown(response.output) != shown(done):
        raise ValueError(f"the response holds {response.output}, the events were of {done}")
    for index, text in arguments.items():
        if done[index].arguments != text:
            raise ValueError(f"the deltas of {done[index]} are {text}")
    return response


def shown(items):
    """The items without what is encrypted anew each time that they are sent."""
    return [item.model_dump(exclude={"encrypted_content"}) for item in items]


async def begun(client, job, keep):
    """Begins the conversation that the provider keeps, and returns the field that continues it."""
    if job.get("kept") == "previous_response_id":
        return {"previous_response_id": (await respond(client, job["mode"], {"input": "hello", **keep})).id}
    if job.get("kept") == "conversation":
        return {"conversation": (await client.conversations.create(metadata={"id": str(uuid4())}, extra_body=job["fields"])).id}
    return {}


async def ask(base_url, job):
    client = AsyncOpenAI(base_url=base_url, api_key="test")
    question = [{"role": "user", "content": words(job)}]
    stored = job["mode"].startswith("stored")
    keep = {"store": True} if stored else {"store": False, "include": ["reasoning.encrypted_content"]}
    keep["extra_body"] = job.get("fields")
    before = await begun(client, job, keep)
    response = await respond(client, job["mode"], {"input": question, **keep, **before})
    calls = [
        {"id": item.call_id, "name": item.name, "arguments": item.arguments}
        for item in response.output
        if item.type == "function_call"
    ]
    if job.get("once"):
        return {"calls": calls}
    answers = [{"type": "function_call_output", "call_id": c["id"], "output": result(c)} for c in calls]
    answers = answers or [{"role": "user", "content": "go on"}]
    if stored:
        kept = before if "conversation" in before else {"previous_response_id": response.id}
        follow_up = {"input": answers, **kept}
    else:
        output = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        follow_up = {"input": [*question, *output, *answers]}
    after = await respond(client, job["mode"], {**follow_up, **keep})
    return {
        "text": response.output_text,
        "calls": calls,
        "finish": response.status,
        "usage": {"prompt": response.usage.input_tokens, "completion": response.usage.output_tokens},
        "next": after.output_text,
    }


main(ask)
