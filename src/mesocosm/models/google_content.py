"""The wire format of Google's generateContent: encode requests, decode replies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelReply, Tool
from mesocosm.core.usage import Usage
from mesocosm.models.chat_completions import count, priced
from mesocosm.models.prices import Price

Fields = dict[str, Any]

EMPTY = "(empty)"
"""Sent instead of a message without content, which the API rejects."""
_OPENING = "."
"""The user's message before a conversation that starts with the model."""
_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
        "content_filter",
    ),
}
_BUDGETS = {"minimal": 512, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16384}
EFFORTS = ("none", *_BUDGETS)
_GENERATION = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
"""Settings of chat completions and their names in `generationConfig`."""


class _Candidate(msgspec.Struct):
    content: Fields | None = None
    finishReason: str | None = None  # noqa: N815 - the API's name


class Answer(msgspec.Struct):
    """The parts of an answer that are used here; every field may be missing."""

    candidates: list[_Candidate] | None = None
    usageMetadata: Fields | None = None  # noqa: N815 - the API's name
    promptFeedback: Fields | None = None  # noqa: N815 - the API's name
    modelVersion: Any = None  # noqa: N815 - the API's name
    error: Any = None


def decode(body: bytes) -> Answer:
    """Decode a body. Raises msgspec.DecodeError (no JSON) or its subclass ValidationError (JSON of another shape)."""
    return read_json(body, Answer)


def conversation(messages: Sequence[Message]) -> Fields:
    """Return the fields `contents` and, if there is any, `systemInstruction`; messages of the same role become one."""
    system = [message.text for message in messages if message.role == "system" and message.text.strip()]
    turns: list[Fields] = []
    names: dict[str, Fields] = {}
    for message in messages:
        if message.role == "system":
            continue
        role = "model" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "parts": []})
        turns[-1]["parts"] += _result(message, names) if message.role == "tool" else _spoken(message, names)
    if not turns or turns[0]["role"] == "model":
        turns.insert(0, {"role": "user", "parts": [{"text": _OPENING}]})
    for turn in turns:
        turn["parts"] = turn["parts"] or [{"text": EMPTY}]
    found: Fields = {"contents": turns}
    if system:
        found["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    return found


def _result(message: Message, names: Mapping[str, Fields]) -> list[Fields]:
    """Return the result of a call; `names` maps ids of calls to the fields that the API knows a call by."""
    called = names.get(message.tool_call_id) or {"name": message.tool_call_id or "tool"}
    told = {"error" if message.failed else "result": message.text}
    images = [part for part in _parts(message) if "text" not in part]
    return [{"functionResponse": {**called, "response": told}}, *images]


def _spoken(message: Message, names: dict[str, Fields]) -> list[Fields]:
    if message.role != "assistant":
        return list(_parts(message))
    kept = [dict(part) for part in message.blocks if "functionCall" in part]
    for n, call in enumerate(message.tool_calls):
        theirs = kept[n]["functionCall"] if n < len(kept) else {}
        names[call.id] = {"name": call.name, **({"id": theirs["id"]} if theirs.get("id") else {})}
    calls = [{"functionCall": {"name": call.name, "args": _arguments(call)}} for call in message.tool_calls]
    made = [{"functionCall": {name: part["functionCall"].get(name) for name in ("name", "args")}} for part in kept]
    if made != calls:
        return [*_parts(message), *calls]
    text = "".join(str(part.get("text") or "") for part in message.blocks if not part.get("thought"))
    # A signature belongs to its part, at its place.
    return [dict(part) for part in message.blocks] if text == message.text else [*_parts(message), *kept]


def _parts(message: Message) -> Iterator[Fields]:
    content = (Text(message.content),) if isinstance(message.content, str) else message.content
    for part in content:
        if isinstance(part, Image):
            yield _image(part)
        elif part.text.strip():
            yield {"text": part.text}


def _image(image: Image) -> Fields:
    if image.url.startswith("data:"):
        head, _, data = image.url.partition(",")
        return {"inlineData": {"mimeType": head[5:].partition(";")[0], "data": data}}
    if image.url:
        return {"fileData": {"fileUri": image.url}}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _arguments(call: ToolCall) -> Fields:
    return call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}


