"""Requests that a model server rejects: missing fields, values of the wrong type, or a prompt that is too long.

As strict as the stricter of LiteLLM's proxy and llama.cpp's server; `tests/foreign` compares them. The server itself
checks the model's name.
"""

from typing import Any

import msgspec


class _Message(msgspec.Struct):
    role: str
    content: Any = None


class _Sampling(msgspec.Struct, kw_only=True):
    temperature: float | None = None
    top_p: float | None = None
    stream: bool | None = None


class _Chat(_Sampling, kw_only=True):
    model: str | None = None
    messages: list[_Message]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    tools: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    seed: int | None = None
    n: int | None = None


class _Responses(_Sampling, kw_only=True):
    model: str | None = None
    input: str | list[dict[str, Any]]
    max_output_tokens: int | None = None
    tools: list[dict[str, Any]] | None = None


class _Text(_Sampling, kw_only=True):
    model: str | None = None
    prompt: str | list[Any]
    max_tokens: int | None = None


class _Embeddings(msgspec.Struct, kw_only=True):
    model: str | None = None
    input: str | list[Any]


class _Messages(_Sampling, kw_only=True):
    model: str | None = None
    messages: list[_Message]
    max_tokens: int
    tools: list[dict[str, Any]] | None = None
    system: str | list[dict[str, Any]] | None = None


class _Ollama(msgspec.Struct, kw_only=True):
    model: str | None = None
    messages: list[_Message] = []
    stream: bool | None = None
    options: dict[str, Any] | None = None


class _Gemini(msgspec.Struct):
    contents: list[dict[str, Any]]


_SHAPES: dict[str, Any] = {
    "/chat/completions": msgspec.json.Decoder(_Chat).decode,
    "/v1/completions": msgspec.json.Decoder(_Text).decode,
    "/responses": msgspec.json.Decoder(_Responses).decode,
    "/embeddings": msgspec.json.Decoder(_Embeddings).decode,
    "/messages": msgspec.json.Decoder(_Messages).decode,
    "/api/chat": msgspec.json.Decoder(_Ollama).decode,
    ":generateContent": msgspec.json.Decoder(_Gemini).decode,
}


def problem(path: str, raw: bytes) -> str:
    """Return what is wrong with the body of a request to `path`; empty if it is valid."""
    decode = next((found for ending, found in _SHAPES.items() if path.endswith(ending)), None)
    if decode is None:
        return ""
    try:
        decode(raw)
    except msgspec.ValidationError as error:
        return f"Invalid request: {error}"
    except msgspec.DecodeError as error:
        return f"Invalid JSON payload: {error}"
    return ""


def overflow(tokens: int, context: int) -> str:
    """Return OpenAI's error message for a prompt of `tokens` that exceeds the maximum of `context`."""
    return (
        f"This model's maximum context length is {context} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
