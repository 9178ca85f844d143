"""Scan a run on this machine: the work of asking a model about its episodes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mesocosm.api.experiments import Arguments, chosen_model
from mesocosm.api.running import Work
from mesocosm.core.model import ModelName
from mesocosm.core.ports import Parts
from mesocosm.core.registry import MODELS
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, Selection
from mesocosm.core.scan_question import SCAN, ScanQuestion
from mesocosm.core.task import Task
from mesocosm.engine.scan_benchmark import ScanAgent, ScanBenchmark, answers_of
from mesocosm.engine.scanning import SCAN_OF, check_name
from mesocosm.interop.scan_episodes import transcript

if TYPE_CHECKING:
    from mesocosm.store import Store


def scan_work(
    store: "Store", run: Run, question: ScanQuestion, tasks: Sequence[Task], given: Arguments, most: int
) -> Work:
    """Return the work of asking a model about the episodes in `tasks`. Raises UsageError if that cannot be done."""
    question.check()
    model = given.model_settings(chosen_model(given))
    check_name(run, question, ModelName.parse(model.name).shown())
    options = {
        "name": question.name,
        "question": question.text,
        "answers": list(question.words) or "0 to 1",
    }
    spec = given.spec(BenchmarkRef(SCAN, run.id, options), model, AgentSettings(SCAN), selection=Selection())
    benchmark = ScanBenchmark(run, question, tasks, most)
    agent = ScanAgent(question, lambda episode_id: transcript(store, episode_id), most)

    def parts(spec: RunSpec) -> Parts:
        return Parts(benchmark, MODELS.get("*")(spec.model), agent)

    def answers(content: str) -> str:
        return answers_of(question, run.id, model.identity(content), most)

    return Work(spec, parts, answers=answers, facts={SCAN_OF: run.id})
