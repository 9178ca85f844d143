"""The system under test on rows: a model with a prompt, or a function, recorded like every other agent."""

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

import msgspec

from mesocosm.api.calling import Overdue, Raised, called
from mesocosm.api.code import code_identity, parameters
from mesocosm.api.prompts import Filled, Prompt, messages_of
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelRequest, Tool
from mesocosm.core.ports import Context as EpisodeContext
from mesocosm.core.reading import nearest
from mesocosm.core.registry import import_reference
from mesocosm.core.task import Task
from mesocosm.core.turn import Turn
from mesocosm.engine.earlier_answers import ANSWER, INPUT, MESSAGES, SCORES, Earlier, taken_over
from mesocosm.mcp.offer import ToolOffer

if TYPE_CHECKING:
    from mesocosm.rollouts.sdk import AgentWorkflow

_REFUSED = frozenset(("content_filter", "refusal", "safety"))


AgentFunction = Callable[..., Any]
"""A function from a prompt (or a row) to a text, messages or any JSON value; `ctx` is optional; plain or `async`."""


@dataclass(slots=True)
class Context:
    """What an agent function is given besides the prompt.

    `row` is the row without the expected answer, `trial` counts repetitions from 0. A client of your own finds the
    model at `base_url` (an OpenAI-compatible address) with `api_key` and `model`; its calls are recorded, retried,
    limited, and paid from the budget, as those of `ask` are.

    >>> async def solve(question, ctx):
    ...     return await ctx.ask(question)
    """

    row: Mapping[str, Any]
    task: Task
    trial: int
    model: str
    base_url: str
    api_key: str = field(repr=False)
    _episode: EpisodeContext = field(repr=False)
    _loop: asyncio.AbstractEventLoop = field(repr=False)
    _scores: dict[str, float] = field(default_factory=dict, repr=False)

    async def ask(
        self,
        question: str | Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Tool] = (),
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Return the model's reply to a text or to messages. In a plain function use `ask_now`."""
        return (await self.reply(question, tools=tools, temperature=temperature, max_tokens=max_tokens)).text

    async def reply(
        self,
        question: str | Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Tool] = (),
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ModelReply:
        """Return the whole reply to a text or to messages: text, reasoning, tool calls, usage."""
        asked = self._ask(question, tools, temperature, max_tokens)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._loop))

    def ask_now(
        self,
        question: str | Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Tool] = (),
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Do what `ask` does in a plain function, which runs on a thread of its own."""
        asked = self._ask(question, tools, temperature, max_tokens)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result().text

    async def _ask(
        self,
        question: str | Sequence[Mapping[str, Any]],
        tools: Sequence[Tool],
        temperature: float | None,
        max_tokens: int | None,
    ) -> ModelReply:
        filled: Filled = question if isinstance(question, str) else [dict(one) for one in question]
        given = _request(self._episode, messages_of(filled), tools)
        changes: dict[str, Any] = {}
        if temperature is not None:
            changes["temperature"] = temperature
        if max_tokens is not None:
            changes["max_tokens"] = max_tokens
        return await self._episode.ask(replace(given, **changes))

    def score(self, name: str, value: float) -> None:
        """Add a further number of this episode; it becomes a metric of the run without a direction."""
        self._scores[name] = float(value)

    def log(self, text: str) -> None:
        """Write a line into the trace."""
        self._loop.call_soon_threadsafe(self._episode.record, Kind.LOG, {"message": str(text)})


@dataclass(frozen=True, slots=True)
class AnsweringAgent:
    """Answers a row with the model, or with a function. Implements core.ports.Agent.

    `earlier` finds answers that need not be asked for again. `seconds` limits one call of the function. `offer` are
    servers with tools for the model.
    """

    prompt: Prompt
    function: Callable[..., Any] | None = None
    seconds: float | None = None
    earlier: Earlier | None = None
    offer: ToolOffer | None = None

    async def play(self, context: EpisodeContext) -> None:
        """Answer the row of an episode. Raises EpisodeError."""
        await context.reset()
        if self.earlier is not None and await taken_over(context, self.earlier):
            return
        row: Mapping[str, Any] = context.task.input
        given = row if self.prompt.given is None else _prompted(self.prompt, row)
        info = await (self._asked(context, given) if self.function is None else self._called(context, row, given))
        await context.step(info)

    async def _asked(self, context: EpisodeContext, filled: Any) -> dict[str, Any]:
        messages = messages_of(filled)
        if self.offer is not None:
            return await self._with_tools(context, filled, self.offer)
        reply = await context.ask(_request(context, messages))
        if reply.finish_reason.lower() in _REFUSED:
            said = f"the model's provider withheld the reply ({reply.finish_reason})"
            raise EpisodeError(Cause.REFUSED, said, detail=reply.text)
        if reply.finish_reason == "length":
            most = context.settings.max_tokens
            if not reply.text.strip():
                cut = f"the reply was cut at {most:,} tokens before any answer; max_tokens= raises the limit"
                raise EpisodeError(Cause.REPLY_TRUNCATED, cut)
            context.warn(f"a reply was cut at {most:,} tokens and graded as it stands; max_tokens= raises the limit")
        return {ANSWER: reply.text, MESSAGES: _spoken(filled, reply.text), INPUT: filled}

    async def _with_tools(self, context: EpisodeContext, filled: Any, offer: ToolOffer) -> dict[str, Any]:
        """Answer with the model, which may call tools before."""
        from mesocosm.agents.chat import Conversation
        from mesocosm.agents.tool_servers import ToolServers
        from mesocosm.models.chat_completions import wire_messages

        messages = tuple(messages_of(filled))
        async with ToolServers(context, offer) as servers:
            talk = Conversation(context, servers, native=context.capabilities.tools)
            spoken = await talk.spoken(Turn(messages))
        said = [_plain_message(one) for one in msgspec.to_builtins(wire_messages(talk.messages()[len(messages) :]))]
        before = filled if isinstance(filled, list) else messages_as_dicts(filled)
        return {ANSWER: spoken.text, MESSAGES: [*before, *said], INPUT: filled}

    async def _called(self, context: EpisodeContext, row: Mapping[str, Any], given: Any) -> dict[str, Any]:
        assert self.function is not None
        if "ctx" not in parameters(self.function):
            answer = await self._within(self.function, given)
            return self._info(answer, given, {})
        async with context.address() as address:
            handed = Context(
                row=row,
                task=msgspec.structs.replace(context.task, target=None),
                trial=context.trial,
                model=address.model,
                base_url=f"{address.url}/v1",
                api_key=address.token,
                _episode=context,
                _loop=asyncio.get_running_loop(),
            )
            answer = await self._within(self.function, given, ctx=handed)
        return self._info(answer, given, handed._scores)  # noqa: SLF001 -- the context's own side of `score`

    async def _within(self, function: Callable[..., Any], given: Any, **more: Any) -> Any:
        name = getattr(function, "__qualname__", type(function).__name__)
        try:
            return await called(function, given, seconds=self.seconds, **more)
        except Overdue as late:
            raise EpisodeError(Cause.AGENT_TIMEOUT, f"{name} did not return within {self.seconds:g} s") from late
        except Raised as raised:
            error = raised.error
            if isinstance(error, EpisodeError):
                raise error from None
            frames = "".join(traceback.format_exception(error, limit=-12))
            said = f"{name} raised {type(error).__name__}: {error}"
            raise EpisodeError(Cause.AGENT_ERROR, said, detail=frames) from error

    def _info(self, answer: Any, given: Any, scores: Mapping[str, float]) -> dict[str, Any]:
        name = getattr(self.function, "__qualname__", "the agent")
        if answer is None:
            raise EpisodeError(Cause.AGENT_ERROR, f"{name} returned None; is a `return` missing?")
        # The answer is first: views that show the beginning of an action show it.
        info: dict[str, Any] = {ANSWER: None, INPUT: given}
        if _conversation(answer):
            from mesocosm.rollouts.graders.answer import answer_text

            messages = [_plain_message(one) for one in answer]
            info |= {ANSWER: answer_text(messages), MESSAGES: messages}
        else:
            try:
                info[ANSWER] = msgspec.json.decode(msgspec.json.encode(answer))
            except (TypeError, ValueError, OverflowError) as error:
                said = f"{name} returned {type(answer).__name__}, which has no JSON form: {error}"
                raise EpisodeError(Cause.AGENT_ERROR, said) from error
            said = info[ANSWER] if isinstance(info[ANSWER], str) else msgspec.json.encode(info[ANSWER]).decode()
            info[MESSAGES] = _spoken(given, said)
        return {**info, SCORES: dict(scores)} if scores else info


def _prompted(prompt: Prompt, row: Mapping[str, Any]) -> Filled:
    try:
        return prompt.fill(row)
    except (Exception, SystemExit) as error:
        name = getattr(prompt.given, "__qualname__", "the prompt")
        frames = "".join(traceback.format_exception(error, limit=-12))
        raise EpisodeError(
            Cause.AGENT_ERROR, f"{name} raised {type(error).__name__}: {error}", detail=frames
        ) from error


def _request(context: EpisodeContext, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> ModelRequest:
    settings = context.settings
    return ModelRequest(
        messages,
        settings.temperature,
        settings.max_tokens,
        settings.top_p,
        tools=tuple(tools),
        timeout_s=settings.timeout_s,
        extra=settings.extra,
    )


def _spoken(given: Any, answer: str) -> list[dict[str, Any]]:
    """Return prompt and answer as chat messages."""
    before = given if isinstance(given, list) else messages_as_dicts(given)
    return [*before, {"role": "assistant", "content": answer}]


def _conversation(answer: Any) -> bool:
    return (
        isinstance(answer, Sequence)
        and not isinstance(answer, str | bytes)
        and bool(answer)
        and all(isinstance(one, Mapping) and "role" in one for one in answer)
    )


def _plain_message(message: Mapping[str, Any]) -> dict[str, Any]:
    found = msgspec.json.decode(msgspec.json.encode(dict(message)))
    return cast(dict[str, Any], found)


@dataclass(frozen=True, slots=True)
class GivenAgent:
    """An agent as it was passed: the function, its name, what identifies it, and what of it could not be read."""

    function: Callable[..., Any] | None
    name: str
    identity: dict[str, Any]
    unread: tuple[str, ...] = ()
    recorded: bool = True


def function_agent(given: Any) -> GivenAgent:
    """Return a function, or the one that `file.py:name` names, as an agent. Raises UsageError for what is none."""
    name = ""
    if isinstance(given, str):
        place, _, name = given.rpartition(":")
        given = import_reference(f"{Path(place).resolve()}:{name}" if place.endswith(".py") else given)
    if isinstance(given, type) and _is_workflow(given):
        code = code_identity(given)
        label = name or given.__name__
        return GivenAgent(_workflow(given), label, {"workflow": label, "code": code.digest}, code.unread)
    if not callable(given):
        raise UsageError(f"{given!r:.80} is no agent; pass a function, an AgentWorkflow, or file.py:name")
    known = parameters(given)
    taken = [one for one in known.values() if one.kind in _POSITIONAL]
    further = [*taken[1:], *(one for one in known.values() if one.kind is inspect.Parameter.KEYWORD_ONLY)]
    called = getattr(given, "__qualname__", type(given).__name__)
    if not taken or (taken[0].name == "ctx" and len(taken) == 1):
        raise UsageError(f"the agent {called} takes no question; its first parameter is the prompt, or the row")
    for one in further:
        if one.name != "ctx" and one.default is inspect.Parameter.empty:
            near = nearest(one.name, ["ctx"])
            hint = "; did you mean 'ctx'?" if near else ""
            raise UsageError(
                f"the agent {called} has a parameter {one.name!r}; besides the question there is ctx{hint}"
            )
    code = code_identity(given)
    label = name or getattr(given, "__name__", called)
    return GivenAgent(given, label, {"function": label, "code": code.digest}, code.unread, "ctx" in known)


def _is_workflow(given: type) -> bool:
    from mesocosm.rollouts.sdk import AgentWorkflow

    return issubclass(given, AgentWorkflow)


def _workflow(workflow: type["AgentWorkflow[Any]"]) -> Callable[..., Awaitable[Any]]:
    """Return a function that runs one row with a new instance of a workflow."""
    from mesocosm.rollouts.sdk import AgentWorkflowContext, AgentWorkflowOutput, RolloutContext

    async def run(question: Any, ctx: Context) -> Any:
        prompt = question if isinstance(question, list) else messages_as_dicts(question)
        with RolloutContext(ctx.base_url, ctx.api_key, ctx.task.id) as rollout:
            given: AgentWorkflowContext[Any] = AgentWorkflowContext(
                prompt, metadata=dict(ctx.row), trial=ctx.trial, seed=crc32(f"{ctx.task.id}:{ctx.trial}".encode())
            )
            found = await workflow().run(given)
            if found is None:
                source = rollout.sample_source or next(iter(rollout.sample_sources.values()), None)
                return None if source is None else list((await source.get_sample()).messages)
        if isinstance(found, AgentWorkflowOutput):
            for name, value in found.metrics.items():
                ctx.score(name, value)
            return found.messages
        return found

    run.__qualname__ = workflow.__qualname__
    return run


def messages_as_dicts(question: Any) -> list[dict[str, Any]]:
    """Return a prompt that is a text, or a row, as one message of the user."""
    text = question if isinstance(question, str) else msgspec.json.encode(question).decode()
    return [{"role": "user", "content": text}]


_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
