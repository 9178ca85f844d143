"""Numbers belong to the code that they are stored under, also when that is edited while a process lives."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.run import AgentSettings, BenchmarkRef
from mesocosm.engine import session

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
    first = [session.new_run(one, session.open_parts(one)).signature for one in (spec, loop)]
    for name in ("agent", "technique"):
        file = tmp_path / f"{name}.py"
        file.write_text(f"{file.read_text()}\n# changed\n")
    again = [session.new_run(one, session.open_parts(one)).signature for one in (spec, loop)]
    assert first[0] != again[0]
    assert first[1] != again[1]
