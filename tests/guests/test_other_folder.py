"""Runs of files that were begun in one folder and go on in another."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.guests.conftest import HERE

import mesocosm as mc
from mesocosm.interop.record import run_document
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.store import open_store
from mesocosm.testing.model_server import ModelServer

GUESTS = "MESOCOSM_TEST_GUESTS"
KILLED_AFTER = 3
SCRIPT = """
import json, os, signal, sys
import mesocosm as mc
ended = []
def kill(episode):
    ended.append(episode)
    if len(ended) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
run = mc.evaluate(**json.loads(sys.argv[1]), parallel=1, on_episode=kill, progress=False)
print(run.id, run.status)
"""


@dataclass
class FileSource:
    """A source below a folder: the files that it needs, what names it, its parameters, the calls of all its tasks."""

    files: Path
    name: str
    calls: int
    guest: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    def named(self, place: str) -> str:
        """Return the source with its files below another path."""
        return self.name.format(place)


SOURCES = {
    "harbor": FileSource(HERE.parent / "benchmarks/harbor/tasks", "harbor:{}", 10, params={"engine": "bubblewrap"}),
    "inspect": FileSource(HERE / "inspect_parts", "inspect:{}/tasks.py@sums", 6, "inspect", {"tools": False}),
    "lm-eval": FileSource(HERE / "recordings/lm-eval/tasks", "lm-eval:{}/lm_generate.yaml", 6, "lmeval"),
    "verifiers": FileSource(HERE / "sources", "verifiers:{}/sums_v1.py,harness=null", 8, "verifiers"),
    "openenv": FileSource(
        HERE.parent / "environments/openenv/counting_env", "openenv:{}", 20, "openenv", {"max_steps": 1}
    ),
}


@pytest.fixture(params=sorted(SOURCES))
def source(request: pytest.FixtureRequest, tmp_path: Path) -> FileSource:
    """A source whose files are in `begun/files`."""
    found = SOURCES[request.param]
    if request.param == "harbor" and not available():
        pytest.skip("there is no bubblewrap")
    params = dict(found.params)
    if found.guest:
        python = Path(os.environ.get(GUESTS, "")) / found.guest / "bin" / "python"
        if not os.environ.get(GUESTS) or not python.exists():
            pytest.skip(f"set {GUESTS} to a folder with {found.guest}/bin/python")
        params["python"] = str(python)
    shutil.copytree(found.files, tmp_path / "begun" / "files")
    (tmp_path / "other").mkdir()
    return FileSource(found.files, found.name, found.calls, found.guest, params)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(lambda body: "1", models=["adder"]) as running:
        yield running


async def program(folder: Path, *words: str) -> tuple[int, str]:
    """Run Python in a folder; return its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_a_killed_run_goes_on_in_another_folder_and_asks_nothing_again(
    source: FileSource, model: str, server: ModelServer, tmp_path: Path
) -> None:
    begun, other = tmp_path / "begun" / "files", tmp_path / "other"
    call = {"what": source.named("."), "model": model, "params": source.params}
    code, said = await program(begun, "-c", SCRIPT, json.dumps(call), str(KILLED_AFTER))
    assert code == -signal.SIGKILL, said
    asked, (killed,) = server.served, mc.runs()
    finished = [episode for episode in killed.episodes() if episode.score is not None]
    recorded = sum(event.kind == "model_call" for episode in finished for event in episode.events)
    assert 0 < recorded < source.calls

    code, said = await program(other, "-m", "mesocosm", "run", "resume", "last")
    assert "no such" not in said
    resumed = mc.get_run("last")
    assert resumed.status == "finished", said
    # What was in flight, or not recorded yet, when the process was killed is asked again, and nothing else.
    assert server.served - asked == source.calls - recorded

    served = server.served
    for place in (str(begun), "../files", f"{begun}/../files/."):
        again = await program(begun, "-c", SCRIPT, json.dumps({**call, "what": source.named(place)}), "-1")
        assert again == (0, f"{resumed.id} finished\n")
    assert server.served == served


async def test_nothing_that_is_shown_or_given_away_names_the_folder(
    source: FileSource, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "begun" / "files")
    run = await mc.aevaluate(source.named("."), model=model, params=source.params, limit=1, progress=False)
    with closing(open_store(tmp_path / "results")) as store:
        record = store.runs.get(run.id)
    shown = [record.title, record.benchmark_title, json.dumps(run_document(record)), json.dumps(record.info)]
    assert not [text for text in shown if str(tmp_path) in text]
    code, said = await program(tmp_path, "-m", "mesocosm", "run", "export", "last", "-o", "bundle.zip")
    assert code == 0, said
    code, said = await program(tmp_path, "-m", "zipfile", "-e", "bundle.zip", "unpacked")
    found = [path for path in (tmp_path / "unpacked").rglob("*") if path.is_file()]
    assert found
    assert not [path.name for path in found if str(tmp_path).encode() in path.read_bytes()]
