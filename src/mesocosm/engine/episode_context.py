"""The environment and model as seen by an agent during one episode, recorded and limited."""

import asyncio
import hashlib
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from mesocosm.core.behaviour import LastReply
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError, RunAborted, ServiceError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.message import Message
from mesocosm.core.model import Capabilities, EpisodeView, ModelName, ModelReply, ModelRequest, ModelSettings, WireCall
from mesocosm.core.ports import Benchmark, Environment, Observation, Step
from mesocosm.core.proxy import (
    GONE,
    JUDGE,
    JUDGE_FAILED,
    TIME_LIMIT,
    AskedCall,
    Forwarded,
    Program,
    ProxyAddress,
    ProxyCall,
)
from mesocosm.core.run import Limits
from mesocosm.core.task import Task
from mesocosm.core.thought import split_thought
from mesocosm.core.usage import Usage
from mesocosm.engine.episode_end import end_of_step
from mesocosm.engine.proxies import ProxyEndpoints, cause_of
from mesocosm.engine.recorder import Recorder
from mesocosm.engine.retry import Callers, Retry, plausible
from mesocosm.engine.unanswered_calls import UnansweredCalls

T = TypeVar("T")
_encode = msgspec.json.Encoder(order="sorted").encode

TRACEBACK_FRAMES = 12
_BLAMED = frozenset({Cause.AGENT_ERROR, Cause.MALFORMED_ACTION})
_LONGEST_ASKED, _MOST_ASKED = 20_000, 64_000_000
"""Characters that are kept of one call of a program, and of all its calls, to find the items that they belong to."""
"""Failures of agents that a failure of their model may have caused."""

MOST_SERVED = 10
"""Maximum names of a server for one model to remember."""

PLACEHOLDERS = frozenset({"any", "osmosis-rollout", "openai/osmosis-rollout"})
"""Model names that programs use for the model of the run, whatever its name."""


class EpisodeOver(Exception):
    """Unwinds an agent that continues after its episode has ended."""


PASSED = (EpisodeError, RunAborted, InfrastructureError, EpisodeOver)
"""Exceptions that pass a boundary unchanged: errors with a known cause, the end of the run, and our own signal."""


