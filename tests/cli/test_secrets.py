"""A secret in the environment appears in nothing that a run prints or writes."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.store import open_store
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

pytestmark = pytest.mark.usefixtures("forked")

CANARIES = {
    "OPENAI_API_KEY": "sk-canary-0123456789abcdefghij",
    "MY_SERVICE_TOKEN": "canary-token-1f6e2b",
    "DATABASE_DSN": "postgresql://someone:canary-dsn-77@db.internal/x",
}
PASSED = "ADAPTER_SECRET"
SINGING = """
import os
from bench_common.env_sdk import BaseEnv, StepResult

print("adapter says", os.environ["ADAPTER_SECRET"], flush=True)

class MyEnv(BaseEnv):
    def reset(self, seed=None, **params):
        assert not any(name in os.environ for name in ("OPENAI_API_KEY", "MY_SERVICE_TOKEN", "DATABASE_DSN"))
        self.seed = seed
        secret = os.environ["ADAPTER_SECRET"]
        return {"seed": seed, "note": "the secret is " + secret, "long": secret * 3000}

    def step(self, action):
        if self.seed == 1:
            raise RuntimeError("lost " + os.environ["ADAPTER_SECRET"])
        info = {"correct": True, "guesses": 1, "said": action, os.environ["ADAPTER_SECRET"]: 1}
        return StepResult({"note": action}, 1.0, True, False, info)
"""


def sung(content: bytes) -> list[str]:
    """Return the canaries that are in some bytes."""
    values = [*CANARIES.values(), "canary-dsn-77", "canary-adapter-99"]
    return [value for value in values if value.encode() in content]


def contents(path: Path) -> bytes:
    """Return the bytes of a file and of what is compressed inside."""
    found = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            found += b"".join(archive.read(name) for name in archive.namelist())
    return found


def written(place: Path, besides: Path) -> list[Path]:
    """Return the files below a directory, but not those of the environment itself."""
    return [path for path in place.rglob("*") if path.is_file() and besides not in path.parents]


@pytest.fixture
async def model() -> Any:
    def parrot(body: dict[str, Any]) -> str:
        return f"I was told {CANARIES['OPENAI_API_KEY']} and {CANARIES['MY_SERVICE_TOKEN']} and canary-adapter-99"

    async with ModelServer(parrot) as server:
        yield server


async def test_planted_secrets_reach_no_output_file_or_database(
    launch: Callable[..., Any],
    model: ModelServer,
    scaffolded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {**CANARIES, PASSED: "canary-adapter-99"}.items():
        monkeypatch.setenv(name, value)
    place = shutil.copytree(scaffolded, tmp_path / "env")
    (place / "env.py").write_text(SINGING)
    results = tmp_path / "results"
    commands: list[tuple[str | Path, ...]] = [
        (
            *("run", "local", "--manifest", place, "--model", f"openai/parrot@{model.openai_url}", "--episodes", "3"),
            *("--pass-env", PASSED),
        ),
        ("run", "list"),
        ("run", "show", "last"),
        ("run", "show", "last", "--json"),
        ("run", "episodes", "last", "--traces"),
        ("run", "episodes", "last", "--traces", "--plain"),
        ("run", "export", "last", "-o", tmp_path / "replay.json"),
        ("export", "last", "-o", tmp_path / "run.zip"),
        ("doctor", "--local"),
    ]
    said = b""
    for words in commands:
        started = await launch(*words, "--results-dir", results)
        ended = await started.end()
        assert ended.code in {0, 1, 3}, ended.err
        said += ended.out.encode() + ended.err.encode()

    assert len(model.calls) >= 2
    assert model.calls[0].header("authorization") == f"Bearer {CANARIES['OPENAI_API_KEY']}"
    assert b"[redacted]" in said
    assert sung(said) == []
    files = written(tmp_path, besides=place)
    assert {path.name for path in files} >= {"orchestrator.sqlite", "replay.json", "run.zip"}
    for path in files:
        assert sung(contents(path)) == [], path
    store = open_store(results)
    run = store.runs.list().items[0]
    chunks = [chunk.raw for episode in store.episodes.list(run.id).items for chunk in store.traces.chunks(episode.id)]
    assert sung(b"".join(chunks)) == []
    assert b"[redacted]" in b"".join(chunks)
    blobs = list(store.blobs.of_run(run.id))
    store.close()
    assert blobs == [] or sung(b"".join(blob.data for blob in blobs)) == []


@pytest.mark.parametrize("flag", ["--name=", "--tag=", "--system-prompt=", "--extra=key=", "--env-url=http://x:"])
def test_a_credential_in_a_setting_is_refused_for_it_would_be_stored(
    mesocosm: "Invoke", scaffolded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARIES["OPENAI_API_KEY"])
    setting = f"{flag}{CANARIES['OPENAI_API_KEY']}{'@127.0.0.1:1' if 'http' in flag else ''}"

    refused = mesocosm(
        "run", "local", "--manifest", scaffolded, "--model", "builtin/random", setting, "--results-dir", tmp_path
    )

    assert refused.code == 2
    assert "a setting of this run holds a credential" in refused.err
    assert sung(refused.err.encode()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_password_in_the_address_of_a_model_is_refused(mesocosm: "Invoke", scaffolded: Path, tmp_path: Path) -> None:
    words = ("--model", "openai/x@http://me:short@127.0.0.1:1/v1", "--results-dir", tmp_path)

    refused = mesocosm("run", "local", "--manifest", scaffolded, *words)

    assert refused.code == 2
    assert "holds a credential" in refused.err
    assert "short" not in refused.err


def test_a_password_of_the_database_is_not_recorded(
    mesocosm: "Invoke", scaffolded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite://me:canary-password@/{tmp_path}/results.sqlite"
    words = ["run", "local", "--manifest", str(scaffolded), "--model", "builtin/random", "--seeds", "1"]
    monkeypatch.setattr("sys.argv", ["mesocosm", *words, "--database-url", url])

    assert mesocosm(*words, "--database-url", url).code == 0

    shown = mesocosm("run", "show", "last", "--json", "--database-url", url)
    assert shown.document["run"]["provenance"]["command"][-1] == "[redacted]"
    assert b"canary-password" not in (tmp_path / "results.sqlite").read_bytes()


def test_the_canary_would_be_heard(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", CANARIES["OPENAI_API_KEY"] * 10)

    assert sung(contents(tmp_path / "x.zip")) == [CANARIES["OPENAI_API_KEY"]]