def wire_tools(tools: Sequence[Tool]) -> list[Fields]:
    """Return tools as the API declares functions."""
    return [
        {
            "functionDeclarations": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    **({"parametersJsonSchema": tool.parameters} if tool.parameters else {}),
                }
                for tool in tools
            ]
        }
    ]


def tool_config(choice: Any) -> Fields:
    """Return a `tool_choice` of chat completions as the API's `toolConfig`."""
    if isinstance(choice, dict):
        name = (choice.get("function") or choice).get("name")
        return {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}
    return {"functionCallingConfig": {"mode": "ANY" if choice == "required" else str(choice).upper()}}


def thinking(effort: str, *, budget: bool) -> Fields:
    """Return the `thinkingConfig` for one of EFFORTS: a level, or a number of tokens for models with a `budget`."""
    if effort == "none":
        return {"thinkingBudget": 0}
    if budget:
        return {"includeThoughts": True, "thinkingBudget": _BUDGETS[effort]}
    return {"includeThoughts": True, "thinkingLevel": "high" if effort in {"xhigh", "max"} else effort}


def spelled(body: Fields, *, budget: bool) -> Fields:
    """Return a body with the names of the API."""
    body = dict(body)
    config: Fields = {}
    if (limit := body.pop("max_completion_tokens", None)) is not None:
        body["max_tokens"] = limit
    for ours, theirs in _GENERATION.items():
        if ours in body:
            config[theirs] = body.pop(ours)
    if (stop := body.pop("stop", None)) is not None:
        config["stopSequences"] = [stop] if isinstance(stop, str) else stop
    if (schema := body.pop("response_format", None)) is not None:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    if body.get("reasoning_effort") in EFFORTS:
        config["thinkingConfig"] = thinking(body.pop("reasoning_effort"), budget=budget)
    if (choice := body.pop("tool_choice", None)) is not None:
        body["toolConfig"] = tool_config(choice)
    return {**body, "generationConfig": {**config, **(body.get("generationConfig") or {})}}


def reply(answer: Answer, price: Price | None, name: str, latency_s: float) -> ModelReply | None:
    """Return the reply in an answer, or None if it holds none. A prompt that the provider blocked was refused."""
    usage = priced(_usage(answer.usageMetadata or {}), price) if answer.usageMetadata else _unknown(price)
    served = answer.modelVersion if isinstance(answer.modelVersion, str) else ""
    if not answer.candidates:
        blocked = (answer.promptFeedback or {}).get("blockReason")
        if answer.error or not blocked:
            return None
        told = str((answer.promptFeedback or {}).get("blockReasonMessage") or "")
        return ModelReply(told, "", (), "content_filter", usage, name, latency_s, served=served)
    candidate = answer.candidates[0]
    parts = [part for part in (candidate.content or {}).get("parts") or () if isinstance(part, dict)]
    called = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    calls = tuple(
        ToolCall(str(call.get("id") or f"call_{n}"), str(call.get("name") or ""), call.get("args") or {})
        for n, call in enumerate(called)
    )
    reason = candidate.finishReason or "STOP"
    finish = "tool_calls" if calls and reason == "STOP" else _REASONS.get(reason, reason.lower())
    return ModelReply(
        text="".join(str(part.get("text") or "") for part in parts if not part.get("thought")),
        reasoning="".join(str(part.get("text") or "") for part in parts if part.get("thought")),
        tool_calls=calls,
        finish_reason=finish,
        usage=usage,
        model=name,
        latency_s=latency_s,
        served=served,
        blocks=tuple(parts) if any("thoughtSignature" in part for part in parts) else (),
    )


def _usage(told: Fields) -> Usage:
    """Return the usage; the API counts thoughts apart from the answer, and cached tokens as part of the prompt."""
    thoughts = count(told.get("thoughtsTokenCount"))
    prompt = count(told.get("promptTokenCount")) + count(told.get("toolUsePromptTokenCount"))
    completion = count(told.get("candidatesTokenCount")) + thoughts
    return Usage(prompt, completion, count(told.get("cachedContentTokenCount")), thoughts, None, 1)


def _unknown(price: Price | None) -> Usage:
    return Usage(calls=1, cost_usd=0.0 if price is not None and price.free else None)


def retry_delay(error: Any) -> str:
    """Return the seconds that an error asks to wait in its details; empty if it does not."""
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return delay[:-1]
    return ""
