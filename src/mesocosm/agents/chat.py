"""The agent of questions and conversations: what the benchmark says is said to the model, and nothing else.

The benchmark writes every word of the prompt; see core.turn for what it says and what it is answered.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesocosm.agents.parsing import split_thought
from mesocosm.agents.tool_text import calls_in, offered
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, Tool
from mesocosm.core.ports import Context, Observation
from mesocosm.core.turn import Answer, Called, Turn, read_turn

_REFUSED = frozenset(("content_filter", "refusal", "safety"))
_ANSWER_KEYS = {"text", "tool_calls"}


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """`system_prompt` goes before the benchmark's own. `tools` is `auto` (by the API where the model can) or `text`."""

    system_prompt: str = ""
    tools: str = "auto"


def open_chat(options: Mapping[str, Any]) -> "ChatAgent":
    """Return the agent with these options. Raises UsageError for an unknown or impossible one."""
    unknown = sorted(set(options) - {"system_prompt", "tools"})
    if unknown:
        raise UsageError(f"the agent 'chat' has no option {unknown[0]!r}; it has system_prompt and tools")
    chosen = ChatOptions(**options)
    if chosen.tools not in {"auto", "text"} or not isinstance(chosen.system_prompt, str):
        raise UsageError("options of the agent 'chat': system_prompt is a text, tools is auto or text")
    return ChatAgent(chosen)


@dataclass(slots=True)
class _Thread:
    """One conversation: its system message, what was said, the tools that are offered, calls without an answer."""

    system: str = ""
    messages: list[Message] = field(default_factory=list)
    tools: tuple[Tool, ...] = ()
    open_calls: tuple[ToolCall, ...] = ()


class ChatAgent:
    """Says to the model what the benchmark says. Implements core.ports.Agent."""

    def __init__(self, options: ChatOptions | None = None) -> None:
        self.options = options or ChatOptions()

    async def play(self, context: Context) -> None:
        """Talk until the episode is over, or give the model to a program that plays by itself. Raises EpisodeError."""
        native = context.capabilities.tools and self.options.tools == "auto"
        talk = _Talk(context, native, self.options.system_prompt)
        observation = await context.reset()
        if context.program:
            await context.hand_over()
        while not context.over:
            observation = await talk.turn(observation)


class _Talk:
    """The state of one episode."""

    def __init__(self, context: Context, native: bool, system_prompt: str) -> None:
        self.context = context
        self.native = native
        self.system_prompt = system_prompt
        self.threads: dict[str, _Thread] = {}

    async def turn(self, observation: Observation) -> Observation:
        said = read_turn(observation.data)
        thread = self.threads.setdefault(said.thread, _Thread())
        self._hear(thread, said)
        reply = await self.context.ask(self._request(thread, said))
        if reply.finish_reason.lower() in _REFUSED:
            what = f"the model's provider withheld the reply ({reply.finish_reason})"
            raise EpisodeError(Cause.REFUSED, what, detail=reply.text)
        thought, text = split_thought(reply.text)
        calls = self._calls(reply, text, thread)
        if reply.finish_reason == "length" and not text and not calls:
            raise EpisodeError(
                Cause.REPLY_TRUNCATED,
                f"the reply was cut at {self.context.settings.max_tokens} tokens before any answer; raise max_tokens",
                detail=reply.text[-4000:],
            )
        self._remember(thread, text, calls)
        for call in calls:
            self.context.record(Kind.TOOL_CALL, {"id": call.id, "name": call.name, "arguments": call.arguments})
        answer = Answer("" if calls and not self.native else text, tuple(map(_called, calls)))
        action: Any = answer.data() if thread.tools else text
        reasoning = "\n\n".join(part for part in (reply.reasoning, thought) if part)
        return (await self.context.step(action, reasoning=reasoning, role=said.thread)).observation

    def _hear(self, thread: _Thread, said: Turn) -> None:
        if said.system is not None:
            thread.system = said.system
        if said.tools is not None:
            thread.tools = said.tools
        for message in said.messages:
            thread.messages.append(message if self.native else _spelled(message))

    def _request(self, thread: _Thread, said: Turn) -> ModelRequest:
        settings = self.context.settings
        parts = [self.system_prompt, thread.system]
        if thread.tools and not self.native:
            parts.append(offered(thread.tools))
        system = "\n\n".join(part for part in parts if part)
        messages = [Message("system", system), *thread.messages] if system else list(thread.messages)
        return ModelRequest(
            messages,
            settings.temperature,
            settings.max_tokens,
            settings.top_p,
            schema=said.schema,
            schema_name="answer",
            tools=thread.tools if self.native else (),
            timeout_s=settings.timeout_s,
            extra=settings.extra,
        )

    def _calls(self, reply: ModelReply, text: str, thread: _Thread) -> tuple[ToolCall, ...]:
        if reply.tool_calls or not thread.tools:
            return reply.tool_calls if thread.tools else ()
        whole = _whole(text)
        if whole is not None:
            return tuple(
                ToolCall(call.id or f"call_{number}", call.name, call.arguments)
                for number, call in enumerate(whole.tool_calls)
            )
        return tuple(calls_in(text, {tool.name: None for tool in thread.tools}))

    def _remember(self, thread: _Thread, text: str, calls: tuple[ToolCall, ...]) -> None:
        message = Message("assistant", text or ("" if calls and self.native else "(no answer)"))
        if calls and self.native:
            message = msgspec.structs.replace(message, tool_calls=calls)
        thread.messages.append(message)


def _called(call: ToolCall) -> Called:
    return Called(call.name, call.arguments, call.id)


def _whole(text: str) -> Answer | None:
    """Return the answer that a reply spells out as JSON, as models without tools of their own may do."""
    if not text.startswith("{"):
        return None
    try:
        value = msgspec.json.decode(text)
        if not isinstance(value, dict) or "tool_calls" not in value or value.keys() - _ANSWER_KEYS:
            return None
        return msgspec.convert(value, Answer)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
        return None


def _spelled(message: Message) -> Message:
    """Return a message for a model without tools: the result of a call is told by the user."""
    if message.role != "tool":
        return message
    return Message("user", f"Result of {message.tool_call_id or 'the call'}: {message.text}")
