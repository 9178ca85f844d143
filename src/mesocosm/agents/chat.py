"""The agent for questions and conversations: passes the benchmark's messages to the model unchanged.

The benchmark writes the whole prompt; see core.turn for the format of observations and actions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesocosm.agents.program import ITEM, ProgramAgent
from mesocosm.agents.tool_servers import ToolServers
from mesocosm.agents.tool_text import HEADING, calls_at_end, listed
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, UsageError
from mesocosm.core.foreign import read_json
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, Tool
from mesocosm.core.ports import Context, Observation
from mesocosm.core.thought import split_thought
from mesocosm.core.turn import Answer, CalledTool, Turn, read_turn
from mesocosm.mcp.offer import ToolOffer, read_offer

_REFUSED = frozenset(("content_filter", "refusal", "safety"))
_ANSWER_KEYS = {"text", "tool_calls"}
_HOW_TO_CALL = (
    'To call tools, end your reply with a JSON list of calls, [{"tool": "<name>", "arguments": {…}}]; what they give '
    "is told in the next message. A reply without such a list calls none."
)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """`system_prompt` precedes the benchmark's own. `tools` is `auto` (API if the model supports it) or `text`.

    `mcp` are servers with further tools.
    """

    system_prompt: str = ""
    tools: str = "auto"
    mcp: ToolOffer | None = None


def open_chat(options: Mapping[str, Any]) -> "ChatAgent":
    """Return the agent with these options. Raise UsageError for an unknown or invalid option."""
    unknown = sorted(set(options) - {"system_prompt", "tools", "mcp"})
    if unknown:
        raise UsageError(f"the agent 'chat' has no option {unknown[0]!r}; it has system_prompt, tools and mcp")
    servers = {"mcp": read_offer(options["mcp"])} if "mcp" in options else {}
    chosen = ChatOptions(**{**options, **servers})
    if chosen.tools not in {"auto", "text"} or not isinstance(chosen.system_prompt, str):
        raise UsageError("options of the agent 'chat': system_prompt is a text, tools is auto or text")
    return ChatAgent(chosen)


@dataclass(slots=True)
class _Thread:
    """One conversation: its system message, messages, offered tools, and calls without a result."""

    system: str = ""
    messages: list[Message] = field(default_factory=list)
    tools: tuple[Tool, ...] = ()
    open_calls: tuple[ToolCall, ...] = ()
    results: dict[str, Message] = field(default_factory=dict)
    """Results of open calls that servers have given already."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a model said when it called no further tool of a server; `calls` are those of the benchmark's tools."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""


class ChatAgent:
    """Passes the benchmark's messages to the model. Implements core.ports.Agent."""

    def __init__(self, options: ChatOptions | None = None) -> None:
        self.options = options or ChatOptions()

    async def play(self, context: Context) -> None:
        """Converse until the episode is over, or hand over to the benchmark's program. Raise EpisodeError."""
        if context.program or context.task.metadata.get(ITEM):
            if self.options.mcp is not None:
                raise RunAborted(
                    f"benchmark {context.info.id!r} runs a program, which has its own tools; leave the MCP servers out"
                )
            await ProgramAgent().play(context)
            return
        native = context.capabilities.tools and self.options.tools == "auto"
        async with ToolServers(context, self.options.mcp) as servers:
            talk = Conversation(context, servers, native=native, system_prompt=self.options.system_prompt)
            observation = await context.reset()
            while not context.over:
                observation = await talk.turn(observation)


