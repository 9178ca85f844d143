"""The benchmark `humaneval`."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from mesocosm.benchmarks.builtin.humaneval.extraction import programs
from mesocosm.benchmarks.dataset import HubDataset, read_rows
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.benchmarks.question import ANSWER
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Incompatible
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.core.turn import read_answer
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.functions import Submission, check
from mesocosm.sandboxes.program_limits import MIB
from mesocosm.sandboxes.programs import SMALL, Programs

REPOSITORY = "openai/openai_humaneval"
FILES = ("openai_humaneval/test-00000-of-00001.parquet",)
NAMES = ("HumanEval.jsonl.gz", "HumanEval.jsonl", *FILES)
WALL_FACTOR = 4
"""Wall-clock limit as a multiple of the CPU limit, plus `WALL_SPARE` seconds: other processes share the CPU."""
WALL_SPARE = 10.0
UNSAFE = "unsafe"

_ASK = """Complete this Python function. Reply with one ```python block that holds the whole function, with the \
imports and helper functions that it needs, and nothing after the block.

```python
{prompt}
```"""


class HumanEval(NativeBenchmark):
    """One function per task; its tests run in a sandbox, in a separate process."""

    def load(self) -> LoadedTasks:
        """Return the problems in order. Raises UsageError, InvalidInput, Incompatible."""
        setup = self.setup
        hub = HubDataset(REPOSITORY, str(self.parameters["revision"]), FILES)
        found = read_rows(self.descriptor.id, setup.path("data_path"), hub, NAMES)
        names = ("task_id", "prompt", "entry_point", "canonical_solution", "test")
        rows = ({name: found.text(place, name) for name in names} for place in range(len(found.rows)))
        tasks = [
            Task(
                row["task_id"],
                input=row["prompt"],
                target={name: row[name] for name in ("entry_point", "canonical_solution", "test")},
            )
            for row in rows
        ]
        return LoadedTasks(tasks, found.content)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Load the tasks. Raises Incompatible if programs cannot be confined, unless `sandbox` is `unsafe`."""
        if self.parameters["sandbox"] == UNSAFE:
            notice("humaneval: programs written by the model run without isolation (parameter sandbox = unsafe)")
        elif not (works := available()):
            reason = f"it runs programs that a model wrote, and {works.reason}; or take the risk with sandbox = unsafe"
            raise Incompatible(self.descriptor.id, [reason])
        await super().open(notice)

    def shown(self, task: Task) -> str:
        """Return the request with the function's signature and description."""
        return _ASK.format(prompt=str(task.input).rstrip())

    def best(self, task: Task) -> str:
        """Return the published solution."""
        return str(task.target["canonical_solution"])

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return 1 for a function that passes its tests, else 0. Raises EpisodeError if it could not be run."""
        answer = read_answer(episode.terminal_info.get(ANSWER)).text
        found = programs(str(task.input), task.target["entry_point"], answer)
        if not found:
            reason = "the answer holds no code"
            solution = task.target["canonical_solution"]
            return [Score(self.descriptor.score.field, 0.0, explanation=reason, expected=solution, mistake="No code")]
        name, test = task.target["entry_point"], task.target["test"]
        # The prompt's helper functions are trusted: the tests use them.
        submission = Submission(found, [{"code": f"{test}\n\ncheck({name})\n"}], [name], setup=str(task.input))
        (reason,) = await check(submission, self._runner(), cpu_seconds=self._cpu_seconds, seconds=self._wall_seconds)
        solution, written = task.target["canonical_solution"], found[0].removeprefix(str(task.input)).strip("\n")
        field = self.descriptor.score.field
        if not reason:
            return [Score(field, 1.0, answer=written, expected=solution)]
        return [Score(field, 0.0, explanation=reason, answer=written, expected=solution, mistake=_kind(reason))]

    @property
    def _cpu_seconds(self) -> int:
        return max(1, math.ceil(float(self.parameters["timeout_s"])))

    @property
    def _wall_seconds(self) -> float:
        return WALL_FACTOR * float(self.parameters["timeout_s"]) + WALL_SPARE

    @cached_property
    def _runners(self) -> dict[asyncio.AbstractEventLoop, Programs]:
        return {}

    def _runner(self) -> Programs:
        """Return the runner of this event loop; its semaphore cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        if loop not in self._runners:
            memory = int(self.parameters["memory_mb"]) * MIB
            allowance = replace(SMALL, cpu_seconds=2 * self._cpu_seconds + 5, memory_bytes=memory)
            self._runners[loop] = Programs(allowance, unsafe=self.parameters["sandbox"] == UNSAFE)
        return self._runners[loop]


def _kind(reason: str) -> str:
    """Return the kind of a failure: a test that fails, the type of an exception, or the reason itself."""
    if reason.startswith("a test fails"):
        return "A test fails"
    if reason.startswith("the program was ended by signal"):
        return "The program was ended by a signal"
    name = reason.partition(":")[0]
    return f"Raises {name}" if name.isidentifier() else reason[:1].upper() + reason[1:]


open_benchmark = HumanEval
