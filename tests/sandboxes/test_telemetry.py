"""What foreign processes are told about sending traces to vendors."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mesocosm.rollouts.local import InProcessExecutor
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.sandboxes.telemetry import OFF

TRACING = "LANGSMITH_TRACING_V2"


@pytest.fixture(autouse=True)
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what somebody has set who traces programs of their own."""
    monkeypatch.setenv(TRACING, "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "a key")
    monkeypatch.delenv("OPENAI_AGENTS_DISABLE_TRACING", raising=False)


async def within(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the variables that a rollout in this process sees."""
    (folder / "main.py").write_text(
        "from mesocosm.rollouts import AgentWorkflow, Grader\n\n\n"
        "class Nothing(AgentWorkflow):\n    async def run(self, ctx):\n        return None\n\n\n"
        "class Any(Grader):\n    async def grade(self, ctx):\n        ctx.set_reward(0.0)\n"
    )
    place = InProcessExecutor(folder, "main.py", environment)
    await place.open(lambda line: None)
    seen = dict(os.environ)
    await place.close()
    return seen


async def test_a_rollout_in_this_process_sends_no_traces_and_leaves_the_variables_as_they_were(tmp_path: Path) -> None:
    seen = await within({}, tmp_path)
    assert OFF.items() <= seen.items()
    assert os.environ[TRACING] == "true"
    assert "OPENAI_AGENTS_DISABLE_TRACING" not in os.environ


async def test_a_configuration_that_asks_for_traces_gets_them(tmp_path: Path) -> None:
    assert (await within({TRACING: "true"}, tmp_path))[TRACING] == "true"


def test_a_rollout_in_a_process_of_its_own_sends_no_traces(tmp_path: Path) -> None:
    place = ProcessExecutor(tmp_path, "main.py", environment={"DO_NOT_TRACK": "0"})
    seen = place._variables()
    assert {**OFF, "DO_NOT_TRACK": "0"}.items() <= seen.items()
    assert "LANGSMITH_API_KEY" not in seen
