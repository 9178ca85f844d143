"""A first look at environments in a real sandbox: what stops a build, and what is only noted."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import LoopClock
from tests.server.builds.conftest import adapter, manifest, vow

from mesocosm.environments.manifest import load_manifest
from mesocosm.http.response import Response
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.server.builds.directory import BuildDirectory, BuiltVersion
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.install import make_venv
from mesocosm.server.builds.launcher import SandboxLauncher, SocketRouter
from mesocosm.server.builds.log import BuildLog, notes_of
from mesocosm.server.builds.smoke_test import smoke_test
from mesocosm.server.settings import read_settings


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> BuildDirectory:
    """A directory with its virtual environment."""
    found = BuildDirectory(tmp_path_factory.mktemp("prepared") / "version")
    found.folder.mkdir()
    make_venv(found)
    return found


START_S = 60.0


class Answered(SocketRouter):
    """A router on which the time of a start is over once there was an answer."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__()
        self._clock = clock

    async def request(self, *given: Any, **named: Any) -> Response:
        answer = await super().request(*given, **named)
        # What waits for the answer sees it first.
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, self._clock.advance, START_S)
        return answer


class Talking(SandboxLauncher):
    """A launcher whose time of a start is over once the adapter has said something."""

    def __init__(self, clock: LoopClock, *given: Any) -> None:
        super().__init__(*given)
        self._clock = clock
        self._listening: asyncio.Task[None] | None = None

    async def start(self, *given: Any, **named: Any) -> ForeignProcess:
        process = await super().start(*given, **named)
        self._listening = asyncio.create_task(self._listen(process))
        return process

    async def _listen(self, process: ForeignProcess) -> None:
        while not process.stdout_tail():  # noqa: ASYNC110 -- the words of another process have no event
            await asyncio.sleep(0.005)
        self._clock.advance(START_S)


