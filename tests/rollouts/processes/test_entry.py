"""Entry files: which of them serve by themselves, and what is found in those that do not."""

import importlib.util
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType

import pytest

from mesocosm.rollouts.executor import LineLog, RowJob
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.rollouts.processes.run_entry_file import EntryError, find_rollout, serves_itself

Opened = Callable[..., Awaitable[ProcessExecutor]]
Working = Callable[..., RowJob]

HEAD = "from mesocosm.rollouts.sdk import AgentWorkflow, AgentWorkflowConfig, Grader, LocalBackend\n"
PUBLISHED = "from osmosis_ai.rollout import AgentWorkflow, Grader\n"
WORKFLOW = """
class Echo(AgentWorkflow):
    async def run(self, ctx):
        print("heard", ctx.prompt[-1]["content"], flush=True)
        return [*ctx.prompt, {"role": "assistant", "content": "echo"}]
"""
GRADER = """
class Half(Grader):
    async def grade(self, ctx):
        ctx.set_reward("0.5")
"""


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("import uvicorn\nif __name__ == '__main__':\n    uvicorn.run(app)\n", True),
        ("import uvicorn\nuvicorn.run(app, port=1)\n", True),
        ("import asyncio\nasyncio.run(main())\n", True),
        ("import uvicorn\ndef main():\n    uvicorn.run(app)\n", False),
        ("app = 1\n", False),
        ("def (\n", True),
    ],
)
def test_a_file_that_starts_a_server_is_told_from_one_that_does_not(source: str, answer: bool) -> None:
    assert serves_itself(source) is answer


def loaded(tmp_path: Path, source: str) -> ModuleType:
    file = tmp_path / "entry_of_a_test.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refusal(tmp_path: Path, source: str) -> str:
    with pytest.raises(EntryError) as caught:
        find_rollout(loaded(tmp_path, source))
    return str(caught.value)


def test_an_app_is_taken_as_it_is(tmp_path: Path) -> None:
    module = loaded(tmp_path, "from fastapi import FastAPI\napp = FastAPI()\n")
    assert find_rollout(module) is module.app


def test_a_backend_is_served(tmp_path: Path) -> None:
    module = loaded(
        tmp_path, f"{HEAD}{WORKFLOW}{WORKFLOW.replace('Echo', 'Other')}backend = LocalBackend(workflow=Echo)\n"
    )
    assert find_rollout(module).workflow_cls.__name__ == "Echo"


def test_a_base_gives_way_to_the_workflow_made_of_it(tmp_path: Path) -> None:
    module = loaded(tmp_path, f"{HEAD}{WORKFLOW}class Louder(Echo):\n    pass\n")
    assert find_rollout(module).workflow_cls.__name__ == "Louder"


def test_a_file_without_a_workflow_is_refused(tmp_path: Path) -> None:
    assert "neither a LocalBackend nor a class derived from AgentWorkflow" in refusal(tmp_path, HEAD)


def test_a_file_with_two_workflows_is_refused(tmp_path: Path) -> None:
    two = HEAD + WORKFLOW + WORKFLOW.replace("Echo", "Other")
    assert "several workflow classes (Echo, Other)" in refusal(tmp_path, two)


@pytest.mark.parametrize("head", [HEAD, PUBLISHED])
async def test_a_bare_workflow_with_its_grader_is_found_and_served(
    opened: Opened, working: Working, rollout: Path, head: str
) -> None:
    (rollout / "main.py").write_text(head + WORKFLOW + GRADER)
    heard: list[str] = []
    ended = await (await opened()).run(working("hello"), lambda stream, line: heard.append(line))
    assert ended.sample is not None
    assert (ended.sample.reward, ended.graded, ended.failure) == (0.5, True, None)
    assert "heard hello" in heard


async def test_a_row_of_our_own_server_that_blocks_harms_nobody(
    opened: Opened, working: Working, log: LineLog, rollout: Path
) -> None:
    blocking = WORKFLOW.replace(
        "print", "import time; time.sleep(60 * (ctx.prompt[-1]['content'] == 'block')) or print"
    )
    (rollout / "main.py").write_text(PUBLISHED + blocking + GRADER)
    place = await opened()
    ended = await place.run(working("block", workflow_seconds=0.3), log)
    assert ended.failure is not None
    assert ended.failure.cause == "workflow_timeout"
    assert (await place.run(working("fine"), log)).graded


SERVING = """
import logging, os, uvicorn
from mesocosm.rollouts.sdk import create_rollout_server
logging.basicConfig(level=logging.INFO)
logging.getLogger("httpx").info("asked a model")
logging.getLogger("of.the.rollout").warning("my own words")
app = create_rollout_server(backend=LocalBackend(workflow=Echo, grader=Half))
if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["_OSMOSIS_ROLLOUT_PORT"]))
"""


async def test_the_log_has_the_rollout_s_words_and_none_of_its_server(
    opened: Opened, working: Working, rollout: Path, tmp_path: Path
) -> None:
    (rollout / "main.py").write_text(HEAD + WORKFLOW + GRADER + SERVING)
    heard: list[str] = []
    place = await opened(log_file=tmp_path / "log.txt")
    assert (await place.run(working("hello"), lambda _, line: heard.append(line))).graded
    await place.close()
    assert heard == ["heard hello"]
    kept = (tmp_path / "log.txt").read_text()
    assert "my own words" in kept
    assert "INFO" not in kept
