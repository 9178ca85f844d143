"""The agent `bash`: a model that works in a container with one tool, which runs commands there."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesocosm.benchmarks.harbor.events import RecordedContainer, output_of, shortened
from mesocosm.core.container import CommandEnd, ContainerCommand
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import ModelReply, Tool
from mesocosm.core.proxy import ProxyAddress
from mesocosm.models import chat_completions
from mesocosm.models.http_client import ModelHttpClient

TURNS = 100
"""Turns of a model after which its work ends, unless an option says otherwise."""
_COMMAND_S = 180.0
_CALL_S = 24 * 3600.0
"""The engine behind the address retries and waits; the time of the agent ends the call before."""
_MOST_OUTPUT = 20_000
_PROMPT = (
    "You work in a Linux container, alone: nobody answers questions. Do what the task says with the tool `bash`, which "
    "runs a command in the container. Each call is a new shell in the working directory; files and programs in the "
    "background stay. When the task is done, answer without calling a tool. What is in the container then is checked."
)
BASH = Tool(
    "bash",
    "Run a command with bash (sh, if there is no bash) in the container, and return its output and exit code.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command."},
            "timeout": {
                "type": "number",
                "description": f"Seconds after which it is ended, {_COMMAND_S:g} by default.",
            },
        },
        "required": ["command"],
    },
)
_SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash -c "$0"; fi; exec sh -c "$0"'


@dataclass(slots=True)
class BashAgent:
    """Plays one episode; its conversation goes on through the steps of a task. Calls go to the proxy at `address`."""

    address: ProxyAddress
    turns: int = TURNS
    messages: list[Message] = field(default_factory=lambda: [Message("system", _PROMPT)])
    taken: int = 0
    last: str = ""

    async def work(self, container: RecordedContainer, instruction: str, user: str | int | None, until: float) -> str:
        """Work on an instruction until the model calls no tool; return why it ended earlier, or an empty string.

        `until` is the end of its time by time.monotonic. Raises EpisodeError (program_failed) if the model does not
        answer.
        """
        variables = self.address.variables
        client = ModelHttpClient(
            f"{self.address.provider}/{self.address.model}",
            variables.get("OPENAI_BASE_URL", f"{self.address.url}/v1"),
            variables.get("OPENAI_API_KEY", self.address.token),
        )
        self.messages.append(Message("user", instruction))
        try:
            while self.taken < self.turns:
                self.taken += 1
                reply = await self._ask(client)
                self.messages.append(
                    Message("assistant", reply.text, reasoning=reply.reasoning, tool_calls=reply.tool_calls)
                )
                self.last = reply.text or self.last
                if not reply.tool_calls:
                    return "length" if reply.finish_reason == "length" else ""
                for call in reply.tool_calls:
                    self.messages.append(await self._called(call, container, user, until))
        finally:
            await client.close()
        return f"{self.turns} turns"

    async def _ask(self, client: ModelHttpClient) -> ModelReply:
        body: dict[str, Any] = {
            "model": self.address.model,
            "messages": chat_completions.wire_messages(self.messages),
            "tools": chat_completions.wire_tools([BASH]),
        }
        try:
            response = await client.post("/chat/completions", msgspec.json.encode(body), _CALL_S)
        except EpisodeError as error:
            raise EpisodeError(Cause.PROGRAM_FAILED, f"the agent bash got no answer: {error}") from error
        if response.status != 200:
            said = response.body[:500].decode(errors="replace")
            raise EpisodeError(Cause.PROGRAM_FAILED, f"the agent bash got no answer: status {response.status}: {said}")
        try:
            reply = chat_completions.reply(chat_completions.decode(response.body), None, self.address.model, 0.0)
        except msgspec.DecodeError as error:
            raise EpisodeError(Cause.PROGRAM_FAILED, f"the agent bash cannot read the answer: {error}") from error
        if reply is None:
            raise EpisodeError(Cause.PROGRAM_FAILED, "the agent bash got an answer without a choice")
        return reply

    async def _called(
        self, call: ToolCall, container: RecordedContainer, user: str | int | None, until: float
    ) -> Message:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        command = arguments.get("command")
        if call.name != BASH.name or not isinstance(command, str) or not command.strip():
            words = 'call the tool `bash` with {"command": "…"}'
            return Message("tool", f"not run: {words}", tool_call_id=call.id, failed=True)
        asked = arguments.get("timeout")
        seconds = float(asked) if isinstance(asked, int | float) and 0 < asked < 1e6 else _COMMAND_S
        seconds = max(min(seconds, until - time.monotonic()), 1.0)
        asked_for = ContainerCommand(["sh", "-c", _SHELL, command], user=user, seconds=seconds)
        ended = await container.exec(asked_for, shown=command)
        await asyncio.sleep(0)
        return Message("tool", told(ended), tool_call_id=call.id)


def told(ended: CommandEnd) -> str:
    """Return what the model is told about a command."""
    text = shortened(output_of(ended), _MOST_OUTPUT)
    how = f"ended after {ended.seconds:.0f} s without an exit code" if ended.late else f"exit code {ended.code}"
    return f"{text}\n[{how}]" if text else f"[{how}]"