def is_foreign(error: BaseException) -> bool:
    """Return whether `error` originates in foreign code: `sys.exit` counts, our own cancellation does not."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return isinstance(error, Exception | SystemExit) and not isinstance(error, PASSED)


class boundary:  # noqa: N801
    """A context that attributes any foreign exception to `cause`; errors with a known cause pass unchanged."""

    __slots__ = ("cause", "what")

    def __init__(self, cause: Cause, what: str) -> None:
        self.cause = cause
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and is_foreign(error):
            raise foreign(self.cause, self.what, error) from error


def foreign(cause: Cause, what: str, error: BaseException) -> EpisodeError:
    """Return the EpisodeError for an exception of foreign code, with its traceback as detail."""
    frames = "".join(traceback.format_exception(error, limit=-TRACEBACK_FRAMES))
    return EpisodeError(cause, f"{what} raised {type(error).__name__}: {error}", detail=frames)


class EpisodeContext:
    """Implements core.ports.Context for one episode.

    The episode's row is kept up to date, so partial progress survives any failure.
    """

    def __init__(
        self,
        task: Task,
        episode: Episode,
        benchmark: Benchmark,
        callers: Callers,
        endpoints: ProxyEndpoints,
        recorder: Recorder,
        *,
        settings: ModelSettings,
        limits: Limits,
        warned: Callable[[str], None],
    ) -> None:
        self.task = task
        self.settings = settings
        self.episode_id = episode.id
        self.trial = episode.trial
        self.info: BenchmarkInfo = benchmark.info
        self.action_space = benchmark.action_space
        self.observation_space = benchmark.observation_space
        self.capabilities: Capabilities = callers.model.model.capabilities
        self.malformed = 0
        self.over = False
        self.judge_calls = 0
        self.replies = LastReply()
        self._sent: dict[str, tuple[int, list[Any]]] = {}
        self.waited_s = 0.0
        self.deadline: asyncio.Timeout | None = None
        self._episode = episode
        self._callers = callers
        self._endpoints = endpoints
        self._recorder = recorder
        self._limits = limits
        self._warned = warned
        self._environment: Environment | None = None
        self._observation: Any = None
        self._legal: tuple[str, ...] = ()
        self._cap = _least(self.info.max_steps, limits.episode_steps)
        self._noted: set[str] = set()
        self._asked: Counter[bytes] = Counter()
        self._questions = UnansweredCalls()
        self._program_calls: list[AskedCall] | None = None
        self._characters_asked = 0

    def enter(self, environment: Environment) -> None:
        """Set the environment of this episode."""
        self._environment = environment

    @property
    def steps(self) -> int:
        """Actions taken so far."""
        return self._episode.steps

    @property
    def steps_left(self) -> int | None:
        """Actions left before the step limit; None if there is no limit."""
        return None if self._cap is None else max(self._cap - self._episode.steps, 0)

    @property
    def program(self) -> bool:
        """Whether a program behind the environment runs the whole episode."""
        return _is_program(type(self._environment))

    @property
    def said(self) -> str:
        """The last that was said to the task: by the conversation that a program returned, else by the model."""
        returned = _last_said(self._observation) if self.program else ""
        return split_thought(returned or self.replies.text)[1]

    async def reset(self) -> Observation:
        """Start the environment; the time budget starts here."""
        with boundary(Cause.ENVIRONMENT_ERROR, "reset of the environment"):
            observation = await self._world.reset()
        self._callers.world.answered()
        self._seconds_start()
        self._observe(observation)
        return observation

    async def step(self, action: Any, *, reasoning: str = "", role: str = "") -> Step:
        """Record and send an action, record its result, and check whether the episode is over."""
        if self.over:
            raise EpisodeOver
        episode = self._episode
        number = episode.steps + 1
        payload: dict[str, Any] = {"action": action}
        if reasoning:
            payload["reasoning"] = reasoning
        if role:
            payload["role"] = role
        self._recorder.record(Kind.ACTION, payload, number)
        with boundary(Cause.ENVIRONMENT_ERROR, f"step {number} of the environment"):
            step = await self._world.step(action)
        self._callers.world.answered()
        self._take(step, number, role)
        return step

    async def reach(self, service: str, asked: Callable[[], Awaitable[T]]) -> T:
        """Return what a service gives, and wait for one that is away as for a model. Raises ServiceError."""
        endpoint = self._callers.service(service)
        while True:
            if endpoint.down:
                with self._untimed():
                    await endpoint.enter()
            try:
                found = await asked()
            except ServiceError as error:
                if not error.away:
                    endpoint.left()
                    raise
                # Nothing was done, so nothing is done twice.
                endpoint.failed(error, at_once=True)
            except BaseException:
                endpoint.left()
                raise
            else:
                endpoint.answered()
                return found

    async def hand_over(self) -> Step:
        """Give the model to the program behind the environment and wait for its end, which ends the episode."""
        if self.over:
            raise EpisodeOver
        world: Any = self._world
        if not _is_program(type(world)):
            raise RunAborted(f"benchmark {self.info.id!r} has no program that plays by itself; use another agent")
        if self.deadline is not None:
            # The result of a program that is cut off is no measurement, so it must stop by its own limit and report it.
            self.deadline.reschedule(None)
        self._program_calls = [] if hasattr(world, "attribute") else None
        async with self._endpoints.connected(self, judged=self.info.judged) as open_:
            try:
                with boundary(Cause.PROGRAM_FAILED, "the program"):
                    step: Step = await world.play(open_.address, _ProgramTrace(self), self._limits.episode_seconds)
            except EpisodeError as error:
                # A refused model call may be the reason why the program failed.
                open_.settle(error.facts)
                open_.blame(error)
                raise
        self._callers.world.answered()
        open_.settle(step.info)
        open_.unanswered(step.info)
        if open_.judging is not None and open_.judging.failing is not None:
            failed = msgspec.to_builtins(open_.judging.failing.failure())
            step = msgspec.structs.replace(step, info={**step.info, JUDGE_FAILED: failed})
        if self._program_calls is not None:
            step = await world.attribute(step, self._program_calls)
        self._take(step, self._episode.steps + 1, "")
        if step.truncated:
            late = step.info.get("reason") == TIME_LIMIT
            self.end(EpisodeStatus.TIMEOUT if late else EpisodeStatus.TRUNCATED)
        return step

    @asynccontextmanager
    async def address(self) -> AsyncIterator[ProxyAddress]:
        """Open an address at which clients of the agent reach the model.

        A failed call may be the reason why the agent failed, or why its result counts for nothing. Raises EpisodeError.
        """
        async with self._endpoints.connected(self) as open_:
            try:
                yield open_.address
            except BaseException as error:
                if not isinstance(error, EpisodeError) and not is_foreign(error):
                    raise
                failed = error if isinstance(error, EpisodeError) else foreign(Cause.AGENT_ERROR, "the agent", error)
                open_.settle(failed.facts)
                open_.blame(failed)
                raise failed from error
            open_.settle()
            open_.unanswered({})

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Call the model; every try, its tokens, cost and messages are recorded. Raises EpisodeError."""
        with self._questions.call():
            try:
                reply = await self._ask(request, {}, self._questions.failed)
            except EpisodeError as error:
                self._questions.failed(error)
                self._questions.lost(request.messages, error)
                raise
            self._questions.answered(request.messages)
        return reply

    async def ask_judge(self, request: ModelRequest) -> ModelReply:
        """Call the model of the graders, also after the end of the episode. Raises EpisodeError."""
        return await self._ask(request, {"role": JUDGE}, role=JUDGE)

    def unanswered(self) -> None:
        """Raise the failure of an unanswered call if the agent continued without the answer. Raises EpisodeError.

        For programs, `EpisodeRecorder.unanswered` does the same.
        """
        if (missed := self._questions.missed) is not None:
            message = f"{missed}; the agent went on without that answer, and its result counts for nothing"
            raise EpisodeError(missed.cause, message) from missed

    def blame(self, error: EpisodeError) -> None:
        """Raise the model's failure if it may have caused the agent's failure `error`. Raises EpisodeError."""
        failing = self._questions.blamed
        if failing is not None and error.cause in _BLAMED:
            raise EpisodeError(
                failing.cause, f"{failing}; of that the agent failed: {error}", detail=error.detail, facts=error.facts
            ) from error

    async def ask_for(
        self, call: ProxyCall, request: ModelRequest, failing: Callable[[EpisodeError], None]
    ) -> ModelReply:
        """Call the model for a program and record its request.

        `failing` is called with failed tries that are repeated.
        """
        reply = await self._ask(request, self._trace_fields(call), failing, call.role)
        self._note_asked(call, request.messages)
        return reply

    async def _ask(
        self,
        request: ModelRequest,
        fields: Mapping[str, Any],
        failing: Callable[[EpisodeError], None] | None = None,
        role: str = "",
    ) -> ModelReply:
        if self.over and role != JUDGE:
            raise EpisodeOver
        caller = self._callers.of(role)
        step = self._episode.steps + 1
        places = self._recorder.messages(request.messages, step)
        view = EpisodeView(
            self.task.seed,
            self.task.id,
            self.trial,
            self._episode.steps,
            self._allowed(),
            self._observation,
            self.task.input,
            self._oracle,
            self.task.row,
        )
        retries: list[dict[str, Any]] = []

        def repeated(retry: Retry) -> None:
            self._retry(retry, step, retries)
            if failing is not None:
                failing(retry.error)

        with boundary(Cause.MODEL_INVALID, f"model {self.settings.name}" if role != JUDGE else "the judge"):
            asked = replace(request, trial=self.trial, view=view, repeat=self._repeat(request, role))
            reply = await caller.ask(asked, repeated, self._untimed)
            spent = self._use(reply.usage, role)
            self._record_call(request, reply, places, retries, step, fields)
            caller.charge(reply)
        budget = self._limits.episode_tokens
        if budget is not None and spent.total > budget:
            raise EpisodeError(
                Cause.BUDGET,
                f"the episode used {spent.total} tokens; its budget is {budget} (--episode-tokens raises it)",
            )
        return reply

    def _allowed(self) -> Any:
        """Return the space of the actions that are legal now."""
        if not self._legal:
            return self.action_space
        # Spaces are pydantic's, which few runs need.
        from mesocosm.core.space import narrowed

        return narrowed(self.action_space, self._legal)

    def _use(self, usage: Usage, role: str) -> Usage:
        """Add the usage of a call to the episode; return the episode's usage."""
        if role == JUDGE:
            self.judge_calls += usage.calls
        self._episode.usage = self._episode.usage + usage
        return self._episode.usage

    def _repeat(self, request: ModelRequest, role: str) -> int:
        """Return how many equal calls this episode has made before; only response caches need it."""
        if not self.settings.cache:
            return 0
        key = hashlib.sha256(_encode([role, *request.content])).digest()
        self._asked[key] += 1
        return self._asked[key] - 1

    @property
    def unaffordable(self) -> str:
        """Which budget is used up so that no further call may be made; empty if none is."""
        budget, spent = self._limits.episode_tokens, self._episode.usage.total
        if budget is not None and spent >= budget:
            return f"the episode used {spent} tokens; its budget is {budget} (--episode-tokens raises it)"
        return self.run_spent

    @property
    def run_spent(self) -> str:
        """Which budget of the run is used up; empty if none is."""
        return self._callers.model.budget.exhausted()

    def room(self, tokens: int, reserved: int, reserved_in_run: int) -> bool:
        """Return whether a call of `tokens` fits into the budgets beside reserved tokens of calls in progress.

        A call always fits if nothing is reserved.
        """
        budget = self._limits.episode_tokens
        if budget is not None and reserved and self._episode.usage.total + reserved + tokens > budget:
            return False
        return not reserved_in_run or self._callers.model.budget.fits(reserved_in_run + tokens)

    async def funded(self) -> None:
        """Wait until this process may spend more of the run's budget, or no call may be made any more."""
        await self._callers.model.budget.admitted(0)

    def away(self, role: str) -> EpisodeError | None:
        """Return the outage of the model that the program or its graders call; None while it answers."""
        if not self._callers.of(role).endpoint.down:
            return None
        who = "the judge" if role == JUDGE else "the model"
        return EpisodeError(Cause.MODEL_UNAVAILABLE, f"{who} does not answer, and the program gave a call up")

    async def turn(self, role: str) -> None:
        """Wait until the outage is over and the rates per minute allow a call of the program or its graders."""
        caller = self._callers.of(role)
        await caller.ready(self._untimed)
        await caller.turn()

    async def again(self, error: EpisodeError, attempt: int, role: str) -> bool:
        """Return whether to repeat a failed call of a program; if so, return after the wait."""
        retry = self._callers.of(role).retry(attempt, error)
        if retry is None:
            return False
        self._retry(retry, self._episode.steps + 1, [])
        await asyncio.sleep(retry.wait_s)
        await self.turn(role)
        return True

    def forwarded(self, call: Forwarded) -> None:
        """Record a call that a program made by itself and charge its usage. Raises EpisodeError, RunAborted."""
        step = self._episode.steps + 1
        places = self._recorder.messages(call.messages, step)
        self._note_asked(call.call, call.messages)
        fields, reply, caller = self._trace_fields(call.call), call.reply, self._callers.of(call.call.role)
        if reply is not None:
            self._use(plausible(reply).usage, call.call.role)
        if call.error:
            self._record_failed(call, places, fields, step)
            error = EpisodeError(call.cause or cause_of(call.status), call.error, status=call.status)
            tried = error.rule.retried and reply is None and call.status >= 300
            if call.status == GONE or tried:
                # Retryable failures have been reported to the endpoint before.
                caller.endpoint.left()
            else:
                caller.endpoint.failed(error)
        elif reply is not None:
            caller.endpoint.answered()
            self._record_call(None, reply, places, [], step, fields)
        if reply is None:
            return
        if reply.estimated and not call.error:
            self._note(
                "the model server does not say how many tokens a call used; they are estimated, four characters a token"
            )
        caller.charge(reply)

    def _note_asked(self, call: ProxyCall, messages: Sequence[Message]) -> None:
        """Keep what a program asked, to tell its items apart; what is beyond the limit stays the program's."""
        if self._program_calls is None or call.role == JUDGE:
            return
        metadata = call.request.get("metadata")
        marked = call.request.get("user") or (metadata.get("item") if isinstance(metadata, Mapping) else None)
        text = "\n".join(message.text for message in messages if message.role != "assistant")[:_LONGEST_ASKED]
        self._characters_asked += len(text)
        within = self._characters_asked <= _MOST_ASKED
        self._program_calls.append(AskedCall(text if within else "", marked if isinstance(marked, str) else ""))

    def _trace_fields(self, call: ProxyCall) -> dict[str, Any]:
        """Return the trace fields of a program's call; warn if it requests another model than the run's."""
        sent = str(call.sent.get("model") or ModelName.parse(self.settings.name).model)
        if call.model and call.model.lower() not in PLACEHOLDERS and not _names(call.model, sent):
            who = "a grader" if call.role == JUDGE else "the program"
            self._note(f"{who} asks for model {call.model!r}; {sent!r} is asked in its place, as the run says")
        fields = {
            "path": call.path,
            "asked": call.model,
            "streamed": call.streamed,
            "request": {key: self._recorder.compact(value) for key, value in call.request.items()},
            "sent": {key: self._recorder.compact(value) for key, value in call.sent.items()},
        }
        return {**fields, "role": call.role} if call.role else fields

    def _serve(self, name: str, role: str) -> None:
        """Remember the name with which the server answers for the run's model or judge; warn about a second name."""
        served = self._callers.of(role).served
        if name not in served and len(served) < MOST_SERVED:
            served[name] = None
            if len(served) > 1:
                whose = "the judge's server" if role == JUDGE else "the server"
                self.warn(f"{whose} answers as {name!r}, and did as {next(iter(served))!r} before")

    def _note(self, message: str) -> None:
        """Warn, but only once per episode."""
        if message not in self._noted:
            self._noted.add(message)
            self.warn(message)

    def _record_failed(self, call: Forwarded, places: list[list[int]], fields: Mapping[str, Any], step: int) -> None:
        payload: dict[str, Any] = {
            "cause": call.cause or cause_of(call.status),
            "message": f"model call of the program: {call.error}",
            "status": call.status,
            "messages": places,
            "latency_s": round(call.latency_s, 6),
            **fields,
        }
        if call.reply is not None:
            payload["usage"] = call.reply.usage
            if call.reply.estimated:
                payload["estimated"] = True
            if call.reply.text:
                payload["text"] = call.reply.text
        self._recorder.record(Kind.ERROR, payload, step)

    def record(self, kind: Kind, payload: Any) -> None:
        """Record an event of the agent."""
        self._recorder.record(kind, payload, self._episode.steps + (not self.over))

    def warn(self, message: str) -> None:
        """Record a warning in the trace and in the run's list."""
        self._recorder.record(Kind.WARNING, {"message": message}, self._episode.steps)
        self._warned(message)

    def end(self, status: EpisodeStatus) -> None:
        """Mark the episode as over with `status`."""
        self._episode.status = status
        self.over = True

    def end_for_time(self) -> None:
        """Mark the episode as over because its time is used up, unless it is over already."""
        if self.over:
            return
        self._episode.terminal_info = {"reason": "wall_time_limit", **self._episode.terminal_info}
        self.end(EpisodeStatus.TIMEOUT)

    @property
    def _world(self) -> Environment:
        if self._environment is None:
            raise RunAborted(f"benchmark {self.info.id!r} has no environment to act in")
        return self._environment

    async def _oracle(self) -> Any:
        with boundary(Cause.ENVIRONMENT_ERROR, "oracle of the environment"):
            return await self._world.oracle()

    def told(self, kind: Kind, payload: Any) -> None:
        """Record what the program tells of itself."""
        self._recorder.record(kind, payload, self._episode.steps + 1)

    def _take(self, step: Step, number: int, role: str) -> None:
        """Record the result of a step, and check whether the episode is over."""
        episode = self._episode
        with boundary(Cause.ENVIRONMENT_INVALID, f"taking in the result of step {number}"):
            total = episode.total_reward + step.reward
            self._record_step(step, number, role)
        # Only now: a result that cannot be recorded must not enter the row either.
        episode.steps, episode.total_reward, episode.terminal_info = number, total, step.info
        self._observe(step.observation)
        for note in step.notes:
            self.warn(note)
        if (ended := end_of_step(step, number, self._cap, self.info.max_steps)) is not None:
            status, episode.terminal_info = ended
            self.end(status)

    def _record_step(self, step: Step, number: int, role: str) -> None:
        result: dict[str, Any] = {
            "reward": step.reward,
            "terminated": step.terminated,
            "truncated": step.truncated,
            "info": step.info,
        }
        if step.system_prompt is not None:
            result["system_prompt"] = step.system_prompt
        if role:
            result["role"] = role
        self._recorder.record(Kind.STEP_RESULT, result, number)

    def _observe(self, observation: Observation) -> None:
        with boundary(Cause.ENVIRONMENT_INVALID, "taking in an observation"):
            self._observation, self._legal = observation.data, observation.legal
            payload: dict[str, Any] = {"data": self._recorder.reference(observation.data, observation.content_type)}
            if observation.content_type != "application/json":
                payload["content_type"] = observation.content_type
            if observation.system_prompt is not None:
                payload["system_prompt"] = observation.system_prompt
            self._recorder.record(Kind.OBSERVATION, payload, self._episode.steps)
        for note in observation.notes:
            self.warn(note)

    @contextmanager
    def _untimed(self) -> Iterator[None]:
        """Exclude the time in this block from the episode's time budget: an outage is not the agent's fault."""
        clock, deadline = asyncio.get_running_loop().time, self.deadline
        until, began = None if deadline is None else deadline.when(), clock()
        if deadline is not None and until is not None:
            deadline.reschedule(None)
        try:
            yield
        finally:
            self.waited_s += clock() - began
            if deadline is not None and until is not None:
                deadline.reschedule(until + clock() - began)

    def _seconds_start(self) -> None:
        seconds = _least(self.info.max_seconds, self._limits.episode_seconds)
        if seconds is not None and self.deadline is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time() + seconds)

    def _retry(self, retry: Retry, step: int, retries: list[dict[str, Any]]) -> None:
        self._episode.retries += 1
        payload = {
            "cause": retry.error.cause,
            "message": str(retry.error),
            "wait_s": round(retry.wait_s, 3),
            "try": retry.attempt,
        }
        retries.append(payload)
        self._recorder.record(Kind.RETRY, payload, step)

    def _record_call(
        self,
        request: ModelRequest | None,
        reply: ModelReply,
        places: list[list[int]],
        retries: list[Any],
        step: int,
        more: Mapping[str, Any] = {},
    ) -> None:
        if reply.served and more.get("path") != "/embeddings":
            self._serve(reply.served, more.get("role", ""))
        payload: dict[str, Any] = {
            "model": self._callers.of(more.get("role", "")).name or reply.model,
            "messages": places,
            "text": reply.text,
            "usage": reply.usage,
            "latency_s": round(reply.latency_s, 6),
            "finish_reason": reply.finish_reason,
            **more,
        }
        if reply.served:
            payload["served"] = reply.served
        if reply.reasoning:
            payload["reasoning"] = reply.reasoning
        if reply.tool_calls:
            payload["tool_calls"] = reply.tool_calls
        if reply.cached:
            payload["cached"] = True
        if reply.estimated:
            payload["estimated"] = True
        if reply.logprobs is not None:
            payload["logprobs"] = reply.logprobs
        if retries:
            payload["retries"] = len(retries)
        if request is not None and request.schema is not None:
            payload["structured"] = True
        if reply.wire is not None:
            payload["wire"] = self._wire(reply.wire, more.get("role", ""))
        self._recorder.record(Kind.MODEL_CALL, payload, step)
        if more.get("role") != JUDGE and more.get("path") != "/embeddings":
            self.replies.add(reply.text, reply.tool_calls, reply.finish_reason, places[-1][1] if places else -1)

    def _wire(self, wire: WireCall, role: str) -> dict[str, Any]:
        """Return a call as it was sent; a body that is that of the last call of a role is told by its event."""
        sent = [wire.path, {name: self._recorder.compact(value) for name, value in wire.body.items()}]
        answer = self._recorder.reference(wire.answer, "text/plain")
        seq, before = self._sent.get(role, (0, []))
        if before == sent:
            return {"as": seq, "answer": answer}
        self._sent[role] = (self._recorder.next_seq, sent)
        return {"path": sent[0], "body": sent[1], "answer": answer}


