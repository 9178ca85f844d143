"""Taps: calls of programs within the budgets of their episode and run."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, nullcontext
from dataclasses import replace
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.message import Message
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.proxy import GONE, Forwarded, ModelRecorder, ProxyAddress, ProxyCall
from mesocosm.core.registry import PROXIES
from mesocosm.core.usage import Usage
from mesocosm.engine.proxies import EpisodeRecorder, ProxyEndpoints, ReservedTokens

CALL = ProxyCall("/chat/completions", "m")
REQUEST = ModelRequest(())


class Episode:
    """What a recorder needs of an episode: a budget of 100 tokens, and what is said to it."""

    def __init__(self) -> None:
        self.waited_s = 0.0
        self.over = False
        self.spent = 0
        self.down = False
        self.recorded: list[Forwarded] = []
        self.failing: Exception | None = None
        self.repeated: list[tuple[Cause, float | None, int]] = []
        self.run_spent = ""

    @property
    def unaffordable(self) -> str:
        return self.run_spent or ("100 tokens are used up" if self.spent >= 100 else "")

    def room(self, tokens: int, reserved: int, reserved_in_run: int) -> bool:
        return not reserved or self.spent + reserved + tokens <= 100

    async def funded(self) -> None:
        return None

    def away(self, role: str) -> EpisodeError | None:
        return EpisodeError(Cause.MODEL_UNAVAILABLE, "down") if self.down else None

    async def turn(self, role: str) -> None:
        raise NotImplementedError

    async def ask_for(
        self, call: ProxyCall, request: ModelRequest, failing: Callable[[EpisodeError], None]
    ) -> ModelReply:
        if self.failing is not None:
            raise self.failing
        return reply(10)

    async def again(self, error: EpisodeError, attempt: int, role: str) -> bool:
        self.repeated.append((error.cause, error.retry_after, attempt))
        return attempt < 2

    def forwarded(self, call: Forwarded) -> None:
        self.recorded.append(call)
        if self.failing is not None:
            raise self.failing
        if call.reply is not None:
            self.spent += call.reply.usage.total


def reply(tokens: int) -> ModelReply:
    return ModelReply("ok", usage=Usage(tokens, 0, calls=1))


def passed_on(tokens: int) -> Forwarded:
    return Forwarded(CALL, (), reply(tokens), 200)


@pytest.fixture
def episode() -> Episode:
    return Episode()


@pytest.fixture
def recorder(episode: Episode) -> EpisodeRecorder:
    return EpisodeRecorder(episode, ReservedTokens())


async def admit(recorder: EpisodeRecorder, tokens: int = 10) -> str:
    async with recorder.admitted(tokens) as refusal:
        return refusal


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_calls_are_admitted_until_the_budget_is_used_up(recorder: EpisodeRecorder, episode: Episode) -> None:
    assert await admit(recorder) == ""
    recorder.settle()
    recorder.forwarded(passed_on(100))
    assert await admit(recorder) == "100 tokens are used up"
    with pytest.raises(EpisodeError, match="refused further model calls: 100 tokens") as error:
        recorder.settle()
    assert error.value.cause is Cause.BUDGET


async def test_a_budget_that_nobody_asked_beyond_is_no_failure(recorder: EpisodeRecorder) -> None:
    recorder.forwarded(passed_on(100))
    recorder.settle()


async def test_nothing_is_admitted_after_the_end(recorder: EpisodeRecorder, episode: Episode) -> None:
    episode.over = True
    assert await admit(recorder) == "the episode is over"
    recorder.settle()


async def test_what_does_not_fit_beside_calls_under_way_waits_for_their_end(
    recorder: EpisodeRecorder, episode: Episode
) -> None:
    async with AsyncExitStack() as under_way:
        for _ in range(2):
            await under_way.enter_async_context(recorder.admitted(40))
        waiting = asyncio.create_task(admit(recorder, 40))
        await settled()
        assert not waiting.done()
        await under_way.aclose()
    assert await waiting == ""


async def test_a_call_larger_than_the_budget_is_made_alone(recorder: EpisodeRecorder) -> None:
    assert await admit(recorder, 1000) == ""


async def test_the_largest_call_so_far_is_what_the_next_is_reckoned_with(recorder: EpisodeRecorder) -> None:
    recorder.forwarded(passed_on(45))
    async with recorder.admitted(1):
        waiting = asyncio.create_task(admit(recorder, 1))
        await settled()
        assert not waiting.done()
    assert await waiting == ""


async def test_who_waits_is_refused_when_the_budget_is_gone(recorder: EpisodeRecorder) -> None:
    async with recorder.admitted(90):
        waiting = asyncio.create_task(admit(recorder, 90))
        await settled()
        recorder.forwarded(passed_on(120))
    assert await waiting == "100 tokens are used up"


async def test_a_call_that_is_given_up_frees_what_it_held(recorder: EpisodeRecorder) -> None:
    async def hold() -> None:
        async with recorder.admitted(90):
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await settled()
    waiting = asyncio.create_task(admit(recorder, 90))
    await settled()
    holding.cancel()
    assert await waiting == ""


async def test_a_failure_of_one_call_is_the_programs_to_deal_with(recorder: EpisodeRecorder, episode: Episode) -> None:
    episode.failing = EpisodeError(Cause.MODEL_UNAVAILABLE, "gone")
    with pytest.raises(EpisodeError, match="gone"):
        await recorder.ask(REQUEST, CALL)
    assert await admit(recorder) == ""
    recorder.settle()


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (EpisodeError(Cause.BUDGET, "used up"), EpisodeError),
        (EpisodeError(Cause.MODEL_FORBIDDEN, "bad key"), EpisodeError),
        (RunAborted("no price is known"), RunAborted),
    ],
)
async def test_what_every_further_call_would_meet_ends_the_episode(
    recorder: EpisodeRecorder, episode: Episode, failure: Exception, raised: type[Exception]
) -> None:
    episode.failing = failure
    with pytest.raises(EpisodeError, match=str(failure)):
        await recorder.ask(REQUEST, CALL)
    assert str(failure) in await admit(recorder)
    with pytest.raises(raised, match=str(failure)):
        recorder.settle()


async def test_what_recording_raises_is_raised_when_the_program_is_over(
    recorder: EpisodeRecorder, episode: Episode
) -> None:
    episode.failing = RunAborted("no price is known")
    recorder.forwarded(passed_on(1))
    assert await admit(recorder) == "no price is known"
    with pytest.raises(RunAborted):
        recorder.settle()


class FakeEndpoint:
    """A endpoint that knows whether it was closed."""

    closed = False

    async def connect(self, recorder: ModelRecorder) -> ProxyAddress:
        return ProxyAddress("http://127.0.0.1:1", "token", {}, "fake", "m", ModelSettings("fake/m"))

    async def disconnect(self, address: ProxyAddress) -> None:
        assert not self.closed

    async def close(self) -> None:
        self.closed = True


class Mute:
    """A model that nobody asks."""

    capabilities = Capabilities()

    async def check(self) -> None:
        raise NotImplementedError

    async def ask(self, request: ModelRequest) -> ModelReply:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> list[FakeEndpoint]:
    opened: list[FakeEndpoint] = []

    def open_endpoint(model: Any, settings: Any) -> FakeEndpoint:
        opened.append(FakeEndpoint())
        return opened[-1]

    monkeypatch.setattr(PROXIES, "_own", {})
    PROXIES.register("proxy")(open_endpoint)
    return opened


async def test_an_endpoint_is_opened_once_and_only_when_it_is_needed(fakes: list[FakeEndpoint]) -> None:
    endpoints = ProxyEndpoints(Mute(), ModelSettings("fake/m"))
    await endpoints.close()
    assert fakes == []
    for _ in range(2):
        async with endpoints.connected(Episode()):
            pass
    (door,) = fakes
    await endpoints.close()
    assert door.closed


async def test_what_the_budget_of_the_run_cut_off_is_no_failure_of_the_program(
    recorder: EpisodeRecorder, episode: Episode
) -> None:
    episode.run_spent = "the run's budget is used up"
    assert await admit(recorder) == "the run's budget is used up"
    with pytest.raises(EpisodeError) as raised:
        recorder.settle()
    assert raised.value.rule.pending  # and no failure of the program


async def test_a_call_that_was_passed_on_is_repeated_as_long_as_the_episode_says_so(
    recorder: EpisodeRecorder, episode: Episode
) -> None:
    assert await recorder.again(429, "slow down", 1.5, 1)
    assert not await recorder.again(503, "busy", None, 2)
    assert episode.repeated == [(Cause.RATE_LIMITED, 1.5, 1), (Cause.MODEL_UNAVAILABLE, None, 2)]


async def test_a_call_of_an_episode_that_is_over_is_not_repeated(recorder: EpisodeRecorder, episode: Episode) -> None:
    episode.over = True
    assert not await recorder.again(500, "broken", None, 1)
    assert episode.repeated == []


def asked(words: str, error: str = "", status: int = 200, path: str = "/chat/completions") -> Forwarded:
    return Forwarded(ProxyCall(path, "m"), [Message("user", words)], None if error else reply(1), status, error)


@pytest.mark.parametrize("status", [429, 503, 504])
async def test_an_answer_that_a_program_went_on_without_leaves_it_without_a_result(
    recorder: EpisodeRecorder, status: int
) -> None:
    recorder.forwarded(asked("plan", "not now", status))
    recorder.forwarded(asked("act without a plan"))
    with pytest.raises(EpisodeError, match="went on without that answer") as raised:
        recorder.unanswered({})
    assert raised.value.rule.pending


async def test_a_question_that_was_asked_again_and_answered_is_not_missed(recorder: EpisodeRecorder) -> None:
    recorder.forwarded(asked("plan", "not now", 503))
    recorder.forwarded(asked("plan"))
    recorder.forwarded(asked("act"))
    recorder.unanswered({})


async def test_a_request_that_the_server_refuses_and_the_program_puts_in_another_way_is_not_missed(
    recorder: EpisodeRecorder,
) -> None:
    recorder.forwarded(asked("plan with tools", "no tools here", 400))
    recorder.forwarded(asked("plan"))
    recorder.unanswered({})


async def vote(recorder: EpisodeRecorder, started: asyncio.Barrier, status: int, *, given_up: bool = False) -> None:
    """Ask the same as all others at once; a status other than 200 is that of a failed call, or of its last try."""
    async with recorder.admitted(1):
        await started.wait()
        if given_up:
            await recorder.again(status, "not now", None, 1)
        recorder.forwarded(asked("vote", "not now" if status != 200 or given_up else "", GONE if given_up else status))


async def one(recorder: EpisodeRecorder, call: Forwarded) -> None:
    async with recorder.admitted(1):
        recorder.forwarded(call)


async def test_equal_questions_that_are_asked_at_once_are_not_answered_by_each_other(recorder: EpisodeRecorder) -> None:
    started = asyncio.Barrier(5)
    await asyncio.gather(vote(recorder, started, 503), *(vote(recorder, started, 200) for _ in range(4)))
    await one(recorder, asked("sum up"))
    with pytest.raises(EpisodeError, match="went on without that answer"):
        recorder.unanswered({})


async def test_every_lost_one_of_equal_questions_is_found_by_an_answer_of_its_own(recorder: EpisodeRecorder) -> None:
    started = asyncio.Barrier(5)
    await asyncio.gather(*(vote(recorder, started, status) for status in (503, 503, 200, 200, 200)))
    await one(recorder, asked("vote"))
    with pytest.raises(EpisodeError):
        recorder.unanswered({})
    await one(recorder, asked("vote"))
    recorder.unanswered({})


async def test_a_question_that_was_asked_again_and_again_is_found_by_one_answer(recorder: EpisodeRecorder) -> None:
    for status in (503, 429, 504):
        await one(recorder, asked("plan", "not now", status))
    await one(recorder, asked("plan"))
    await one(recorder, asked("act"))
    recorder.unanswered({})


async def test_each_of_several_calls_that_are_given_up_in_an_outage_is_missed(recorder: EpisodeRecorder) -> None:
    started = asyncio.Barrier(2)
    await asyncio.gather(*(vote(recorder, started, 503, given_up=True) for _ in range(2)))
    await one(recorder, asked("vote"))
    with pytest.raises(EpisodeError, match="not now"):
        recorder.unanswered({})


async def test_a_call_that_is_given_up_while_the_server_is_down_is_missed(
    recorder: EpisodeRecorder, episode: Episode
) -> None:
    await one(recorder, asked("earlier"))
    episode.down = True
    await one(recorder, asked("plan", "gone", GONE))
    episode.down = False
    await one(recorder, asked("act"))
    with pytest.raises(EpisodeError, match="down") as raised:
        recorder.unanswered({})
    assert raised.value.rule.pending


async def test_a_call_that_is_still_repeated_when_its_program_ends_is_missed(recorder: EpisodeRecorder) -> None:
    failed, over = asyncio.Event(), asyncio.Event()

    async def waiting() -> None:
        async with recorder.admitted(1):
            await recorder.again(503, "not now", None, 1)
            failed.set()
            await over.wait()

    waits = asyncio.create_task(waiting())
    await failed.wait()
    await one(recorder, asked("act"))
    with pytest.raises(EpisodeError, match="not now"):
        recorder.unanswered({})
    over.set()
    await waits


async def test_a_program_that_gave_up_its_calls_and_was_never_answered_has_no_result(recorder: EpisodeRecorder) -> None:
    await one(recorder, asked("plan", "gone", GONE))
    with pytest.raises(EpisodeError) as raised:
        recorder.unanswered({})
    assert raised.value.cause is Cause.MODEL_TIMEOUT


async def test_a_call_that_is_given_up_beside_one_that_was_answered_is_the_programs_choice(
    recorder: EpisodeRecorder,
) -> None:
    await one(recorder, asked("plan"))
    await one(recorder, asked("plan", "gone", GONE))
    recorder.unanswered({})


async def test_a_stream_that_a_program_has_read_enough_of_is_answered_though_a_try_had_failed(
    recorder: EpisodeRecorder,
) -> None:
    async with recorder.admitted(1):
        await recorder.again(503, "not now", None, 1)
        recorder.forwarded(Forwarded(CALL, [], reply(1), GONE, "gone"))
    recorder.unanswered({})


@pytest.mark.parametrize("words", [("plan", "act"), ("act", "plan")])
async def test_a_program_that_fails_after_a_lost_question_is_not_to_blame(
    recorder: EpisodeRecorder, words: tuple[str, str]
) -> None:
    for word in words:
        failed = ("not now", 504) if word == "plan" else ("", 200)
        await one(recorder, asked(word, *failed))
    with pytest.raises(EpisodeError, match="of that the program failed: KeyError") as raised:
        recorder.blame(EpisodeError(Cause.WORKFLOW_FAILED, "KeyError: 'plan'"))
    assert raised.value.cause is Cause.MODEL_TIMEOUT


async def test_a_program_that_fails_after_its_questions_were_answered_is_to_blame(recorder: EpisodeRecorder) -> None:
    await one(recorder, asked("plan", "not now", 503))
    await one(recorder, asked("plan"))
    recorder.blame(EpisodeError(Cause.WORKFLOW_FAILED, "KeyError: 'plan'"))


def too_long(words: str) -> Forwarded:
    return replace(asked(words, "too long", 400), cause=Cause.CONTEXT_OVERFLOW)


async def test_a_program_that_fails_because_its_conversation_was_too_long_says_so(recorder: EpisodeRecorder) -> None:
    await one(recorder, asked("plan"))
    await one(recorder, too_long("act"))
    with pytest.raises(EpisodeError, match="of that the program failed: KeyError") as raised:
        recorder.blame(EpisodeError(Cause.PROGRAM_FAILED, "KeyError: 'act'"))
    assert raised.value.cause is Cause.CONTEXT_OVERFLOW


async def test_a_program_that_shortens_a_conversation_that_was_too_long_fails_by_itself(
    recorder: EpisodeRecorder,
) -> None:
    await one(recorder, too_long("plan and act"))
    await one(recorder, asked("act"))
    recorder.unanswered({})
    recorder.blame(EpisodeError(Cause.PROGRAM_FAILED, "KeyError: 'act'"))


@pytest.mark.parametrize(("status", "missed"), [(503, True), (429, True), (504, True), (404, False), (501, False)])
async def test_embeddings_of_a_server_that_is_busy_are_missed_and_those_that_it_does_not_make_are_not(
    recorder: EpisodeRecorder, status: int, missed: bool
) -> None:
    await one(recorder, asked("look this up", "no", status, "/embeddings"))
    await one(recorder, asked("answer"))
    with pytest.raises(EpisodeError) if missed else nullcontext():
        recorder.unanswered({})


async def test_an_answer_finds_no_question_of_which_nothing_can_be_read(recorder: EpisodeRecorder) -> None:
    async def ask(unread: str, error: str = "") -> None:
        call = replace(CALL, unread=unread)
        await one(recorder, Forwarded(call, (), None if error else reply(1), 503 if error else 200, error))

    await ask("a", "not now")
    await ask("b")
    with pytest.raises(EpisodeError):
        recorder.unanswered({})
    await ask("a")
    recorder.unanswered({})
