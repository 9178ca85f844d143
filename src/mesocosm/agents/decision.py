"""One decision: call the model, parse its reply, and call it again if the action is malformed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mesocosm.agents.agent_context import AgentContext
from mesocosm.agents.instructions import Path, closing
from mesocosm.agents.parsing import MalformedReply, Parsed
from mesocosm.agents.technique import Act, Technique, ToolAnswer, ToolRefusal
from mesocosm.agents.tool_text import calls_in
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings, Tool
from mesocosm.core.ports import Context
from mesocosm.core.thought import split_thought

ENLARGED = 4
LEAST_ENLARGED = 2048
"""A truncated reply is requested once more, with ENLARGED times the tokens and at least LEAST_ENLARGED."""

_REFUSED = frozenset(("content_filter", "refusal", "safety"))
_DETAIL = 4000


@dataclass(frozen=True, slots=True)
class Move:
    """An action; `message` is the reply as kept in the history, `cut` whether it ended at the token limit.

    `malformed` is the reason why the reply has no valid action; its text is then the action. Empty otherwise.
    """

    parsed: Parsed
    reasoning: str
    message: Message
    cut: bool = False
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class Calls:
    """Tool calls with the outcome of each."""

    calls: tuple[tuple[ToolCall, Act | ToolAnswer], ...]
    reasoning: str
    message: Message
    native: bool


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of an episode and the technique of each; `native` if they are passed through the model's API."""

    tools: tuple[Tool, ...] = ()
    owners: Mapping[str, Technique] = field(default_factory=dict)
    native: bool = False


class Decider:
    """Makes the decisions of one episode."""

    def __init__(
        self, context: Context, setting: AgentContext, techniques: Sequence[Technique], toolbox: Toolbox
    ) -> None:
        self._context = context
        self._setting = setting
        self._techniques = techniques
        self._toolbox = toolbox
        self._schema = None if toolbox.tools else setting.schema

    async def decide(self, messages: Sequence[Message], role: str, legal: Sequence[str] = ()) -> Move | Calls:
        """Return the model's next action or tool calls. If `legal` names any values, no other one is valid.

        Raise EpisodeError: malformed_action after the last re-ask, reply_truncated if replies are cut at the token
        limit, refused if the provider withheld the reply, and any error of the model call.
        """
        settings = self._context.settings
        request = self._request(messages, settings)
        on_malformed = self._setting.on_malformed
        asks_left = self._setting.options.reask if on_malformed != "fail" else 0
        cut_off: EpisodeError | None = None
        while True:
            reply = await self._ask(request, role, cut_off)
            decision = await self._read(reply)
            if legal and isinstance(decision, Move):
                decision = _if_legal(decision, legal)
            if not isinstance(decision, MalformedReply):
                return decision
            cut, enlarged = reply.finish_reason == "length", request.max_tokens > settings.max_tokens
            if cut and not enlarged and self._structured:
                cut_off = _truncated(reply, decision, request.max_tokens)
                request = replace(request, max_tokens=max(settings.max_tokens * ENLARGED, LEAST_ENLARGED))
                self._repeat(Cause.REPLY_TRUNCATED, f"{decision.reason}; asked with {request.max_tokens} tokens")
                continue
            # Empty replies and invalid tool calls cannot be passed to the environment.
            if on_malformed == "pass" and not reply.tool_calls and split_thought(reply.text)[1].strip():
                return _passed(reply, decision, wrapped=self._schema is not None)
            if cut and (enlarged or not asks_left):
                raise _truncated(reply, decision, request.max_tokens)
            if not asks_left:
                asked = 0 if on_malformed == "fail" else self._setting.options.reask
                raise _malformed(reply, decision, asked)
            asks_left -= 1
            self._repeat(Cause.MALFORMED_ACTION, decision.reason)
            request = replace(request, messages=[*request.messages, *self._objection(reply, decision, cut, legal)])

    async def _ask(self, request: ModelRequest, role: str, cut_off: EpisodeError | None) -> ModelReply:
        """Call the model. If the provider rejects the enlarged token limit, raise the truncation error instead."""
        try:
            reply = await self._context.ask(request)
        except EpisodeError as error:
            if cut_off is not None and error.cause in (Cause.MODEL_REJECTED, Cause.CONTEXT_OVERFLOW):
                raise cut_off from error
            raise
        for technique in self._techniques:
            await technique.after_reply(reply, role)
        return reply

    @property
    def _structured(self) -> bool:
        return self._setting.parser.structured or self._schema is not None

    def _request(self, messages: Sequence[Message], settings: ModelSettings) -> ModelRequest:
        return ModelRequest(
            messages,
            settings.temperature,
            settings.max_tokens,
            settings.top_p,
            schema=self._schema,
            tools=self._toolbox.tools if self._toolbox.native else (),
            timeout_s=settings.timeout_s,
            extra=settings.extra,
        )

    async def _read(self, reply: ModelReply) -> Move | Calls | MalformedReply:
        if reply.finish_reason.lower() in _REFUSED:
            raise EpisodeError(
                Cause.REFUSED, f"the model's provider withheld the reply ({reply.finish_reason})", detail=reply.text
            )
        if reply.tool_calls:
            return await self._called(reply, reply.tool_calls, native=True)
        if self._toolbox.tools:
            calls = calls_in(reply.text, self._toolbox.owners)
            if calls:
                return await self._called(reply, calls, native=False)
        outcome = self._setting.parser.parse(reply.text, wrapped=self._schema is not None)
        if isinstance(outcome, MalformedReply):
            return outcome
        cut = reply.finish_reason == "length"
        if cut and outcome.repaired:
            return MalformedReply("the reply is cut off before its choice is clear")
        reasoning = outcome.reasoning
        if reply.reasoning:
            reasoning = f"{reply.reasoning}\n\n{reasoning}" if reasoning else reply.reasoning
        return Move(outcome, reasoning, _answer(reply), cut)

    async def _called(self, reply: ModelReply, calls: Sequence[ToolCall], *, native: bool) -> Calls | MalformedReply:
        """Resolve each tool call; if one is invalid, none of them is applied."""
        made: list[tuple[ToolCall, Act | ToolAnswer]] = []
        for call in calls:
            owner = self._toolbox.owners.get(call.name)
            if owner is None:
                known = ", ".join(self._toolbox.owners) or "none"
                return MalformedReply(f"there is no tool {call.name!r} (tools: {known})")
            if not isinstance(call.arguments, dict):
                return MalformedReply(f"the arguments of {call.name} are not a JSON object")
            outcome = await owner.call(call, self._context)
            if isinstance(outcome, ToolRefusal):
                return MalformedReply(outcome.reason)
            made.append((call, outcome))
        thought, said = split_thought(reply.text)
        reasoning = "\n\n".join(part for part in (reply.reasoning, thought, said if native else "") if part)
        message = Message("assistant", said, tool_calls=tuple(calls), blocks=reply.blocks) if native else _answer(reply)
        return Calls(tuple(made), reasoning, message, native)

    def _objection(
        self, reply: ModelReply, malformed: MalformedReply, cut: bool, legal: Sequence[str]
    ) -> list[Message]:
        """Return the malformed reply and a message that explains the problem."""
        if reply.tool_calls:
            refused = [
                Message("tool", f"Not done: {malformed.reason}.", tool_call_id=call.id, failed=True)
                for call in reply.tool_calls
            ]
            said = split_thought(reply.text)[1]
            return [Message("assistant", said, tool_calls=reply.tool_calls, blocks=reply.blocks), *refused]
        path: Path = "structured" if self._schema is not None else "tools" if self._toolbox.tools else "text"
        allowed = f"now one of: {', '.join(legal)}" if legal else self._setting.parser.allowed
        shorter = " It was cut at the token limit, so be shorter." if cut else ""
        text = (
            f"That reply holds no action that can be used: {malformed.reason}.{shorter}\n"
            f"Allowed is {allowed}\n{closing(self._setting.action_space, path)}"
        )
        return [_answer(reply), Message("user", text)]

    def _repeat(self, cause: Cause, message: str) -> None:
        self._context.record(Kind.RETRY, {"cause": cause, "message": message})