class EpisodeJudge:
    """Implements core.ports.JudgeModel for one episode, also after its end."""

    def __init__(self, context: EpisodeContext, settings: ModelSettings) -> None:
        self._context = context
        self.settings = settings

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Call the judge. Raises EpisodeError."""
        return await self._context.ask_judge(request)


_PROGRAMS: dict[type, bool] = {}


def _last_said(observation: Any) -> str:
    """Return the last text of an assistant in `{"messages": […]}`, empty for anything else."""
    messages = observation.get("messages") if isinstance(observation, dict) else None
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "assistant" and message.get("content"):
            return message["content"] if isinstance(message["content"], str) else ""
    return ""


class _ProgramTrace:
    """Implements core.proxy.ProgramTrace."""

    def __init__(self, context: EpisodeContext) -> None:
        self._context = context

    def __call__(self, stream: str, line: str) -> None:
        self._context.told(Kind.LOG, {"stream": stream, "message": line})

    def record(self, kind: Kind, payload: Any) -> None:
        self._context.told(kind, payload)


def _is_program(kind: type) -> bool:
    # Cached, since checking a protocol is slow and happens in each episode.
    if kind not in _PROGRAMS:
        _PROGRAMS[kind] = issubclass(kind, Program)
    return _PROGRAMS[kind]


def _names(asked: str, sent: str) -> bool:
    """Return whether the requested model `asked` means `sent`; either may have a provider prefix."""
    asked, sent = asked.lower(), sent.lower()
    return asked == sent or asked.endswith(f"/{sent}") or sent.endswith(f"/{asked}")


def _least(*values: Any) -> Any:
    present = [value for value in values if value is not None]
    return min(present) if present else None
