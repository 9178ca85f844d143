"""What the published runner of rollouts cannot do without: a server to log in to, an environment for its rollout."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.osmosis import conftest as journey

from perf.peers.installing import PYTHON, REQUIREMENTS, Unavailable

PATIENCE_S = 600


class Platform:
    """A server of ours with one workspace; it only says who is logged in, and plays nothing."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory()
        place = Path(self._place.name)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESOCOSM_", "OSMOSIS_"))}
        self._log = (place / "server.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mesocosm", "serve", "--json", "--port", "0", "--login-port", "0"],
            cwd=place,
            env={**kept, "MESOCOSM_LOCAL_GIT": "true"},
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        try:
            begun = journey.started(self._process)
            login = {"username": "admin", "password": begun["first_admin"]["password"], "refresh": True}
            self.url: str = begun["url"]
            session = journey.request(self.url, "POST", "/api/auth/login", login)["token"]
            wanted = {"name": "peers", "scope": "write"}
            self._token: str = journey.request(self.url, "POST", "/api/tokens", wanted, session)["token"]
            journey.connect(_Connected(self.url, session), place / "acme" / "evals.git")  # type: ignore[arg-type]
        except BaseException:
            self.close()
            raise

    def variables(self) -> dict[str, str]:
        """Return what the program needs to be logged in."""
        ours = {"OSMOSIS_PLATFORM_URL": self.url, "OSMOSIS_TOKEN_PLATFORM_URL": self.url}
        return {**ours, "OSMOSIS_TOKEN": self._token, "OSMOSIS_TOKEN_STORE": "file"}

    def adopt(self, folder: Path) -> None:
        """Make a folder the clone of the workspace's repository that the program wants to be called in."""
        journey.git(folder, "init", "-q")
        journey.git(folder, "add", "-A")
        journey.git(folder, "commit", "-q", "-m", "The rollout")
        journey.git(folder, "remote", "add", "origin", f"https://github.com/{journey.REPOSITORY}.git")

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait(journey.PATIENCE)
        self._log.close()
        self._place.cleanup()


class _Connected:
    """As much of a server of the tests as connecting a repository needs."""

    def __init__(self, url: str, session: str) -> None:
        self._url, self._session = url, session

    def request(self, method: str, path: str, body: Any = None) -> Any:
        return journey.request(self._url, method, path, body, self._session)


def declare(venv: Path, project: Path) -> dict[str, str]:
    """Make a rollout require the versions of the list, and lock them; return the variables that name its environment.

    The environment is kept beside `venv`, so that only the first round installs it.
    """
    pins = [line for line in (REQUIREMENTS / "osmosis.txt").read_text().splitlines() if "==" in line]
    listed = "".join(f'    "{pin}",\n' for pin in pins)
    file = project / "pyproject.toml"
    text = file.read_text().replace("dependencies = []", f"dependencies = [\n{listed}]")
    file.write_text(text.replace(">=3.11", f">={PYTHON}"))
    lock, used = venv.parent / "uv.lock", {"UV_PROJECT_ENVIRONMENT": str(venv.parent / "rollout-venv")}
    if lock.is_file():
        shutil.copy(lock, project / "uv.lock")
    command = [str(venv / "bin" / "uv"), "sync", "--project", str(project), "--python", str(venv / "bin" / "python")]
    done = subprocess.run(
        command, env={**os.environ, **used}, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode:
        raise Unavailable(f"the environment of its rollout cannot be made: {done.stderr.strip().splitlines()[-1]}")
    shutil.copy(project / "uv.lock", lock)
    return used
