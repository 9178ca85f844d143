"""Benchmarks of other frameworks with models on servers that were not written here.

Needs MESOCOSM_TEST_GUESTS as well: a folder with a virtual environment for each framework.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.foreign import real_servers
from tests.foreign.conftest import Laboratory
from tests.foreign.real_servers import RealServer

from mesocosm.core.event import Kind
from mesocosm.sandboxes.bubblewrap import available

GUESTS = os.environ.get("MESOCOSM_TEST_GUESTS", "")
HERE = Path(__file__).parent
OWN = HERE.parent / "guests"
HARBOR = HERE.parent / "benchmarks" / "harbor" / "tasks"
WRONG = "sk-of-somebody-else-0123456789"
WORDS = ("--no-view", "--parallel", "2")
BY_THE_AGENT = {"", "malformed_action", "reply_truncated"}

INSPECT = '''
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool


@tool
def add():
    async def execute(x: int, y: int) -> int:
        """Add two numbers.

        Args:
            x: The first number.
            y: The second number.
        """
        return x + y

    return execute


@task
def tools(count: int = 3) -> Task:
    asked = 'What is {n} + 1? [[call add {{"x": {n}, "y": 1}}]][[say It is {m}.]]'
    samples = [Sample(input=asked.format(n=n, m=n + 1), target=str(n + 1)) for n in range(count)]
    return Task(dataset=samples, solver=[use_tools(add()), generate()], scorer=includes())


@task
def plain(count: int = 3, words: int = 0) -> Task:
    # The target stands in what servers say of a prompt that is too long.
    samples = [Sample(input=f"What is {n} + 1? " + "word " * words, target="context") for n in range(count)]
    return Task(dataset=samples, solver=generate(), scorer=includes())
'''


def python_of(name: str) -> str:
    """Return the option that names a framework's interpreter; skip the test if there is none."""
    path = Path(GUESTS).absolute() / name / "bin" / "python"
    if not GUESTS or not path.exists():
        pytest.skip(f"MESOCOSM_TEST_GUESTS names no folder with {name}/bin/python")
    return f"python={path}"


@pytest.fixture
def inspect(laboratory: Laboratory) -> Laboratory:
    """Return a directory with tasks of Inspect."""
    laboratory.write("sums.py", INSPECT)
    return laboratory


@pytest.fixture(scope="module")
def roomy_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """Return llama.cpp's server with room for long prompts."""
    with real_servers.llama(tmp_path_factory.mktemp("roomy"), context=real_servers.ROOMY) as server:
        yield server


def inspected(name: str, server: RealServer, model: str = "", *more: str) -> tuple[str, ...]:
    """Return the command that runs a task of Inspect."""
    where = ("-P", python_of("inspect"), "-m", server.named(model))
    return ("bench", "run", f"inspect:sums.py@{name}", *where, *WORDS, *more)


def test_a_task_with_tools_is_played_through_a_gateway(inspect: Laboratory, litellm_server: RealServer) -> None:
    outcome = inspect.mesocosm(*inspected("tools", litellm_server, "puppet"))
    assert outcome.code == 0, outcome.err
    played = inspect.played()
    assert (played.run.status, played.values, played.causes) == ("finished", [1.0] * 3, [""] * 3)
    assert len(played.calls) == 6
    assert [call["name"] for call in played.payloads(Kind.TOOL_CALL)] == ["add"] * 3
    assert "\x1b" not in outcome.out


def test_a_real_engine_answers_a_task(inspect: Laboratory, llama_server: RealServer) -> None:
    outcome = inspect.mesocosm(*inspected("plain", llama_server, "", "--set", "model.max_tokens=16"))
    assert outcome.code == 0, outcome.err
    played = inspect.played()
    assert (played.run.status, played.causes) == ("finished", [""] * 3)
    assert [call["usage"]["completion"] > 0 for call in played.calls] == [True] * 3


@pytest.mark.parametrize(("server", "model"), [("llama_server", ""), ("litellm_server", "overflowing")])
def test_what_a_server_says_of_a_prompt_that_is_too_long_is_no_answer(
    server: str, model: str, inspect: Laboratory, request: pytest.FixtureRequest
) -> None:
    real: RealServer = request.getfixturevalue(server)
    inspect.mesocosm(*inspected("plain", real, model, "-P", "words=1000", "--set", "model.max_tokens=16"))
    played = inspect.played()
    assert [one.status for one in played.episodes] == ["truncated"] * 3
    assert played.values == [0.0] * 3
    assert [one.terminal_info["limit"]["type"] for one in played.episodes] == ["context"] * 3
    assert played.payloads(Kind.RETRY) == []


def test_what_a_wrong_key_is_refused_scores_nothing_and_is_owed(
    inspect: Laboratory, litellm_server: RealServer
) -> None:
    inspect.variables["MESOCOSM_API_KEY"] = WRONG
    outcome = inspect.mesocosm(*inspected("plain", litellm_server))
    assert outcome.code in {3, 4}
    assert "the same command continues" in outcome.out
    assert WRONG not in outcome.out + outcome.err
    played = inspect.played()
    assert (played.run.status != "finished", set(played.values) <= {None}) == (True, True)


