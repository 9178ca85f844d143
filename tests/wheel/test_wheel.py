"""The wheel that is made from the sdist, as people install it: in new environments, with pip, pipx and uvx.

It downloads what the wheel asks for: make test-wheel.
"""

import os
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

SDISTS = "MESOCOSM_TEST_WHEEL"
"""The variable that names the directory with the sdist."""

pytestmark = pytest.mark.skipif(not os.environ.get(SDISTS), reason="run by make test-wheel")

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PATIENCE = 300.0
"""Seconds until a test gives up waiting for a command."""


def said(*command: str | Path, home: Path, path: str = os.environ["PATH"]) -> str:
    """Return what a command prints in the directory `home`."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("MESOCOSM", "PYTHON"))}
    environment |= {"PATH": path, "PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": str(home / "bin")}
    done = subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def python_of(version: str) -> str:
    """Return the interpreter of a version, from pyenv or the search path; skip the test where there is none."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    python = str(found[-1]) if found else shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"there is no Python {version}")
    return python


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from the sdist where there is no Node."""
    (sdist,) = Path(os.environ[SDISTS]).glob("*.tar.gz")
    place = tmp_path_factory.mktemp("wheel")
    (place / "no-node").mkdir()
    python = python_of("3.11")
    said(python, "-m", "venv", place / "venv", home=place)
    said(
        *(place / "venv" / "bin" / "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, sdist),
        home=place,
        path=str(place / "no-node"),
    )
    (made,) = place.glob("*.whl")
    return made


def assert_a_score(printed: str) -> None:
    assert "builtin/oracle  solve_rate    1.0000  [0.8389, 1.0000]  20/20" in printed


def assert_a_page(program: Path, home: Path) -> None:
    """Check that `mesocosm view` shows the app with the runs of `home`."""
    command: list[str | Path] = [program, "view", "--no-open", "--port", "0"]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            assert viewer.stdout is not None
            url = next(line.strip() for line in viewer.stdout if "http://" in line)
            page, licences, runs = (fetched(f"{url}/{path}") for path in ("", "licences.txt", "api/runs"))
        finally:
            viewer.terminate()
    assert '<script type="module"' in page
    assert "react" in licences
    assert "builtin/random" in runs
    assert "builtin/oracle" in runs


def fetched(url: str) -> str:
    request = urllib.request.Request(url, headers={"Accept": "text/html, application/json, text/plain"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        body: bytes = answer.read()
    return body.decode()


@pytest.mark.parametrize("version", VERSIONS)
def test_pip_installs_it_and_it_gives_a_score_and_a_page(version: str, wheel: Path, tmp_path: Path) -> None:
    said(python_of(version), "-m", "venv", "venv", home=tmp_path)
    said("venv/bin/pip", "install", "--quiet", wheel, home=tmp_path)
    said("venv/bin/pip", "check", home=tmp_path)
    program = tmp_path / "venv" / "bin" / "mesocosm"
    assert_a_score(said(program, "demo", "--no-view", "--quiet", home=tmp_path))
    assert_a_page(program, tmp_path)


def test_uvx_runs_it(wheel: Path, tmp_path: Path) -> None:
    python = python_of("3.13")
    command = ("uvx", "--python", python, "--from", wheel, "mesocosm", "demo", "--no-view", "--quiet")
    assert_a_score(said(*command, home=tmp_path))


def test_pipx_installs_it(wheel: Path, tmp_path: Path) -> None:
    said("pipx", "install", "--python", python_of("3.13"), wheel, home=tmp_path)
    assert_a_score(said(tmp_path / "bin" / "mesocosm", "demo", "--no-view", "--quiet", home=tmp_path))
