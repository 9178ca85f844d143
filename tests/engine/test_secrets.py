"""Values of secret variables come into no file: planted canaries are looked for in every byte that a run leaves."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.ports import Context, Observation, Observer, Step
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.engine import session, session_state
from mesocosm.environments.inprocess import ClassBenchmark

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

CANARY = "canary-7f3a9c-canary"
ESCAPED = 'canary\n"wx8d2bzq"\\canary'


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", CANARY)
    monkeypatch.setenv("SERVICE_PASSWORD", ESCAPED)
    monkeypatch.setattr(sys, "argv", ["mesocosm", "run", "local", "--token", CANARY])


def leaks(place: str) -> list[str]:
    """Return the files beside the database, write-ahead log included, that hold a piece of a canary."""
    found: list[str] = []
    for file in Path(place).parent.iterdir():
        data = file.read_bytes()
        if any(piece in data for piece in (b"7f3a9c", b"wx8d2bzq")):
            found.append(file.name)
    return found


def spilt() -> str:
    """Return what foreign code sees when it looks at its environment."""
    return " ".join(f"{name}={value}" for name, value in os.environ.items())


class Heard(Observer):
    """Keeps what people would read."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def notice(self, message: str) -> None:
        self.lines.append(message)


class Leaky(ClassBenchmark):
    """A walk that tells its environment variables wherever it can."""

    async def open(self, notice: Callable[[str], None]) -> None:
        notice(f"started with {spilt()}")

    async def environment(self, task: Task, episode_id: str) -> Any:
        class World:
            async def reset(self) -> Observation:
                return Observation(dict(os.environ), system_prompt=spilt(), notes=(spilt(),))

            async def step(self, action: Any) -> Step:
                if task.seed == 1:
                    raise EpisodeError(Cause.ENVIRONMENT_ERROR, spilt(), detail=spilt(), stderr=spilt())
                if task.seed == 2:
                    raise ValueError(spilt())
                large = Observation(spilt() * 500, "text/plain")
                return Step(large, 1.0, terminated=True, info={CANARY: spilt(), "nested": [dict(os.environ)]})

            async def oracle(self) -> Any:
                return None

            async def close(self) -> None:
                raise OSError(spilt())

        return World()

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        if task.seed == 3:
            raise AssertionError(spilt())
        return [Score("arrived", 1.0, explanation=spilt()), Score("reward", 1.0)]


async def tell(context: Context) -> None:
    """Play and pass on everything."""
    seen = await context.reset()
    said = [Message("system", spilt()), Message("user", str(seen.data))]
    reply = await context.ask(ModelRequest(said))
    context.warn(f"odd: {reply.text}")
    context.record(Kind.LOG, {"message": spilt(), CANARY: 1})
    await context.step({"say": reply.text}, reasoning=reply.reasoning)


def answer(request: ModelRequest) -> ModelReply:
    return ModelReply(spilt(), reasoning=spilt(), model="m")


async def test_nothing_that_foreign_code_tells_of_a_secret_is_kept(lab: "Lab") -> None:
    heard = Heard()
    trouble = iter([EpisodeError(Cause.MODEL_UNAVAILABLE, spilt(), detail=spilt())])

    def sometimes(request: ModelRequest) -> ModelReply:
        for error in trouble:
            raise error
        return answer(request)

    spec = lab.spec(lab.model(sometimes), world=lab.benchmark(Leaky(lab.world("Walk"))), agent=lab.agent(tell), count=5)
    run = await lab.run(spec, heard)
    assert (run.counts.completed, run.counts.failed) == (3, 2)
    assert leaks(lab.store.place) == []
    shown = msgspec.json.encode([run, lab.episodes(run), [lab.events(episode) for episode in lab.episodes(run)]])
    assert b"7f3a9c" not in shown
    assert b"wx8d2bzq" not in shown
    assert b"[redacted]" in shown
    assert len(run.warnings) >= 2
    assert run.provenance["command"][-1] == "[redacted]"
    assert "7f3a9c" not in " ".join(heard.lines)
    assert any("started with" in line for line in heard.lines)


@pytest.mark.parametrize("how", ["fatal", "benchmark", "bug"])
async def test_the_reason_why_a_run_broke_off_is_kept_without_the_secret(lab: "Lab", how: str) -> None:
    class Failing(ClassBenchmark):
        async def open(self, notice: Callable[[str], None]) -> None:
            if how == "benchmark":
                raise RunAborted(f"the adapter says: {spilt()}")

        def tasks(self, selection: Any) -> Iterator[Task]:
            if how == "bug":
                raise ValueError(spilt())
            return super().tasks(selection)

    model = lab.model(EpisodeError(Cause.MODEL_FORBIDDEN, f"invalid key {CANARY}"))
    spec = lab.spec(model, world=lab.benchmark(Failing(lab.world("Walk"))))
    if how == "bug":
        with pytest.raises(ValueError, match="canary"):
            await lab.run(spec)
    else:
        await lab.run(spec)
    run = lab.only_run()
    assert "[redacted]" in run.error
    assert leaks(lab.store.place) == []


async def test_a_model_that_cannot_answer_does_not_tell_its_key(lab: "Lab") -> None:
    model = lab.model(checked=EpisodeError(Cause.MODEL_FORBIDDEN, f"invalid key {CANARY}"))
    with pytest.raises(RunAborted) as caught:
        await lab.run(lab.spec(model))
    assert str(caught.value) == "invalid key [redacted]"


async def test_the_search_for_leaks_finds_one(lab: "Lab") -> None:
    await lab.run(msgspec.structs.replace(lab.spec(lab.model()), name=f"named {CANARY}"))
    assert leaks(lab.store.place)


@pytest.mark.parametrize("secret", ["e", "1", '"', "kind", "reward", "null"])
async def test_a_run_with_a_short_secret_is_recorded_and_scored_as_one_without(lab: "Lab", secret: str) -> None:
    spec = lab.spec(lab.model())
    plain = await lab.run(spec)
    run = await session.run(spec, lab.store, settings=session.SessionOptions(secrets=[secret]))
    stored = lab.store.runs.get(run.id)
    assert stored.metrics == plain.metrics
    assert session_state.SHORT_SECRET in stored.warnings
    for one, other in zip(lab.episodes(plain), lab.episodes(run), strict=True):
        assert (one.key, one.status, one.scores) == (other.key, other.status, other.scores)
        assert [event.kind for event in lab.events(one)] == [event.kind for event in lab.events(other)]
