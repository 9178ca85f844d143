"""Numbers belong to the code that they are stored under, also when that is edited while a process lives."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.ports import Environment
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunStatus
from mesocosm.core.task import Task
from mesocosm.engine import opening, session
from mesocosm.environments.inprocess import ClassBenchmark

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

WORLD = """
from mesocosm.environments.sdk import BaseEnv, StepResult

class World(BaseEnv):
    def reset(self, seed=None):
        return {{}}

    def step(self, action):
        return StepResult({{}}, {reward}, True, False, {{}})
"""
AGENT = """
class Agent:
    async def play(self, context):
        await context.reset()
        await context.step({action!r})

def agent(options):
    return Agent()
"""


async def test_a_benchmark_that_is_edited_between_two_runs_of_a_process_plays_as_it_is(
    lab: "Lab", tmp_path: Path
) -> None:
    (tmp_path / "world.py").write_text(WORLD.format(reward=0.25))
    (tmp_path / "agent.py").write_text(AGENT.format(action="a"))
    world, agent = BenchmarkRef("python", f"{tmp_path / 'world.py'}:World"), f"{tmp_path / 'agent.py'}:agent"
    spec = lab.spec(lab.model(), world=world, agent=agent, count=2)
    before = await lab.run(spec)
    (tmp_path / "world.py").write_text(WORLD.format(reward=0.75))
    after = await lab.run(spec)
    assert [run.metrics[0].value for run in (before, after)] == [0.25, 0.75]
    assert before.benchmark_digest != after.benchmark_digest
    with pytest.raises(UsageError, match="it would mix two experiments"):
        await session.resume(before.id, lab.store)


async def test_an_edited_agent_or_technique_is_another_experiment(lab: "Lab", tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(action="a"))
    (tmp_path / "technique.py").write_text(
        "from mesocosm.agents.technique import Technique\nclass Own(Technique): ...\n"
    )
    spec = lab.spec(lab.model(), agent=f"{tmp_path / 'agent.py'}:agent")
    loop = lab.spec(lab.model(), agent="loop")
    loop = msgspec.structs.replace(
        loop, agent=AgentSettings("loop", {"techniques": {f"{tmp_path / 'technique.py'}:Own": {}}})
    )
    first = [opening.new_run(one, opening.open_parts(one)).signature for one in (spec, loop)]
    for name in ("agent", "technique"):
        file = tmp_path / f"{name}.py"
        file.write_text(f"{file.read_text()}\n# changed\n")
    again = [opening.new_run(one, opening.open_parts(one)).signature for one in (spec, loop)]
    assert first[0] != again[0]
    assert first[1] != again[1]


class Refusing:
    """A benchmark that is what it wraps, but finds its files changed: at its start, or at an episode."""

    def __init__(self, benchmark: Any, *, at_open: bool) -> None:
        self._benchmark = benchmark
        self._at_open = at_open
        self._asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._benchmark, name)

    def warnings(self) -> tuple[str, ...]:
        return ("main.py has changed since the run began",)

    async def open(self, notice: Callable[[str], None]) -> None:
        if self._at_open:
            raise EpisodeError(Cause.CANCELLED, "main.py has changed")
        await self._benchmark.open(notice)

    async def environment(self, task: Task, episode_id: str) -> Environment:
        self._asked += 1
        if self._asked == 3:
            raise EpisodeError(Cause.CANCELLED, "main.py has changed")
        return cast(Environment, await self._benchmark.environment(task, episode_id))


@pytest.mark.parametrize(("at_open", "done"), [(True, 0), (False, 2)])
async def test_a_run_whose_code_changes_is_stopped_and_keeps_what_the_old_code_gave(
    lab: "Lab", at_open: bool, done: int
) -> None:
    world = lab.benchmark(Refusing(ClassBenchmark(lab.world("Walk")), at_open=at_open))
    run = await lab.run(lab.spec(lab.model(), world=world, count=4))
    assert (run.status, run.error, run.counts.done, run.counts.pending) == (
        RunStatus.STOPPED,
        "main.py has changed",
        done,
        4 - done,
    )


async def test_what_a_benchmark_warns_of_at_the_end_is_kept_with_the_run(lab: "Lab") -> None:
    world = lab.benchmark(Refusing(ClassBenchmark(lab.world("Walk")), at_open=False))
    run = await lab.run(lab.spec(lab.model(), world=world, count=2))
    assert run.status is RunStatus.FINISHED
    assert lab.store.runs.get(run.id).warnings == ("main.py has changed since the run began",)


async def test_rows_that_occur_twice_are_one_cluster_and_told(lab: "Lab", tmp_path: Path) -> None:
    world = WORLD.format(reward=1.0).replace("seed=None", "seed=None, task=None")
    (tmp_path / "world.py").write_text(
        f"{world}\n    @classmethod\n    def tasks(cls):\n"
        "        from mesocosm.core.task import Task\n"
        "        return [Task(str(n), input=n % 5) for n in range(15)]\n"
    )
    (tmp_path / "agent.py").write_text(AGENT.format(action="a"))
    world_ref = BenchmarkRef("python", f"{tmp_path / 'world.py'}:World")
    run = await lab.run(lab.spec(lab.model(), world=world_ref, agent=f"{tmp_path / 'agent.py'}:agent", count=None))
    assert (run.status, run.metrics[0].n_scored, run.metrics[0].n_tasks) == (RunStatus.FINISHED, 15, 5)
    assert run.warnings[0].startswith("10 of 15 tasks ask the same as one before them")
