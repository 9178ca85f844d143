"""The older platform's published client, installed by its name into a virtual environment of its own."""

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

RELEASE = "swecc-mesocosm==0.2.15"
NEEDED = ("typer", "click", "shellingham")
"""What its program imports and we do not have. Its other requirements (Django, a database driver) are for servers."""
SECONDS = 120.0


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


class PublishedClient:
    """The published program in front of one platform, which it knows by variables only."""

    def __init__(self, folder: Path, home: Path, variables: Mapping[str, str]) -> None:
        self.python = folder / "bin" / "python"
        self._program = folder / "bin" / "mesocosm"
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
        return self._run([str(self._program), *words], stdin, cwd, variables)

    def script(self, source: str, **variables: str) -> Done:
        """Run a Python program that imports the published packages."""
        return self._run([str(self.python), "-c", source], "", None, variables)

    def _run(self, command: list[str], stdin: str, cwd: Path | None, variables: Mapping[str, str]) -> Done:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=cwd or self.home,
            env={**self._variables, **variables},
            check=False,
            # Without a terminal of its own it reads the password from its input.
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
