"""What `mesocosm eval` costs beside the rollout itself: workflows that do nothing, everything recorded."""

import asyncio
import json
import tempfile
import time
from pathlib import Path

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec
from mesocosm.engine import session
from mesocosm.store import open_store
from perf.machine import line

AT_ONCE = 16
BUDGET = 2_000.0
MAIN = """
import os

from mesocosm.rollouts import AgentWorkflow, AgentWorkflowConfig, Grader, LocalBackend, create_rollout_server


class Nothing(AgentWorkflow):
    async def run(self, ctx):
        return [*ctx.prompt, {"role": "assistant", "content": "4"}]


class Right(Grader):
    async def grade(self, ctx):
        ctx.set_reward(1.0)


backend = LocalBackend(workflow=Nothing, grader=Right, workflow_config=AgentWorkflowConfig(name="nothing"))
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    import uvicorn

    port = int(os.environ["_OSMOSIS_ROLLOUT_PORT"])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
"""


def evaluation() -> None:
    """Print rows per second through engine and store, loading the dataset included.

    In worker processes with 1,000, 10,000 and 100,000 rows, and in this process with 1,000.
    """
    costs = {}
    for rows in (1_000, 10_000, 100_000):
        seconds = evaluated(rows, "process")
        costs[rows] = seconds / rows
        line(f"rows of a rollout in worker processes, {rows:,}", rows / seconds, "rows/s", BUDGET)
    print(f"    cost of a row, 100,000 against 1,000: {costs[100_000] / costs[1_000]:.2f}")
    evaluated(10, "in-process")  # imports the SDK and FastAPI
    seconds = evaluated(1_000, "in-process")
    print(f"    in this process: {1_000 / seconds:,.0f} rows/s")


def evaluated(
    rows: int, isolation: str, main: str = MAIN, model: str = "builtin/empty", at_once: int = AT_ONCE
) -> float:
    """Evaluate a rollout, one that does nothing unless `main` is given, and return the seconds that it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rollout").mkdir()
        (folder / "rollout" / "main.py").write_text(main)
        data = folder / "rows.jsonl"
        data.write_text("\n".join(json.dumps({"user_prompt": f"2 + {n}?", "ground_truth": "4"}) for n in range(rows)))
        options = {
            "entrypoint": "main.py",
            "dataset": str(data),
            "everything": True,
            "isolation": isolation,
            "artifacts": str(folder / "artifacts"),
        }
        spec = RunSpec(
            BenchmarkRef("rollout", str(folder / "rollout"), options),
            ModelSettings(model),
            AgentSettings("program", label="rollout"),
            parallel=at_once,
        )
        store = open_store(folder / "results.sqlite")
        started = time.perf_counter()
        run = asyncio.run(session.run(spec, store))
        seconds = time.perf_counter() - started
        assert run.counts.completed == rows, run.counts
        store.close()
        return seconds
