"""What the clients have in common: jobs come in on standard input, each is run
at the same time as the others, and what it accumulated goes out as one line of
JSON."""

import asyncio
import json
import sys
import traceback

# The tools that the model is offered, as each API wraps them in its own way.
TOOLS = [
    {
        "name": "transfer",
        "description": "Moves money",
        "parameters": {
            "type": "object",
            "properties": {"job": {"type": "string"}, "amount": {"type": "number"}},
            "required": ["job", "amount"],
            "additionalProperties": False,
        },
    },
    {
        "name": "lookup",
        "description": "Looks an account up",
        "parameters": {
            "type": "object",
            "properties": {"job": {"type": "string"}},
            "required": ["job"],
            "additionalProperties": False,
        },
    },
]


def result(call):
    """What a tool answers."""
    return f"ran {call['name']} with {call['arguments']}"


def words(job):
    """What the user writes."""
    return job.get("words", job["name"])


def compact(arguments):
    """Arguments that an SDK gives as an object, as the text of a report."""
    return json.dumps(arguments, separators=(",", ":"))


async def within(job, complete):
    """Returns what complete returns, and how often it was called: again, up to job["tries"]
    times, if an answer takes longer than job["timeout"] seconds."""
    for tries in range(1, job.get("tries", 1)):
        try:
            async with asyncio.timeout(job.get("timeout")):
                return await complete(), tries
        except TimeoutError:
            pass
    async with asyncio.timeout(job.get("timeout")):
        return await complete(), job.get("tries", 1)


def sdk_timeout(job):
    """The argument of a client for the time-out of its SDK."""
    return {"timeout": job["sdk_timeout"]} if "sdk_timeout" in job else {}


async def _run(ask, job):
    try:
        got = await ask(job["base_url"], job)
    except Exception:  # what went wrong is what the test wants to know
        got = {"error": traceback.format_exc()}
    print(json.dumps({"job": job["name"], **got}), flush=True)


async def _run_all(ask):
    work = json.load(sys.stdin)
    await asyncio.gather(*(_run(ask, job) for job in work["jobs"]))


def main(ask):
    """Calls ask for each job. It returns text, calls, finish, usage and next,
    where next is the text of the answer to the results of the calls. A job with once
    set ends after the first answer, and only its text and calls are returned."""
    asyncio.run(_run_all(ask))
