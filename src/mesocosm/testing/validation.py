"""Requests that a model server rejects: missing fields, values of the wrong type, or a prompt that is too long.

As strict as the stricter of LiteLLM's proxy and llama.cpp's server, which `tests/foreign` compares, and for messages as
Anthropic's API. The server itself checks the model's name.
"""

import hashlib
from collections.abc import Set
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


class _Messages(_Sampling, kw_only=True, forbid_unknown_fields=True):
    model: str | None = None
    messages: list[_Message]
    max_tokens: int
    tools: list[dict[str, Any]] | None = None
    system: str | list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    stop_sequences: list[str] | None = None
    top_k: int | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    output_format: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    cache_control: dict[str, Any] | None = None
    service_tier: str | None = None
    container: Any = None
    mcp_servers: Any = None
    context_management: Any = None


class _Ollama(msgspec.Struct, kw_only=True):
    model: str | None = None
    messages: list[_Message] = []
    stream: bool | None = None
    options: dict[str, Any] | None = None


class _Part(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    text: str | None = None
    thought: bool | None = None
    functionCall: dict[str, Any] | None = None  # noqa: N815 - Google's name
    functionResponse: dict[str, Any] | None = None  # noqa: N815 - Google's name
    inlineData: dict[str, Any] | None = None  # noqa: N815 - Google's name
    inline_data: dict[str, Any] | None = None
    fileData: dict[str, Any] | None = None  # noqa: N815 - Google's name
    thoughtSignature: str | None = None  # noqa: N815 - Google's name
    function_call: dict[str, Any] | None = None
    function_response: dict[str, Any] | None = None
    file_data: dict[str, Any] | None = None


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    parts: list[_Part]
    role: str = "user"


class _Gemini(msgspec.Struct, forbid_unknown_fields=True):
    contents: list[_Content]
    systemInstruction: Any = None  # noqa: N815 - Google's name
    system_instruction: Any = None
    generationConfig: dict[str, Any] | None = None  # noqa: N815 - Google's name
    tools: list[dict[str, Any]] | None = None
    toolConfig: dict[str, Any] | None = None  # noqa: N815 - Google's name
    safetySettings: list[dict[str, Any]] | None = None  # noqa: N815 - Google's name
    cachedContent: str | None = None  # noqa: N815 - Google's name
    labels: Any = None


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
        decoded = decode(raw)
        if isinstance(decoded, _Messages):
            return _misplaced(decoded)
        if isinstance(decoded, _Gemini):
            return _misplaced_parts(decoded)
    except msgspec.ValidationError as error:
        return f"Invalid request: {error}"
    except msgspec.DecodeError as error:
        return f"Invalid JSON payload: {error}"
    return ""


def signature(thinking: str) -> str:
    """Return the signature of a thought, as the fake server gives and checks it."""
    return hashlib.sha256(f"signed: {thinking}".encode()).hexdigest()


def _misplaced(request: _Messages) -> str:
    """Return what Anthropic's API rejects in a request of the right shape, in its words; empty if nothing."""
    thinking = request.thinking or {}
    if thinking.get("budget_tokens", 0) >= request.max_tokens:
        return "`max_tokens` must be greater than `thinking.budget_tokens`"
    if thinking.get("type") in {"enabled", "adaptive"} and request.temperature not in {None, 1}:
        return "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode"
    if not request.messages or request.messages[0].role != "user":
        return 'messages: first message must use the "user" role'
    open_calls: set[str] = set()
    for place, message in enumerate(request.messages):
        blocks = [{"type": "text", "text": message.content}] if isinstance(message.content, str) else message.content
        if wrong := _wrong_turn(message.role, blocks, open_calls):
            return f"messages.{place}: {wrong}"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return _UNANSWERED if open_calls else ""


_UNANSWERED = "`tool_use` ids were found without `tool_result` blocks immediately after"


def _wrong_turn(role: str, blocks: Any, open_calls: Set[str]) -> str:
    if role not in {"user", "assistant"}:
        return "role: Input should be 'user' or 'assistant'"
    if not isinstance(blocks, list) or not blocks:
        return "all messages must have non-empty content"
    for index, block in enumerate(blocks):
        if wrong := _wrong_block(block, role, open_calls):
            return f"content.{index}: {wrong}"
    answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
    return _UNANSWERED if open_calls - answered else ""


# fmt: off
_GENERATION = frozenset((
    "temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed", "presencePenalty",
    "frequencyPenalty", "responseMimeType", "responseSchema", "responseJsonSchema", "thinkingConfig",
    "candidateCount", "max_output_tokens", "top_p", "top_k", "stop_sequences", "response_mime_type",
    "response_schema", "response_json_schema",
))
# fmt: on


def _misplaced_parts(request: _Gemini) -> str:
    """Return what Google's API rejects in a request of the right shape; empty if nothing."""
    if unknown := (request.generationConfig or {}).keys() - _GENERATION:
        return f'Unknown name "{min(unknown)}" at generation_config: Cannot find field.'
    called: list[Any] = []
    for place, content in enumerate(request.contents):
        if content.role not in {"user", "model"}:
            return "Please use a valid role: user, model."
        if not content.parts or any(part.text == "" for part in content.parts):
            return f"contents[{place}].parts must not be empty"
        if any(_unsigned(part) for part in content.parts):
            return "Thought signature is not valid"
        if [part.functionResponse.get("name") for part in content.parts if part.functionResponse] != called:
            return "the number of function response parts is not equal to the number of function call parts"
        called = [part.functionCall.get("name") for part in content.parts if part.functionCall]
    return "contents is not specified" if not request.contents else ""


def _unsigned(part: _Part) -> bool:
    given, part.thoughtSignature = part.thoughtSignature, None
    return given is not None and given != signature(msgspec.json.encode(part).decode())


_FIELDS = {
    "text": {"text", "cache_control", "citations"},
    "image": {"source", "cache_control"},
    "document": {"source", "title", "context", "citations", "cache_control"},
    "tool_use": {"id", "name", "input", "cache_control", "caller"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}


def _wrong_block(block: Any, role: str, open_calls: Set[str]) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in _FIELDS:
        return f"Input tag {kind!r} does not match any of the expected tags"
    if unknown := block.keys() - _FIELDS[kind] - {"type"}:
        return f"{kind}.{min(unknown)}: Extra inputs are not permitted"
    if kind == "text" and not str(block.get("text") or "").strip():
        return "text content blocks must be non-empty and contain non-whitespace text"
    if kind == "tool_result" and (role != "user" or block.get("tool_use_id") not in open_calls):
        return f"unexpected `tool_use_id` found in `tool_result` blocks: {block.get('tool_use_id')}"
    if kind in {"tool_use", "thinking", "redacted_thinking"} and role != "assistant":
        return f"`{kind}` blocks can only be in `assistant` messages"
    if kind == "tool_use" and not isinstance(block.get("input"), dict):
        return "tool_use.input: Input should be a valid dictionary"
    if kind == "thinking" and block.get("signature") != signature(str(block.get("thinking"))):
        return "Invalid `signature` in `thinking` block"
    return ""


def overflow(tokens: int, context: int) -> str:
    """Return OpenAI's error message for a prompt of `tokens` that exceeds the maximum of `context`."""
    return (
        f"This model's maximum context length is {context} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
