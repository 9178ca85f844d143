"""The older platform's published client, installed by its name into a virtual environment of its own."""

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RELEASE = "swecc-mesocosm==0.2.15"
NEEDED = ("typer", "click", "shellingham")
"""What its program imports and we do not have. Its other requirements (Django, a database driver) are for servers."""
SECONDS = 120.0


FORKING = """
import json, os, sys
import anyio._backends._asyncio, fastapi, httpx, pydantic_settings, rich.console, rich.syntax, typer, uvicorn

for line in sys.stdin:
    told = json.loads(line)
    if not (child := os.fork()):
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.setsid()
for number, mode in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
    os.dup2(os.open(told["files"][number], mode), number)
os.environ.clear()
os.environ.update(told["variables"])
os.chdir(told["cwd"])
sys.argv = told["words"]
sys.stdin = open(0, closefd=False)
from swecc_mesocosm.cli import main
sys.exit(main())
"""
"""Runs the program in a fork of its own for each command.

What it imports of others takes most of a command's time and is there already; its own modules, which read variables
when they are imported, are not.
"""


class Unavailable(Exception):
    """The release cannot be had here."""


@dataclass(frozen=True)
class Done:
    """A command that is over."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything that it said, for messages."""
        return f"exit {self.code}\n{self.out}\n{self.err}"


class Forking:
    """A process of the client's Python that forks for each command."""

    def __init__(self, folder: Path) -> None:
        self._files = [folder / name for name in ("stdin", "stdout", "stderr")]
        self._program = str(folder / "bin" / "mesocosm")
        self._process = subprocess.Popen(
            [str(folder / "bin" / "python"), "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, words: Sequence[str], stdin: str, cwd: Path, variables: Mapping[str, str]) -> Done:
        """Run one command, without a terminal: it reads the password from its input then."""
        for file, text in zip(self._files, (stdin, "", ""), strict=True):
            file.write_text(text)
        told = {
            "words": [self._program, *words],
            "files": [str(file) for file in self._files],
            "cwd": str(cwd),
            "variables": dict(variables),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(told)}\n")
        self._process.stdin.flush()
        code = self._process.stdout.readline()
        assert code, "the process that forks has ended"
        return Done(int(code), self._files[1].read_text(), self._files[2].read_text())

    def end(self) -> None:
        """End the process."""
        self._process.communicate(timeout=SECONDS)


class PublishedClient:
    """The published program in front of one platform, which it knows by variables only."""

    def __init__(self, folder: Path, home: Path, forking: Forking, variables: Mapping[str, str]) -> None:
        self._python = folder / "bin" / "python"
        self._forking = forking
        self.home = home
        self._variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "COLUMNS": "200",
            "TERM": "dumb",
            "SWECC_BENCH_CREDENTIALS": str(home / "credentials.json"),
            **variables,
        }

    def run(self, *words: str, stdin: str = "", cwd: Path | None = None, **variables: str) -> Done:
        """Run one command without a terminal."""
        return self._forking.run(words, stdin, cwd or self.home, {**self._variables, **variables})

    def script(self, source: str, **variables: str) -> Done:
        """Run a Python program that imports the published packages."""
        done = subprocess.run(
            [str(self._python), "-c", source],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=self.home,
            env={**self._variables, **variables},
            check=False,
            start_new_session=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def install(folder: Path) -> None:
    """Install the release into a new virtual environment, beside what ours has. Raises Unavailable with pip's words."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=SECONDS)
    python = folder / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=SECONDS).stdout.strip()
    # A path file that is found through another one counts for nothing: our own packages stay out.
    Path(packages, "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--no-deps", RELEASE, *NEEDED], capture_output=True, text=True, timeout=2 * SECONDS, check=False
    )
    if done.returncode:
        raise Unavailable(done.stderr[-2000:])


def until(true: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait for something that another process brings about."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.2)
