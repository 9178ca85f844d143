"""Test untrusted functions (`checker`) and repositories (`remote_tests`) in another process than their tests."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.programs import MOST_SOURCE, Ended, Programs

_CHECKER = Path(__file__).with_name("checker.py").read_text(encoding="utf-8")
_NAME = "mesocosm.sandboxes.checker"
_REMOTE_TESTS = (
    f"import sys, types\nsys.modules[{_NAME!r}] = types.ModuleType({_NAME!r})\n"
    f"exec({_CHECKER!r}, sys.modules[{_NAME!r}].__dict__)\n"
    + Path(__file__).with_name("remote_tests.py").read_text(encoding="utf-8")
)
assert max(len(_CHECKER.encode()), len(_REMOTE_TESTS.encode())) < MOST_SOURCE


@dataclass(frozen=True, slots=True)
class Submission:
    """Programs, of which the first that compiles counts, and trusted tests of the functions that it defines.

    A test is {"code": Python source}, which fails by raising, or {"call": name, "args": [...], "kwargs": {...},
    "expected": value}. `setup` is Python source that runs before each test of the first kind; `names` are the program's
    functions, which take precedence over functions of the same name in the setup. `command` runs a program of another
    language, as `checker.py` says.
    """

    programs: Sequence[str]
    tests: Sequence[Mapping[str, Any]]
    names: Sequence[str]
    setup: str = ""
    command: Sequence[str] = ()


async def check(submission: Submission, runner: Programs, *, cpu_seconds: int, seconds: float) -> list[str]:
    """Return for each test the reason of its failure, or an empty string.

    The program may use `cpu_seconds` for all tests together, the tests the rest of the runner's allowance, and both
    together `seconds` of wall-clock time. Raises EpisodeError with cause sandbox_failed if the checker did not start.
    """
    token = secrets.token_hex(16)
    item = {
        "programs": list(submission.programs),
        "setup": submission.setup,
        "tests": list(submission.tests),
        "names": list(submission.names),
        "command": list(submission.command),
        "cpu_seconds": cpu_seconds,
        "token": token,
    }
    ended = await runner.run(_CHECKER, stdin=json.dumps(item).encode(), seconds=seconds)
    return _results(ended, token, len(submission.tests))


@dataclass(frozen=True, slots=True)
class RepositoryTests:
    """Names of tests (as unittest or pytest names them), and trusted sources of all `modules` that they are made of.

    The repository is in `folder`; its code is imported from `roots`, and `code` names its top-level modules. `packages`
    are folders of installed packages. The modules are named with dots from a root, a package by `NAME.__init__`.
    """

    tests: Sequence[str]
    modules: Mapping[str, str]
    folder: Path
    roots: Sequence[Path]
    code: Sequence[str]
    packages: Sequence[Path] = ()


async def check_repository(tests: RepositoryTests, runner: Programs, *, cpu_seconds: int, seconds: float) -> list[str]:
    """Return for each test the reason of its failure, or an empty string; the limits are those of `check`.

    The runner must show the folder. Raises EpisodeError with cause sandbox_failed if the program did not start.
    """
    token = secrets.token_hex(16)
    item = {
        "tests": list(tests.tests),
        "modules": dict(tests.modules),
        "folder": str(tests.folder),
        "roots": list(map(str, tests.roots)),
        "code": list(tests.code),
        "packages": list(map(str, tests.packages)),
        "cpu_seconds": cpu_seconds,
        "token": token,
    }
    ended = await runner.run(_REMOTE_TESTS, stdin=json.dumps(item).encode(), seconds=seconds)
    return _results(ended, token, len(tests.tests))


def _results(ended: Ended, token: str, count: int) -> list[str]:
    first, *lines = ended.stdout.split(b"\n")
    if first != b"ready":
        why = ended.stderr[-500:] or f"it ended with {ended.how}"
        raise EpisodeError(Cause.SANDBOX_FAILED, f"the checker of programs did not start: {why}", stderr=ended.stderr)
    for line in lines:
        try:
            said: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict) and secrets.compare_digest(str(said.get("token")).encode(), token.encode()):
            return [str(reason) for reason in said["results"]]
    return [f"no verdict: the checker ended with {ended.how} after {ended.seconds:.1f} s"] * count