async def test_a_server_that_is_killed_and_comes_back_leaves_nothing_owed(inspect: Laboratory, tmp_path: Path) -> None:
    place = tmp_path / "server"
    place.mkdir()
    with real_servers.llama(place) as server:
        port = int(server.url.rpartition(":")[2])
        words = inspected("plain", server, "", "-P", "count=40", "--set", "model.max_tokens=64")
        command = asyncio.create_task(asyncio.to_thread(inspect.mesocosm, *words))
        # The server's own log is all that it tells.
        while server.log.read_text().count("processing task") < 5 and not command.done():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        server.kill()
    with real_servers.llama(place, port) as server:
        outcome = await command
        assert outcome.code == 0, outcome.out
        again = inspect.mesocosm(*words)
        asked = server.log.read_text().count("processing task")
    played = inspect.played()
    assert again.code == 0
    assert (played.run.status, played.run.counts.pending, None in played.values) == ("finished", 0, False)
    assert len({one.index for one in played.episodes}) == len(played.episodes) == 40
    assert asked <= 40


def test_an_overflow_in_verifiers_is_the_agents(laboratory: Laboratory, litellm_server: RealServer) -> None:
    shutil.copy(OWN / "sources" / "sums_v1.py", laboratory.root)
    common = ("bench", "run", "verifiers:./sums_v1.py", "-P", python_of("verifiers"), "-P", "count=2", *WORDS)
    good = laboratory.mesocosm(*common, "-m", litellm_server.named())
    assert good.code == 0, good.err
    assert laboratory.played().values == [-0.5, -0.5]
    assert laboratory.mesocosm(*common, "-m", litellm_server.named("overflowing")).code == 1
    assert laboratory.played().causes == ["context_overflow"] * 2


def test_texts_of_the_harness_are_asked_and_probabilities_refused(
    laboratory: Laboratory, litellm_server: RealServer
) -> None:
    shutil.copytree(OWN / "recordings" / "lm-eval" / "tasks", laboratory.root, dirs_exist_ok=True)
    laboratory.variables |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    common = ("-P", python_of("lmeval"), "-P", "include_path=.", "-n", "2", "-m", litellm_server.named(), *WORDS)
    texts = laboratory.mesocosm("bench", "run", "lm-eval:lm_generate", *common)
    assert texts.code == 0, texts.err
    assert None not in laboratory.played().values
    probabilities = laboratory.mesocosm("bench", "run", "lm-eval:lm_ending", *common)
    assert probabilities.code not in {0, 130}
    assert "does not tell how probable a given text is" in probabilities.out + probabilities.err


@pytest.mark.parametrize("source", ["gym:FrozenLake-v1", "pettingzoo:tictactoe_v3", "textarena:TicTacToe-v0"])
def test_a_real_engine_plays_steps(source: str, laboratory: Laboratory, roomy_server: RealServer) -> None:
    settings = ("--set", "model.max_tokens=48", "-P", python_of("step"), "--no-view")
    outcome = laboratory.mesocosm("run", "local", source, "-m", roomy_server.named(), "--episodes", "2", *settings)
    played = laboratory.played()
    assert (outcome.code, played.run.status, len(played.episodes)) == (0, "finished", 2), outcome.err
    assert set(played.causes) <= BY_THE_AGENT
    assert played.calls
    assert all(call["usage"]["prompt"] > 0 for call in played.calls)
    assert played.run.usage.calls == len(played.calls)


def test_a_row_of_skyrl_is_answered_by_a_real_engine(laboratory: Laboratory, roomy_server: RealServer) -> None:
    row = '{"prompt": "What is 1 + 1?", "reward_spec": {"method": "rule", "ground_truth": "2"}}\n'
    laboratory.write("rows.jsonl", row)
    settings = ("--set", "model.max_tokens=48", "-P", python_of("step"), "-P", "data=rows.jsonl", "--no-view")
    outcome = laboratory.mesocosm("run", "local", "skyrl:gsm8k", "-m", roomy_server.named(), *settings)
    assert outcome.code == 0, outcome.err
    primary = laboratory.played().run.primary
    assert primary is not None
    assert (primary.value, primary.n_scored) == (0.0, 1)


def test_openenv_by_a_real_engine(laboratory: Laboratory, roomy_server: RealServer) -> None:
    folder = HERE.parent / "environments" / "openenv" / "counting_env"
    settings = ("-P", python_of("openenv"), "-P", 'actions=["up","down"]', "--set", "model.max_tokens=64", "--no-view")
    words = ("run", "local", f"openenv:{folder}", "-m", roomy_server.named(), "--episodes", "2", *settings)
    outcome = laboratory.mesocosm(*words)
    played = laboratory.played()
    assert set(played.causes) <= BY_THE_AGENT, outcome.err
    assert played.calls


@pytest.mark.skipif(not available(), reason="there is no bubblewrap")
def test_a_model_behind_a_gateway_works_with_bash(laboratory: Laboratory, litellm_server: RealServer) -> None:
    task = laboratory.root / "tasks" / "file-answer"
    shutil.copytree(HARBOR / "file-answer", task)
    call: Any = '[[call bash {"command": "echo hello > /app/hello.txt"}]][[say I am done.]]'
    (task / "instruction.md").write_text(f"Write hello. {call}\n")
    words = ("bench", "run", "harbor:tasks", "--agent", "bash", "-P", "engine=bubblewrap", *WORDS)
    outcome = laboratory.mesocosm(*words, "-m", litellm_server.named("puppet"))
    assert outcome.code == 0, outcome.err
    played = laboratory.played()
    assert (played.values, len(played.calls)) == ([1.0], 2)
