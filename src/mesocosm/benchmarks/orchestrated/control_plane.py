"""The control plane of a cell whose worker is a program: it calls the run's model at the program's address."""

from contextlib import suppress
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.core.model import Tool
from mesocosm.core.proxy import ProxyAddress
from mesocosm.core.turn import Answer, CalledTool, Turn
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError

_KEYS = {"text", "tool_calls"}


class ControlPlane:
    """One conversation in OpenAI's chat completions protocol; the proxy records and limits every call."""

    def __init__(self, address: ProxyAddress, client: HttpClient) -> None:
        self._address = address
        self._client = client
        self._messages: list[dict[str, Any]] = []
        self._tools: tuple[Tool, ...] = ()
        self._native = True

    async def answer(self, turn: Turn) -> Answer:
        """Send a turn and return the model's answer. Raises EpisodeError."""
        if turn.system is not None:
            self._messages.append({"role": "system", "content": turn.system})
        if turn.tools is not None:
            self._tools = turn.tools
        for message in turn.messages:
            if message.role == "tool" and self._native and message.tool_call_id:
                answer = {"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id}
            else:
                answer = {"role": "user", "content": message.text}
            self._messages.append(answer)
        reply = await self._ask()
        self._messages.append({"role": "assistant", **reply})
        calls = reply.get("tool_calls") or []
        text = str(reply.get("content") or "")
        self._native = bool(calls)
        return Answer(text, tuple(map(_called, calls))) if calls else _spelled(text)

    async def _ask(self) -> dict[str, Any]:
        settings = self._address.settings
        body: dict[str, Any] = {
            "model": self._address.model,
            "messages": self._messages,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "tools": [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in self._tools],
        }
        headers = {"authorization": f"Bearer {self._address.token}", "content-type": "application/json"}
        url = f"{self._address.url}/v1/chat/completions"
        try:
            response = await self._client.request(
                "POST", url, headers=headers, body=msgspec.json.encode(body), timeout=2 * settings.timeout_s + 60
            )
        except HttpError as error:
            raise EpisodeError(Cause.PROXY_FAILED, f"the control plane could not ask its model: {error}") from error
        if response.status != 200:
            detail = response.body.decode("utf-8", "replace")[:2000]
            raise EpisodeError(
                Cause.PROGRAM_FAILED, f"the control plane's model call was answered {response.status}", detail=detail
            )
        try:
            message = read_json(response.body)["choices"][0]["message"]
            return {name: message[name] for name in ("content", "tool_calls") if message.get(name)} or {"content": ""}
        except (msgspec.DecodeError, LookupError, TypeError, AttributeError) as error:
            raise EpisodeError(Cause.MODEL_INVALID, "the control plane's model answered no message") from error


def _called(call: Any) -> CalledTool:
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with suppress(msgspec.DecodeError):
            arguments = read_json(arguments) if arguments.strip() else {}
    return CalledTool(
        str(function.get("name", "")), arguments, str(call.get("id", "")) if isinstance(call, dict) else ""
    )


def _spelled(text: str) -> Answer:
    """Return the answer that a model without native tool calls writes as JSON, or else its text."""
    try:
        value = read_json(text)
        if isinstance(value, dict) and "tool_calls" in value and not value.keys() - _KEYS:
            return msgspec.convert(value, Answer)
    except (msgspec.DecodeError, msgspec.ValidationError):
        pass
    return Answer(text)