async def look(
    prepared: BuildDirectory,
    tmp_path: Path,
    text: str,
    declared: dict[str, Any] | None = None,
    *,
    lines: SocketRouter | None = None,
    launcher: Callable[..., SandboxLauncher] = SandboxLauncher,
    **given: Any,
) -> str:
    """Look at an adapter for the first time; return the log."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "adapter.py").write_text(text)
    (source / "benchanything.json").write_text(manifest(binding_vow=declared) if declared else manifest())
    built = BuiltVersion(source, source / "benchanything.json", prepared.python, prepared.packages, "")
    settings, log = read_settings(**{"start_s": START_S, "step_s": 60.0, **given}), BuildLog(tmp_path)
    lines = lines or SocketRouter()
    try:
        await smoke_test(
            settings, load_manifest(built.manifest), built.python, launcher(settings, built, lines), lines, log
        )
    finally:
        await lines.close()
    return log.text()


async def stopped(prepared: BuildDirectory, tmp_path: Path, text: str, **given: Any) -> str:
    with pytest.raises(BuildError) as caught:
        await look(prepared, tmp_path, text, **given)
    return str(caught.value)


async def test_a_working_environment_has_nothing_to_note(prepared: BuildDirectory, tmp_path: Path) -> None:
    log = await look(prepared, tmp_path, adapter())
    assert notes_of(log) == []
    assert "it works" in log


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys\nprint('no database', file=sys.stderr)\nsys.exit(3)", ["exit code 3", "no database"]),
        ("raise RuntimeError('half done')", ["exit code 1", "RuntimeError: half done"]),
        ("import os\nos.abort()", ["exit code 134 (SIGABRT)"]),
        ("def (", ["SyntaxError"]),
        ("import left_pad_for_python", ["No module named 'left_pad_for_python'", "requirements.txt"]),
        ("print('done')", ["exit code 0", "does it call serve"]),
        ("open('notes.txt', 'w')", ["Read-only file system", "may write into /tmp only"]),
        (
            "import argparse\nargparse.ArgumentParser().parse_args()",
            ["exit code 2", "does it accept the argument --port?"],
        ),
        ("import urllib.request as r\nr.urlopen('http://example.org')", ["have no network here"]),
    ],
)
async def test_an_adapter_that_ends_is_told_with_its_last_words(
    text: str, words: list[str], prepared: BuildDirectory, tmp_path: Path
) -> None:
    said = await stopped(prepared, tmp_path, text)
    assert said.startswith("adapter.py did not start: ")
    for word in words:
        assert word in said


async def test_an_adapter_that_never_listens_is_told(
    prepared: BuildDirectory, tmp_path: Path, loop_clock: LoopClock
) -> None:
    text = "import time\nprint('waiting', flush=True)\ntime.sleep(600)"
    said = await stopped(prepared, tmp_path, text, launcher=partial(Talking, loop_clock))
    assert "was not healthy within 60 s" in said
    assert "waiting" in said


async def test_another_port_is_told(prepared: BuildDirectory, tmp_path: Path) -> None:
    said = await stopped(prepared, tmp_path, adapter().replace('int(sys.argv[sys.argv.index("--port") + 1])', "8765"))
    assert "adapter.py listens at port 8765, not at" in said


async def test_a_sick_health_is_told(prepared: BuildDirectory, tmp_path: Path, loop_clock: LoopClock) -> None:
    sick = adapter("def health(body):\n    return 503, {'detail': 'still loading'}")
    said = await stopped(prepared, tmp_path, sick, lines=Answered(loop_clock))
    assert "status 503" in said
    assert "still loading" in said


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("def reset(body):\n    return 500, {'detail': 'no such level'}", ["POST", "/reset", "no such level"]),
        ("def step(body):\n    return 500, {'detail': 'lost count'}", ["/step", "status 500", "lost count"]),
        ("def step(body):\n    return 200, [1]", ["/step", "must be an object"]),
        (
            "def step(body):\n    print('out of luck', file=sys.stderr, flush=True)\n    import os; os._exit(9)",
            ["/step", "exit code 9", "out of luck"],
        ),
    ],
)
async def test_a_failing_call_is_told(changed: str, words: list[str], prepared: BuildDirectory, tmp_path: Path) -> None:
    said = await stopped(prepared, tmp_path, adapter(changed))
    assert "a first episode failed" in said
    for word in words:
        assert word in said


async def test_a_hanging_call_is_told(prepared: BuildDirectory, tmp_path: Path) -> None:
    hanging = adapter("def reset(body):\n    import time\n    time.sleep(600)")
    assert "no complete answer" in await stopped(prepared, tmp_path, hanging, step_s=0.5)


async def test_observations_outside_the_declared_space_are_noted(prepared: BuildDirectory, tmp_path: Path) -> None:
    log = await look(prepared, tmp_path, adapter("def reset(body):\n    return 200, {'remaining': 3}"))
    assert any("outside the declared observation space" in note for note in notes_of(log))


async def test_a_reset_that_is_not_repeatable_is_noted(prepared: BuildDirectory, tmp_path: Path) -> None:
    text = adapter("import random\ndef reset(body):\n    return 200, {'left': random.random()}")
    log = await look(prepared, tmp_path, text)
    assert any("deterministic_reset is true, but" in note for note in notes_of(log))


async def test_a_free_text_may_mean_nothing_to_the_environment(prepared: BuildDirectory, tmp_path: Path) -> None:
    text = adapter("def step(body):\n    return 400, {'detail': 'no move in chess'}")
    log = await look(prepared, tmp_path, text, vow(action_space={"type": "text"}))
    assert any("no move in chess" in note and "answer every action" in note for note in notes_of(log))


async def test_an_oracle_is_asked_for_the_action(prepared: BuildDirectory, tmp_path: Path) -> None:
    oracle = """
def health(body):
    return 200, {"oracle": True}

def step(body):
    assert body["action"] == "down", body
    return 200, {"observation": {"left": 2}, "reward": 1, "terminated": True, "truncated": False, "info": {}}
"""
    text = adapter(oracle).replace('"/step": step', '"/step": step, "/oracle": lambda body: (200, {"action": "down"})')
    assert 'step with the action "down"' in await look(prepared, tmp_path, text, vow(action_space={"type": "text"}))


async def test_an_oracle_that_fails_is_noted(prepared: BuildDirectory, tmp_path: Path) -> None:
    text = adapter("def health(body):\n    return 200, {'oracle': True}")
    text = text.replace('"/step": step', '"/step": step, "/oracle": lambda body: (500, {"detail": "no idea"})')
    assert any("oracle" in note and "no idea" in note for note in notes_of(await look(prepared, tmp_path, text)))


async def test_words_of_the_adapter_are_in_the_log(prepared: BuildDirectory, tmp_path: Path) -> None:
    text = adapter("print('loaded 3 levels', file=sys.stderr, flush=True)")
    assert "  | loaded 3 levels" in await look(prepared, tmp_path, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("data = []\nwhile True:\n    data.append(bytearray(50_000_000))", "memory"),
        ("while True:\n    print('x' * 10_000)", "wrote"),
        (
            "import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(1)",
            "processes",
        ),
    ],
)
async def test_an_adapter_that_takes_too_much_is_ended_and_told(
    text: str, words: str, prepared: BuildDirectory, tmp_path: Path
) -> None:
    limits = {"environment_memory_mb": 256, "environment_processes": 32}
    said = await stopped(prepared, tmp_path, text, **limits)
    assert words in said
