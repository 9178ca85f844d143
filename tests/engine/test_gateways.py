"""Taps: calls of programs within the budgets of their episode and run."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, nullcontext
from dataclasses import replace
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.gateway import GONE, Forwarded, ModelRecorder, ProxyAddress, ProxyCall
from mesocosm.core.message import Message
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.registry import GATEWAYS
from mesocosm.core.usage import Usage
from mesocosm.engine.gateways import EpisodeRecorder, ProxyEndpoints, Reserved

CALL = ProxyCall("/chat/completions", "m")
REQUEST = ModelRequest(())


class Episode:
    """What a tap needs of an episode: a budget of 100 tokens, and what is said to it."""

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
def tap(episode: Episode) -> EpisodeRecorder:
    return EpisodeRecorder(episode, Reserved())


async def admit(tap: EpisodeRecorder, tokens: int = 10) -> str:
    async with tap.admitted(tokens) as refusal:
        return refusal


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_calls_are_admitted_until_the_budget_is_used_up(tap: EpisodeRecorder, episode: Episode) -> None:
    assert await admit(tap) == ""
    tap.settle()
    tap.forwarded(passed_on(100))
    assert await admit(tap) == "100 tokens are used up"
    with pytest.raises(EpisodeError, match="refused further model calls: 100 tokens") as error:
        tap.settle()
    assert error.value.cause is Cause.BUDGET


async def test_a_budget_that_nobody_asked_beyond_is_no_failure(tap: EpisodeRecorder) -> None:
    tap.forwarded(passed_on(100))
    tap.settle()


async def test_nothing_is_admitted_after_the_end(tap: EpisodeRecorder, episode: Episode) -> None:
    episode.over = True
    assert await admit(tap) == "the episode is over"
    tap.settle()


async def test_what_does_not_fit_beside_calls_under_way_waits_for_their_end(
    tap: EpisodeRecorder, episode: Episode
) -> None:
    async with AsyncExitStack() as under_way:
        for _ in range(2):
            await under_way.enter_async_context(tap.admitted(40))
        waiting = asyncio.create_task(admit(tap, 40))
        await settled()
        assert not waiting.done()
        await under_way.aclose()
    assert await waiting == ""


async def test_a_call_larger_than_the_budget_is_made_alone(tap: EpisodeRecorder) -> None:
    assert await admit(tap, 1000) == ""


async def test_the_largest_call_so_far_is_what_the_next_is_reckoned_with(tap: EpisodeRecorder) -> None:
    tap.forwarded(passed_on(45))
    async with tap.admitted(1):
        waiting = asyncio.create_task(admit(tap, 1))
        await settled()
        assert not waiting.done()
    assert await waiting == ""


async def test_who_waits_is_refused_when_the_budget_is_gone(tap: EpisodeRecorder) -> None:
    async with tap.admitted(90):
        waiting = asyncio.create_task(admit(tap, 90))
        await settled()
        tap.forwarded(passed_on(120))
    assert await waiting == "100 tokens are used up"


async def test_a_call_that_is_given_up_frees_what_it_held(tap: EpisodeRecorder) -> None:
    async def hold() -> None:
        async with tap.admitted(90):
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await settled()
    waiting = asyncio.create_task(admit(tap, 90))
    await settled()
    holding.cancel()
    assert await waiting == ""


async def test_a_failure_of_one_call_is_the_programs_to_deal_with(tap: EpisodeRecorder, episode: Episode) -> None:
    episode.failing = EpisodeError(Cause.MODEL_UNAVAILABLE, "gone")
    with pytest.raises(EpisodeError, match="gone"):
        await tap.ask(REQUEST, CALL)
    assert await admit(tap) == ""
    tap.settle()


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (EpisodeError(Cause.BUDGET, "used up"), EpisodeError),
        (EpisodeError(Cause.MODEL_FORBIDDEN, "bad key"), EpisodeError),
        (RunAborted("no price is known"), RunAborted),
    ],
)
async def test_what_every_further_call_would_meet_ends_the_episode(
    tap: EpisodeRecorder, episode: Episode, failure: Exception, raised: type[Exception]
) -> None:
    episode.failing = failure
    with pytest.raises(EpisodeError, match=str(failure)):
        await tap.ask(REQUEST, CALL)
    assert str(failure) in await admit(tap)
    with pytest.raises(raised, match=str(failure)):
        tap.settle()


async def test_what_recording_raises_is_raised_when_the_program_is_over(tap: EpisodeRecorder, episode: Episode) -> None:
    episode.failing = RunAborted("no price is known")
    tap.forwarded(passed_on(1))
    assert await admit(tap) == "no price is known"
    with pytest.raises(RunAborted):
        tap.settle()


class Door:
    """A gateway that knows whether it was closed."""

    closed = False

    async def connect(self, tap: ModelRecorder) -> ProxyAddress:
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
def doors(monkeypatch: pytest.MonkeyPatch) -> list[Door]:
    opened: list[Door] = []

    def open_door(model: Any, settings: Any) -> Door:
        opened.append(Door())
        return opened[-1]

    monkeypatch.setattr(GATEWAYS, "_own", {})
    GATEWAYS.register("proxy")(open_door)
    return opened


async def test_a_gateway_is_opened_once_and_only_when_it_is_needed(doors: list[Door]) -> None:
    gateways = ProxyEndpoints(Mute(), ModelSettings("fake/m"))
    await gateways.close()
    assert doors == []
    for _ in range(2):
        async with gateways.connected(Episode()):
            pass
    (door,) = doors
    await gateways.close()
    assert door.closed


async def test_what_the_budget_of_the_run_cut_off_is_no_failure_of_the_program(
    tap: EpisodeRecorder, episode: Episode
) -> None:
    episode.run_spent = "the run's budget is used up"
    assert await admit(tap) == "the run's budget is used up"
    with pytest.raises(EpisodeError) as raised:
        tap.settle()
    assert raised.value.rule.owed  # and no failure of the program


async def test_a_call_that_was_passed_on_is_repeated_as_long_as_the_episode_says_so(
    tap: EpisodeRecorder, episode: Episode
) -> None:
    assert await tap.again(429, "slow down", 1.5, 1)
    assert not await tap.again(503, "busy", None, 2)
    assert episode.repeated == [(Cause.RATE_LIMITED, 1.5, 1), (Cause.MODEL_UNAVAILABLE, None, 2)]


async def test_a_call_of_an_episode_that_is_over_is_not_repeated(tap: EpisodeRecorder, episode: Episode) -> None:
    episode.over = True
    assert not await tap.again(500, "broken", None, 1)
    assert episode.repeated == []


def asked(words: str, error: str = "", status: int = 200, path: str = "/chat/completions") -> Forwarded:
    return Forwarded(ProxyCall(path, "m"), [Message("user", words)], None if error else reply(1), status, error)


@pytest.mark.parametrize("status", [429, 503, 504])
async def test_an_answer_that_a_program_went_on_without_leaves_it_without_a_result(
    tap: EpisodeRecorder, status: int
) -> None:
    tap.forwarded(asked("plan", "not now", status))
    tap.forwarded(asked("act without a plan"))
    with pytest.raises(EpisodeError, match="went on without that answer") as raised:
        tap.unanswered({})
    assert raised.value.rule.owed


async def test_a_question_that_was_asked_again_and_answered_is_not_missed(tap: EpisodeRecorder) -> None:
    tap.forwarded(asked("plan", "not now", 503))
    tap.forwarded(asked("plan"))
    tap.forwarded(asked("act"))
    tap.unanswered({})


async def test_a_request_that_the_server_refuses_and_the_program_puts_in_another_way_is_not_missed(
    tap: EpisodeRecorder,
) -> None:
    tap.forwarded(asked("plan with tools", "no tools here", 400))
    tap.forwarded(asked("plan"))
    tap.unanswered({})


async def vote(tap: EpisodeRecorder, started: asyncio.Barrier, status: int, *, given_up: bool = False) -> None:
    """Ask the same as all others at once; a status other than 200 is that of a failed call, or of its last try."""
    async with tap.admitted(1):
        await started.wait()
        if given_up:
            await tap.again(status, "not now", None, 1)
        tap.forwarded(asked("vote", "not now" if status != 200 or given_up else "", GONE if given_up else status))


async def one(tap: EpisodeRecorder, call: Forwarded) -> None:
    async with tap.admitted(1):
        tap.forwarded(call)


async def test_equal_questions_that_are_asked_at_once_are_not_answered_by_each_other(tap: EpisodeRecorder) -> None:
    started = asyncio.Barrier(5)
    await asyncio.gather(vote(tap, started, 503), *(vote(tap, started, 200) for _ in range(4)))
    await one(tap, asked("sum up"))
    with pytest.raises(EpisodeError, match="went on without that answer"):
        tap.unanswered({})


async def test_every_lost_one_of_equal_questions_is_found_by_an_answer_of_its_own(tap: EpisodeRecorder) -> None:
    started = asyncio.Barrier(5)
    await asyncio.gather(*(vote(tap, started, status) for status in (503, 503, 200, 200, 200)))
    await one(tap, asked("vote"))
    with pytest.raises(EpisodeError):
        tap.unanswered({})
    await one(tap, asked("vote"))
    tap.unanswered({})


async def test_a_question_that_was_asked_again_and_again_is_found_by_one_answer(tap: EpisodeRecorder) -> None:
    for status in (503, 429, 504):
        await one(tap, asked("plan", "not now", status))
    await one(tap, asked("plan"))
    await one(tap, asked("act"))
    tap.unanswered({})


async def test_each_of_several_calls_that_are_given_up_in_an_outage_is_missed(tap: EpisodeRecorder) -> None:
    started = asyncio.Barrier(2)
    await asyncio.gather(*(vote(tap, started, 503, given_up=True) for _ in range(2)))
    await one(tap, asked("vote"))
    with pytest.raises(EpisodeError, match="not now"):
        tap.unanswered({})


async def test_a_call_that_is_given_up_while_the_server_is_down_is_missed(
    tap: EpisodeRecorder, episode: Episode
) -> None:
    await one(tap, asked("earlier"))
    episode.down = True
    await one(tap, asked("plan", "gone", GONE))
    episode.down = False
    await one(tap, asked("act"))
    with pytest.raises(EpisodeError, match="down") as raised:
        tap.unanswered({})
    assert raised.value.rule.owed


async def test_a_call_that_is_still_repeated_when_its_program_ends_is_missed(tap: EpisodeRecorder) -> None:
    failed, over = asyncio.Event(), asyncio.Event()

    async def waiting() -> None:
        async with tap.admitted(1):
            await tap.again(503, "not now", None, 1)
            failed.set()
            await over.wait()

    waits = asyncio.create_task(waiting())
    await failed.wait()
    await one(tap, asked("act"))
    with pytest.raises(EpisodeError, match="not now"):
        tap.unanswered({})
    over.set()
    await waits


async def test_a_program_that_gave_up_its_calls_and_was_never_answered_has_no_result(tap: EpisodeRecorder) -> None:
    await one(tap, asked("plan", "gone", GONE))
    with pytest.raises(EpisodeError) as raised:
        tap.unanswered({})
    assert raised.value.cause is Cause.MODEL_TIMEOUT


async def test_a_call_that_is_given_up_beside_one_that_was_answered_is_the_programs_choice(
    tap: EpisodeRecorder,
) -> None:
    await one(tap, asked("plan"))
    await one(tap, asked("plan", "gone", GONE))
    tap.unanswered({})


async def test_a_stream_that_a_program_has_read_enough_of_is_answered_though_a_try_had_failed(
    tap: EpisodeRecorder,
) -> None:
    async with tap.admitted(1):
        await tap.again(503, "not now", None, 1)
        tap.forwarded(Forwarded(CALL, [], reply(1), GONE, "gone"))
    tap.unanswered({})


@pytest.mark.parametrize("words", [("plan", "act"), ("act", "plan")])
async def test_a_program_that_fails_after_a_lost_question_is_not_to_blame(
    tap: EpisodeRecorder, words: tuple[str, str]
) -> None:
    for word in words:
        failed = ("not now", 504) if word == "plan" else ("", 200)
        await one(tap, asked(word, *failed))
    with pytest.raises(EpisodeError, match="of that the program failed: KeyError") as raised:
        tap.blame(EpisodeError(Cause.WORKFLOW_FAILED, "KeyError: 'plan'"))
    assert raised.value.cause is Cause.MODEL_TIMEOUT


async def test_a_program_that_fails_after_its_questions_were_answered_is_to_blame(tap: EpisodeRecorder) -> None:
    await one(tap, asked("plan", "not now", 503))
    await one(tap, asked("plan"))
    tap.blame(EpisodeError(Cause.WORKFLOW_FAILED, "KeyError: 'plan'"))


@pytest.mark.parametrize(("status", "missed"), [(503, True), (429, True), (504, True), (404, False), (501, False)])
async def test_embeddings_of_a_server_that_is_busy_are_missed_and_those_that_it_does_not_make_are_not(
    tap: EpisodeRecorder, status: int, missed: bool
) -> None:
    await one(tap, asked("look this up", "no", status, "/embeddings"))
    await one(tap, asked("answer"))
    with pytest.raises(EpisodeError) if missed else nullcontext():
        tap.unanswered({})


async def test_an_answer_finds_no_question_of_which_nothing_can_be_read(tap: EpisodeRecorder) -> None:
    async def ask(unread: str, error: str = "") -> None:
        call = replace(CALL, unread=unread)
        await one(tap, Forwarded(call, (), None if error else reply(1), 503 if error else 200, error))

    await ask("a", "not now")
    await ask("b")
    with pytest.raises(EpisodeError):
        tap.unanswered({})
    await ask("a")
    tap.unanswered({})