class Conversation:
    """The conversations of one episode with the model. Tools of `servers` are called until the model answers."""

    def __init__(self, context: Context, servers: ToolServers, *, native: bool, system_prompt: str = "") -> None:
        self.context = context
        self.servers = servers
        self.native = native
        self.system_prompt = system_prompt
        self.threads: dict[str, _Thread] = {}
        self.warned = False

    async def turn(self, observation: Observation) -> Observation:
        """Pass the observation to the model and apply its reply. Raise EpisodeError."""
        said = read_turn(observation.data)
        spoken = await self.spoken(said)
        answer = Answer("" if spoken.calls and not self.native else spoken.text, tuple(map(_called, spoken.calls)))
        action: Any = answer.data() if self.threads[said.thread].tools else spoken.text
        return (await self.context.step(action, reasoning=spoken.reasoning, role=said.thread)).observation

    async def spoken(self, said: Turn) -> Spoken:
        """Pass a turn to the model, call the tools of servers that it asks for, and return what it says at last.

        Raise EpisodeError: the server failed, or the model called tools too often without an answer.
        """
        thread = self.threads.setdefault(said.thread, _Thread())
        self._hear(thread, said)
        reasoning: list[str] = []
        for called in range(self.servers.rounds + 1):
            reply = await self.context.ask(self._request(thread, said))
            thought, text = split_thought(reply.text)
            text, calls = self._read(reply, text, thread)
            self._check(reply, empty=not text and not calls)
            self._remember(thread, reply, text, calls)
            reasoning += filter(None, (reply.reasoning, thought))
            served = [call for call in calls if self._is_served(call, thread)]
            own = tuple(call for call in calls if call not in served)
            if served and called == self.servers.rounds:
                break
            for call in own:
                self.context.record(Kind.TOOL_CALL, {"id": call.id, "name": call.name, "arguments": call.arguments})
            thread.results = {call.id: await self.servers.call(call) for call in served}
            if own or not served:
                return Spoken(text, own, "\n\n".join(reasoning))
            self._hear(thread, Turn())
        raise EpisodeError(
            Cause.MALFORMED_ACTION,
            f"the model called tools more than {self.servers.rounds} times in a row; --mcp-rounds allows more",
        )

    def messages(self, thread: str = "") -> tuple[Message, ...]:
        """Return the messages of a conversation so far, without those of the system."""
        return tuple(self.threads[thread].messages)

    def _is_served(self, call: ToolCall, thread: _Thread) -> bool:
        """Return whether a server answers a call: also one of an unknown name, if the benchmark has no tools."""
        return self.servers.serves(call.name) or (bool(self.servers.tools) and not thread.tools)

    def _offered(self, thread: _Thread) -> tuple[Tool, ...]:
        return self.servers.beside(thread.tools)

    def _hear(self, thread: _Thread, said: Turn) -> None:
        """Add the benchmark's messages. APIs require the result of every call before any other message."""
        if said.system is not None:
            thread.system = said.system
        if said.tools is not None:
            thread.tools = said.tools
        given = {message.tool_call_id: message for message in said.messages if message.role == "tool"}
        given |= thread.results
        for call in thread.open_calls:
            result = given.pop(call.id, None) or Message("tool", "(no result)", tool_call_id=call.id)
            thread.messages.append(result if self.native else _spelled(result, call.name))
        rest = (one for one in said.messages if one.role != "tool" or one.tool_call_id in given)
        thread.messages += (one if self.native else _spelled(one) for one in rest)
        thread.open_calls, thread.results = (), {}

    def _request(self, thread: _Thread, said: Turn) -> ModelRequest:
        settings = self.context.settings
        parts = [self.system_prompt, thread.system]
        tools = self._offered(thread)
        if tools and not self.native:
            parts.append(f"{HEADING}:\n{listed(tools)}\n{_HOW_TO_CALL}")
        system = "\n\n".join(part for part in parts if part)
        messages = [Message("system", system), *thread.messages] if system else list(thread.messages)
        return ModelRequest(
            messages,
            settings.temperature,
            settings.max_tokens,
            settings.top_p,
            schema=said.schema if self.context.capabilities.structured else None,
            schema_name="answer",
            tools=tools if self.native else (),
            timeout_s=settings.timeout_s,
            extra=settings.extra,
        )

    def _read(self, reply: ModelReply, text: str, thread: _Thread) -> tuple[str, tuple[ToolCall, ...]]:
        """Return the text of a reply and its tool calls."""
        tools = self._offered(thread)
        if reply.tool_calls or not tools:
            return text, reply.tool_calls if tools else ()
        whole = _whole(text)
        if whole is not None:
            calls = (
                ToolCall(call.id or f"call_{n}", call.name, call.arguments) for n, call in enumerate(whole.tool_calls)
            )
            return whole.text, tuple(calls)
        return text, calls_at_end(text, {tool.name: tool.parameters for tool in tools})

    def _check(self, reply: ModelReply, *, empty: bool) -> None:
        """Raise EpisodeError for a withheld reply or a truncated one without an answer; warn once of truncation."""
        if reply.finish_reason.lower() in _REFUSED:
            what = f"the model's provider withheld the reply ({reply.finish_reason})"
            raise EpisodeError(Cause.REFUSED, what, detail=reply.text)
        if reply.finish_reason != "length":
            return
        most = self.context.settings.max_tokens
        if empty:
            what = f"the reply was cut at {most} tokens before any answer; raise max_tokens"
            raise EpisodeError(Cause.REPLY_TRUNCATED, what, detail=reply.text[-4000:])
        if not self.warned:
            self.warned = True
            self.context.warn(
                f"a reply was cut at {most} tokens and taken as it stands; a higher max_tokens raises the limit"
            )

    def _remember(self, thread: _Thread, reply: ModelReply, text: str, calls: tuple[ToolCall, ...]) -> None:
        """Add the reply to the thread. Calls written as text stay text, unless the API supports tools."""
        thread.open_calls = calls
        if reply.tool_calls and calls and self.native:
            thread.messages.append(Message("assistant", text, tool_calls=calls, blocks=reply.blocks))
        elif calls and self.native:
            thread.messages.append(Message("assistant", "", tool_calls=calls, blocks=reply.blocks))
        else:
            said = split_thought(reply.text)[1] or "(no answer)"
            thread.messages.append(Message("assistant", said, blocks=reply.blocks))


def _called(call: ToolCall) -> CalledTool:
    return CalledTool(call.name, call.arguments, call.id)


def _whole(text: str) -> Answer | None:
    """Return the answer that a reply contains as JSON, as models without native tools may write it; else None."""
    if not text.startswith("{"):
        return None
    try:
        value = read_json(text)
        if not isinstance(value, dict) or "tool_calls" not in value or value.keys() - _ANSWER_KEYS:
            return None
        return msgspec.convert(value, Answer)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        return None


def _spelled(message: Message, called: str = "") -> Message:
    """Return a message for a model without tools: calls become JSON, results become user messages."""
    if message.role == "tool":
        return Message("user", f"Result of {called or message.tool_call_id or 'the call'}: {message.text}")
    if not message.tool_calls:
        return message
    calls = [{"tool": call.name, "arguments": call.arguments} for call in message.tool_calls]
    parts = (message.text, msgspec.json.encode(calls).decode())
    return Message(message.role, "\n".join(part for part in parts if part))
