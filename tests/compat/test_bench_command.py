"""`python -m bench_common.inference`, as a program."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_common.env_sdk.registration import DomainConfig
from mesocosm.sandboxes.port import free_port

pytestmark = pytest.mark.usefixtures("forked")


async def program(place: Path, *arguments: str, module: str = "bench_common.inference") -> tuple[int, str, str]:
    """Run the program and return exit code, stdout, stderr."""
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", module, *arguments],
        cwd=place,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.fixture
def manifest(place: Path, domain: DomainConfig) -> Path:
    document = domain.model_dump(mode="json", include={"id", "name", "binding_vow", "scoring"}, exclude_none=True)
    path = place / "benchanything.json"
    path.write_text(json.dumps({**document, "adapter": "adapter.py"}))
    (place / "adapter.py").touch()
    return path


@pytest.mark.parametrize("module", ["bench_common.inference", "bench_common.inference.bench"])
async def test_episodes_run_and_the_box_is_printed(ferry: Any, place: Path, manifest: Path, module: str) -> None:
    flags = ["--model", "builtin/random", "--manifest", str(manifest), "--env-url", ferry.url, "--seeds", "4", "9"]
    code, out, err = await program(place, *flags, module=module)
    assert (code, err) == (0, "")
    assert "[2/2] seed=9 reward=1.00  steps=2" in out
    assert "| docked       1.0000                  |" in out
    assert ferry.seeds == [4, 9]


async def test_a_run_without_a_score_is_a_failure(ferry: Any, place: Path, manifest: Path) -> None:
    flags = [
        "--model",
        "builtin/random",
        "--manifest",
        str(manifest),
        "--env-url",
        ferry.url,
        "--seeds",
        "13",
        "--quiet",
    ]
    code, out, err = await program(place, *flags)
    assert (code, err) == (1, "")
    assert "failed       1" in out


async def test_what_keeps_a_run_from_starting_is_one_line(place: Path, manifest: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    code, out, err = await program(place, "--model", "builtin/random", "--manifest", str(manifest), "--env-url", url)
    assert (code, out) == (1, "")
    assert err.startswith("error: no environment answers")
    assert "Traceback" not in err
    code, _, err = await program(place, "--model", "builtin/random")
    assert (code, err.splitlines()[0][:27]) == (2, "error: name the environment")
    code, _, err = await program(place, "--model", "openai/gpt-4o-mini", "--manifest", str(manifest))
    assert (code, "allow_any_model" in err) == (1, True)
