"""An evaluation is killed in the middle and the same command repeated: only what is owed runs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.episode import FINISHED
from mesocosm.interop.replay import all_episodes
from mesocosm.store import open_store

ROWS = 40
KILLS = 3
PATIENCE = 240.0
MAIN = """
import asyncio
from mesocosm.rollouts import AgentWorkflow, Grader, LocalBackend


class Note(AgentWorkflow):
    async def run(self, ctx):
        await asyncio.sleep(0.02)
        with open(ctx.metadata["notes"], "a") as notes:
            notes.write(ctx.prompt[0]["content"] + "\\n")
        return [*ctx.prompt, {"role": "assistant", "content": "done"}]


class Length(Grader):
    async def grade(self, ctx):
        ctx.set_reward(len(ctx.sample.messages[0]["content"]) / 10)


backend = LocalBackend(workflow=Note, grader=Length)
"""
CONFIG = """
[experiment]
rollout = "noting"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "rows"
[evaluation]
limit = "all"
batch_size = 4
"""


class Evaluation:
    """A workspace, and the command that evaluates its rollout."""

    def __init__(self, root: Path, *more: str) -> None:
        self.root = root
        self.notes = root / "notes"
        self.notes.touch()
        for folder in ("rollouts/noting", "configs/eval", "data"):
            (root / folder).mkdir(parents=True)
        (root / "rollouts/noting/main.py").write_text(MAIN)
        (root / "configs/eval/noting.toml").write_text(CONFIG)
        rows = ({"user_prompt": f"row {n}", "ground_truth": "x", "notes": str(self.notes)} for n in range(ROWS))
        (root / "data/rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
        program = [sys.executable, "-m", "mesocosm", "eval", "run-local", "configs/eval/noting.toml"]
        self.command = [*program, "--json", "--quiet", "--no-view", *more]

    def start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(self.command, cwd=self.root, stdout=pipe, stderr=pipe, text=True)

    def played(self) -> Counter[str]:
        return Counter(self.notes.read_text().splitlines())

    def finished(self) -> set[str]:
        place = self.root / "benchmark_results" / "orchestrator.sqlite"
        if not place.exists():
            return set()
        store = open_store(place)
        try:
            found = store.list_runs().items
            done = [one for run in found for one in all_episodes(store, run.id) if one.status in FINISHED]
            return {f"row {one.task_id}" for one in done}
        finally:
            store.close()

    def verified(self) -> list[tuple[int, int]]:
        """Compare the runs with their checksums; return the finished episodes of each, and the covered."""
        store = open_store(self.root / "benchmark_results" / "orchestrator.sqlite")
        try:
            found = [store.verify_run(run_id) for run_id in store.run_ids()]
            assert [one.damages for one in found] == [()] * len(found)
            return [(one.finished, one.covered) for one in found]
        finally:
            store.close()

    def kill_after(self, rows: int) -> None:
        """Kill the runner once so many rows were played since it started."""
        before = self.played().total()
        process = self.start()
        end = time.monotonic() + PATIENCE
        while self.played().total() < before + rows:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()

    def whole(self) -> dict[str, Any]:
        """Run the command to its end and return its document."""
        out, err = self.start().communicate(timeout=PATIENCE)
        assert out, err
        found = json.loads(out)["data"]
        assert isinstance(found, dict)
        return found


@pytest.mark.parametrize("more", [("--in-process",), ()], ids=["in-process", "process"])
def test_what_is_finished_is_never_run_again(tmp_path: Path, more: tuple[str, ...]) -> None:
    evaluation = Evaluation(tmp_path, *more)
    kept: dict[str, int] = {}
    for _ in range(KILLS):
        evaluation.kill_after(8)
        played = evaluation.played()
        assert {row: played[row] for row in kept} == kept, "a finished row was played again"
        kept = {row: played[row] for row in evaluation.finished()}
    found = evaluation.whole()
    played = evaluation.played()
    assert {row: played[row] for row in kept} == kept
    assert set(played) == {f"row {n}" for n in range(ROWS)}
    assert found["summary"]["progress"] == {"completed": ROWS, "total": ROWS, "unit": "samples"}
    assert found["summary"]["avg_reward"] == pytest.approx((10 * 0.5 + 30 * 0.6) / ROWS)
    assert evaluation.verified() == [(ROWS, ROWS)]


def test_the_same_command_on_a_finished_run_runs_nothing(tmp_path: Path) -> None:
    evaluation = Evaluation(tmp_path, "--in-process")
    first = evaluation.whole()
    played = evaluation.played()
    second = evaluation.whole()
    assert evaluation.played() == played
    assert second["eval_run"]["id"] == first["eval_run"]["id"]
