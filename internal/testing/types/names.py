"""Prints the names of the installed openai and anthropic packages: a JSON object per line with the dialect, the kind,
the name and a sample, in which each field that the package knows is filled."""

import enum
import inspect
import json
import sys
import types as builtin
import typing
from typing import Annotated, Literal, Union, get_args, get_origin

import pydantic
import typing_extensions

MOST = 7  # levels of a sample


def unwrap(hint):
    """The type without Annotated, Required and the like, and without names for it."""
    while True:
        origin = get_origin(hint)
        if isinstance(hint, (typing_extensions.TypeAliasType,)):
            hint = hint.__value__
        elif origin in (Annotated, typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly):
            hint = get_args(hint)[0]
        elif origin is not None and isinstance(origin, typing_extensions.TypeAliasType):
            hint = origin.__value__
        else:
            return hint


def variants(hint):
    """The members of a union, those of unions in it among them."""
    hint = unwrap(hint)
    if get_origin(hint) in (Union, builtin.UnionType):
        return [v for member in get_args(hint) for v in variants(member)]
    return [] if hint is type(None) else [hint]


def fields(hint):
    """The fields of a model or of a typed dictionary, by their names on the wire; None for any other type."""
    if inspect.isclass(hint) and issubclass(hint, pydantic.BaseModel):
        return {f.alias or name: f.annotation for name, f in hint.model_fields.items()}
    if typing_extensions.is_typeddict(hint):
        found = {}
        for name, annotation in typing_extensions.get_type_hints(hint, include_extras=True).items():
            alias = name
            for note in getattr(inner(annotation), "__metadata__", ()):
                alias = getattr(note, "alias", None) or alias
            found[alias] = annotation
        return found
    return None


def inner(annotation):
    """Annotated within Required or NotRequired."""
    while get_origin(annotation) in (typing_extensions.Required, typing_extensions.NotRequired):
        annotation = get_args(annotation)[0]
    return annotation


def literals(hint):
    """The texts that a field of a certain type may have, [] for one of any text."""
    return [text for v in variants(hint) if get_origin(v) is Literal for text in get_args(v)]


def sample(hint, level=0, field=""):
    """A value of a type, with all fields."""
    options = variants(hint)
    if level > MOST or not options:
        return None
    hint = options[0]
    origin = get_origin(hint)
    members = fields(hint)
    if members is not None:
        values = {name: sample(member, level + 1, name) for name, member in members.items()}
        return {name: value for name, value in values.items() if value is not None}
    if origin is Literal:
        return get_args(hint)[0]
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return list(hint)[0].value
    if origin is not None and (origin is list or (inspect.isclass(origin) and issubclass(origin, (typing.Sequence, typing.Iterable)) and not issubclass(origin, typing.Mapping))):
        element = sample(get_args(hint)[0], level + 1, field)
        return [] if element is None else [element]
    if hint is bool:
        return True
    if hint in (int, float):
        return 0 if "index" in field else 1
    if hint is str:
        return '{"some":"input"}' if field in ("arguments", "partial_json") else "some " + field
    return {} if origin is dict or hint in (object, typing.Any, dict) or (origin and issubclass(origin, typing.Mapping)) else "some " + field


def typed(dialect, kind, *unions, member="type"):
    """The types in unions, by the member that names each. One without a name is "" ."""
    for union in unions:
        for variant in variants(union):
            members = fields(variant)
            if members is None:
                continue
            value = sample(variant)
            for name in literals(members[member]) if member in members else [""]:
                put(dialect, kind, name, {**value, **({member: name} if name else {})})


def members(dialect, kind, *owners):
    """The fields of types."""
    for owner in owners:
        for variant in variants(owner):
            for name, hint in fields(variant).items():
                put(dialect, kind, name, {name: sample(hint, 1, name)})


found = {}


def put(dialect, kind, name, value):
    """Of several samples the one with more fields counts."""
    before = found.get((dialect, kind, name))
    if before is None or len(json.dumps(value)) > len(json.dumps(before)):
        found[dialect, kind, name] = value


def of_modules(name, plain, beta):
    """The types of that name, of which a module may lack one but not both."""
    return [getattr(module, prefix + name) for module, prefix in ((plain, ""), (beta, "Beta")) if hasattr(module, prefix + name)] or sys.exit(
        f"neither {plain.__name__} nor {beta.__name__} has {name}: look where it is now, and change names.py")


def openai_names():
    from openai.types import beta, chat, responses
    from openai.types.beta import response_create_params as beta_create
    from openai.types.chat import chat_completion_chunk, completion_create_params
    from openai.types.responses import response_create_params

    def both(name):
        return of_modules(name, responses, beta)

    typed("responses", "item", *both("ResponseOutputItem"))
    typed("responses", "event", *both("ResponseStreamEvent"), *both("ResponsesServerEvent"))
    for message in both("ResponseOutputMessage"):
        typed("responses", "block", get_args(fields(message)["content"])[0])
    for event in both("ResponseContentPartAddedEvent"):
        typed("responses", "block", fields(event)["part"])
    typed("responses", "input", *both("ResponseInputItemParam"))
    typed("responses", "tool", *both("ToolParam"))
    members("responses", "field", response_create_params.ResponseCreateParamsStreaming, beta_create.ResponseCreateParamsStreaming)

    typed("chat", "call", chat.ChatCompletionMessageToolCallUnion)
    members("chat", "member", chat.ChatCompletionMessage, chat_completion_chunk.ChoiceDelta)
    typed("chat", "input", chat.ChatCompletionMessageParam, member="role")
    typed("chat", "tool", chat.ChatCompletionToolUnionParam)
    members("chat", "field", completion_create_params.CompletionCreateParamsStreaming)


def anthropic_names():
    from anthropic import types
    from anthropic.types import beta, message_create_params
    from anthropic.types.beta import message_create_params as beta_create

    def both(name):
        return of_modules(name, types, beta)

    typed("messages", "block", *both("ContentBlock"))
    typed("messages", "event", *both("RawMessageStreamEvent"))
    typed("messages", "delta", *both("RawContentBlockDelta"))
    typed("messages", "input", *both("ContentBlockParam"))
    typed("messages", "tool", *both("ToolUnionParam"))
    members("messages", "field", message_create_params.MessageCreateParamsStreaming, beta_create.MessageCreateParamsStreaming)


openai_names()
anthropic_names()
for (dialect, kind, name), value in sorted(found.items()):
    json.dump({"dialect": dialect, "kind": kind, "name": name, "sample": value}, sys.stdout, separators=(",", ":"))
    print()
