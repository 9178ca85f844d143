"""A program that knows nothing of mesocosm: asks its model through stock clients, and writes what came of each call."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import openai

MODEL, QUESTION = os.environ["MODEL_NAME"], "How many? [[say 4]]"
LOOK_UP = {"type": "object", "properties": {"room": {"type": "string", "maxLength": 4}}, "required": ["room"]}
PLACE = {
    "type": "object",
    "properties": {"floor": {"enum": ["1", "2"]}},
    "required": ["floor"],
    "additionalProperties": False,
}


def said(text: str) -> list[Any]:
    """Return a conversation of one message."""
    return [{"role": "user", "content": text}]


def whole(stream: Any) -> str:
    """Return the text of a stream of chat completions."""
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def chat(client: openai.OpenAI, text: str = QUESTION, **more: Any) -> Any:
    """Ask by chat completions."""
    given = {"model": MODEL, "max_tokens": 12, **more}
    return client.chat.completions.create(messages=said(text), **given)


def called(client: openai.OpenAI, **more: Any) -> Any:
    """Return the arguments of a call of a tool."""
    offered: Any = {"type": "function", "function": {"name": "look_up", "parameters": LOOK_UP}}
    text = '[[call look_up {"room": "101"}]]'
    message = chat(client, text, tools=[offered], max_tokens=200, **more).choices[0].message
    return sorted(json.loads(message.tool_calls[0].function.arguments))


def tool(client: openai.OpenAI) -> Any:
    """Ask for a call of a tool by its name."""
    return called(client, tool_choice={"type": "function", "function": {"name": "look_up"}})


def required_tool(client: openai.OpenAI) -> Any:
    """The same, as llama.cpp takes it. A model that says noise must be urged to begin a call."""
    return called(client, tool_choice="required", extra_body={"logit_bias": {"{": 100}})


def schema(client: openai.OpenAI) -> Any:
    """Return the keys of an answer that is held to a schema."""
    held = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": PLACE}}
    answer = chat(client, 'Where? [[say {"floor": "1"}]]', response_format=held, max_tokens=200)
    return sorted(json.loads(answer.choices[0].message.content))


def grammar(client: openai.OpenAI) -> Any:
    """The same, as llama.cpp takes it."""
    answer = chat(client, "Where?", response_format={"type": "json_object", "schema": PLACE}, max_tokens=200)
    return sorted(json.loads(answer.choices[0].message.content))


def messages(client: anthropic.Anthropic) -> Any:
    """Ask by messages of the Anthropic protocol."""
    reply = client.messages.create(model=MODEL, max_tokens=12, messages=said(QUESTION))
    return "".join(block.text for block in reply.content if block.type == "text")


def messages_stream(client: anthropic.Anthropic) -> Any:
    """The same, streamed."""
    with client.messages.stream(model=MODEL, max_tokens=12, messages=said(QUESTION)) as stream:
        return stream.get_final_text()


def responses_stream(client: openai.OpenAI) -> Any:
    """Ask by responses, streamed."""
    events = client.responses.create(model=MODEL, input=QUESTION, max_output_tokens=16, stream=True)
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


OPENAI: dict[str, Callable[[openai.OpenAI], Any]] = {
    "chat": lambda client: chat(client).choices[0].message.content,
    "chat_stream": lambda client: whole(chat(client, stream=True)),
    "responses": lambda client: client.responses.create(model=MODEL, input=QUESTION, max_output_tokens=16).output_text,
    "responses_stream": responses_stream,
    "embeddings": lambda client: len(client.embeddings.create(model=MODEL, input=QUESTION).data[0].embedding),
    "tool": tool,
    "required_tool": required_tool,
    "schema": schema,
    "grammar": grammar,
    "cut": lambda client: chat(client, "Tell me much. [[say four]]", max_tokens=500).choices[0].finish_reason,
    "overflow": lambda client: chat(client, "word " * 4000 + "[[say 4]]").choices[0].message.content,
    "another": lambda client: chat(client, model="another-model").choices[0].message.content,
    "nameless": lambda client: chat(client, model="").choices[0].message.content,
}
ANTHROPIC: dict[str, Callable[[anthropic.Anthropic], Any]] = {
    "messages": messages,
    "messages_stream": messages_stream,
}


def ask(kind: str) -> dict[str, Any]:
    """Return what came of one call."""
    try:
        if kind in OPENAI:
            output = OPENAI[kind](openai.OpenAI(max_retries=0, timeout=60))
        else:
            output = ANTHROPIC[kind](anthropic.Anthropic(max_retries=0, timeout=60))
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        return {"name": kind, "input": kind, "output": f"status {error.status_code}", "verdict": 0.0}
    except (openai.APIConnectionError, anthropic.APIConnectionError) as error:
        return {"name": kind, "input": kind, "output": f"status {error}", "verdict": 0.0}
    return {"name": kind, "input": kind, "output": output, "verdict": 1.0}


if __name__ == "__main__":
    place, kinds = Path(sys.argv[1]), sys.argv[2].split(",")
    items = [ask(kind) for kind in kinds]
    (place / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (place / "scores.json").write_text(json.dumps({"overall": sum(item["verdict"] for item in items) / len(items)}))
