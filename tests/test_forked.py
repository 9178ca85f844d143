"""A program that is forked is what one that is started anew is."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.forked import ForkServer, forking

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are forked on Linux only")

TELL = """
import gc, json, logging, os, random, signal, sys, threading, warnings

def stream(file):
    return [file.encoding, file.errors, file.line_buffering, file.isatty(), file.fileno()]

print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags), "main": sorted(globals()),
    "name": __name__, "is main": sys.modules["__main__"].__dict__ is globals(),
    "cwd": os.getcwd(), "variables": dict(os.environ), "umask": os.umask(0), "parent": os.getppid(),
    "group": os.getpgid(0) == os.getpid(), "session": os.getsid(0) == os.getpid(),
    "descriptors": sorted(os.listdir("/proc/self/fd"))[:-1], "threads": threading.active_count(),
    "signals": {number: str(signal.getsignal(number)).split(" at ")[0] for number in signal.valid_signals()},
    "mask": list(signal.pthread_sigmask(signal.SIG_BLOCK, ())), "wakeup": signal.set_wakeup_fd(-1),
    "streams": [stream(file) for file in (sys.stdin, sys.stdout, sys.stderr)], "same": sys.stdout is sys.__stdout__,
    "handlers": len(logging.root.handlers), "level": logging.root.level, "filters": len(warnings.filters),
    "collects": gc.isenabled(), "thresholds": gc.get_threshold(), "read": sys.stdin.read(),
}))
"""

Both = Callable[..., tuple[Any, Any]]


@pytest.fixture
def server(fork_server: ForkServer | None) -> ForkServer:
    assert fork_server
    return fork_server


@pytest.fixture
def both(server: ForkServer) -> Both:
    """Return what runs a Python program anew and forked, and returns how each ended and what it said."""

    def run(*words: str, **more: Any) -> tuple[Any, Any]:
        command = [sys.executable, *words]
        # Readline, which pytest imports, sets variables that `os.environ` does not know.
        more = {"env": dict(os.environ), "capture_output": True, "text": True, "input": "asked", **more}
        started = subprocess.run(command, check=False, **more)
        with forking(server):
            forked = subprocess.run(command, check=False, **more)
        return started, forked

    return run


def told(ended: "subprocess.CompletedProcess[str]") -> Any:
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_a_program_sees_what_it_would_see_otherwise(both: Both, tmp_path: Path) -> None:
    script = tmp_path / "tell.py"
    script.write_text(TELL)
    (tmp_path / "tells").mkdir()
    (tmp_path / "tells" / "__main__.py").write_text(TELL)
    for words in (("-c", TELL, "a", "-b"), (str(script), "a", "-b"), ("-m", "tells", "a", "-b")):
        started, forked = both(*words, cwd=tmp_path, env={**os.environ, "OF_THIS_PROGRAM": "1"})
        assert told(forked) == told(started)


def test_a_program_does_not_find_modules_beside_it_where_it_is_told_so(both: Both, tmp_path: Path) -> None:
    script = tmp_path / "tell.py"
    script.write_text(TELL)
    for words in (("-P", "-c", TELL, "a"), ("-P", str(script), "a")):
        # All but `sys.flags.safe_path`, which nobody can set, is the same.
        started, forked = (told(one) | {"flags": ""} for one in both(*words, cwd=tmp_path))
        assert forked == started
        assert not {"", str(tmp_path)} & set(forked["path"])


def test_a_program_in_a_session_of_its_own_with_one_more_file_and_no_input(both: Both, tmp_path: Path) -> None:
    with (tmp_path / "more").open("w") as file:
        more = {"start_new_session": True, "pass_fds": [file.fileno()], "input": None, "stdin": subprocess.DEVNULL}
        started, forked = both("-c", TELL, **more)
    assert told(forked) == told(started)
    assert told(forked)["session"]
    assert told(forked) == told(started)
    assert told(forked)["session"]


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.exit(7)",
        "import sys; sys.exit('in words')",
        "import atexit, threading; atexit.register(print, 'at the end'); threading.Timer(0.01, print, '.').start()",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "import sys; sys.stdout.close(); sys.stdin.close()",
        "import os; print('unwritten'); os._exit(3)",
    ],
)
def test_a_program_ends_as_it_would_otherwise(both: Both, program: str) -> None:
    started, forked = both("-c", program)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_an_error_that_nothing_handles_ends_a_program_with_code_1(both: Both) -> None:
    started, forked = both("-c", "def f(): raise ValueError('so')\nf()")
    assert (forked.returncode, started.returncode) == (1, 1)
    assert forked.stderr.splitlines()[-2:] == started.stderr.splitlines()[-2:]


def test_nothing_of_one_program_is_in_the_next(server: ForkServer) -> None:
    program = """
import logging, os, sys, mesocosm, mesocosm.core.registry
print([hasattr(mesocosm, "left"), "LEFT" in os.environ, logging.root.level, "left" in sys.modules, len(sys.modules)])
mesocosm.left = os.environ["LEFT"] = "here"
sys.modules["left"] = mesocosm
logging.root.setLevel(5)
"""
    with forking(server):
        said = [subprocess.check_output([sys.executable, "-c", program], text=True) for _ in range(2)]
    assert said[0] == said[1]


def test_a_forked_program_is_a_child_that_can_be_signalled(server: ForkServer) -> None:
    program = "import signal; print('ready', flush=True); signal.pause()"
    with forking(server), subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.poll() is None
        assert f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{process.pid}/status").read_text()
        process.kill()
        assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (("-S", "-c", "0"), {}),
        (("-",), {}),
        (("-c", "0"), {"PYTHONHASHSEED": "1"}),
        (("-c", "0"), {"LC_ALL": "C"}),
        (("-c", "0"), {"AIOHTTP_NO_EXTENSIONS": "1"}),
    ],
)
def test_what_would_not_be_the_same_is_started_anew(
    server: ForkServer, words: tuple[str, ...], variables: dict[str, str]
) -> None:
    assert server.can_fork([sys.executable, "-c", "0"], os.environ)
    assert not server.can_fork([sys.executable, *words], {**os.environ, **variables})


@pytest.mark.parametrize("elsewhere", [False, True], ids=["", "in a session of its own"])
def test_a_shell_runs_programs_and_is_told_how_they_end(server: ForkServer, tmp_path: Path, *, elsewhere: bool) -> None:
    script = """
mesocosm --version
python -c 'import sys; print(sys.stdin.read(), sys.argv); sys.exit(3)' x </dev/null || echo "ended with $?"
echo piped | python -c 'print(input(), flush=True); import os; os.kill(os.getpid(), 15)' || echo "ended with $?"
"""
    variables = {**os.environ, "PATH": f"{server.scripts}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", script],
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        start_new_session=elsewhere,
    )
    version, *lines = done.stdout.splitlines()
    assert version.startswith("mesocosm ")
    assert lines == [" ['-c', 'x']", "ended with 3", "piped", "ended with 143"]


def test_blocks_that_overlap_leave_nothing_behind(server: ForkServer) -> None:
    before = subprocess._fork_exec  # type: ignore[attr-defined]
    first, second = forking(server), forking(server)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert subprocess._fork_exec is not before  # type: ignore[attr-defined]
    second.__exit__(None, None, None)
    assert subprocess._fork_exec is before  # type: ignore[attr-defined]