def _if_legal(move: Move, legal: Sequence[str]) -> Move | MalformedReply:
    action = move.parsed.action
    if action in legal or str(action) in legal:
        return move
    return MalformedReply(f"{action!r:.80} is not allowed now", move.reasoning)


def _answer(reply: ModelReply) -> Message:
    """Return a reply for the history: without its thought, and never empty, because providers reject that."""
    return Message("assistant", split_thought(reply.text)[1] or "(no answer)", blocks=reply.blocks)


def _passed(reply: ModelReply, malformed: MalformedReply, *, wrapped: bool) -> Move:
    """Return a reply without a valid action as the action: its text without thought, or the `action` of a wrapper."""
    thought, said = split_thought(reply.text)
    action: Any = said.strip()
    if wrapped:
        try:
            answer = json.loads(action)
        except (ValueError, RecursionError):
            answer = None
        action = answer["action"] if isinstance(answer, dict) and "action" in answer else action
    reasoning = "\n\n".join(part for part in (reply.reasoning, thought) if part)
    return Move(Parsed(action, reasoning), reasoning, _answer(reply), malformed=malformed.reason)


def _malformed(reply: ModelReply, malformed: MalformedReply, asked: int) -> EpisodeError:
    again = f" after {asked} re-ask{'s' * (asked != 1)}" if asked else ""
    return EpisodeError(
        Cause.MALFORMED_ACTION,
        f"the model gave no valid action{again}: {malformed.reason}",
        detail=reply.text[-_DETAIL:],
    )


def _truncated(reply: ModelReply, malformed: MalformedReply, max_tokens: int) -> EpisodeError:
    return EpisodeError(
        Cause.REPLY_TRUNCATED,
        f"the reply was cut at {max_tokens} tokens, and what is there is no action: {malformed.reason}; "
        "raise max_tokens",
        detail=reply.text[-_DETAIL:],
    )
