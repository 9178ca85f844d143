"""Let a model judge the answers of two runs against each other, on this machine."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mesocosm.api.experiments import Arguments, chosen_model
from mesocosm.api.running import Work
from mesocosm.core.episode import SCOREABLE, Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.one_line import question_line
from mesocosm.core.pair_question import PAIR, PAIRWISE, PairQuestion
from mesocosm.core.ports import Benchmark, Parts
from mesocosm.core.registry import MODELS
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, Selection
from mesocosm.core.task import Task
from mesocosm.engine.pair_benchmark import PairAgent, PairBenchmark
from mesocosm.interop.scan_episodes import transcript

if TYPE_CHECKING:
    from mesocosm.store import Store

PAIR_OF = "pair_of"
"""Key in the provenance of a run: the two runs that it compares."""
_ANSWERS = ("reply", "action", "call")


def pairs_of(store: "Store", runs: tuple[Run, Run], limit: int | None) -> list[Task]:
    """Return a task for each task and trial that both runs played to an end, in plan order of the second, at most
    `limit`. Raises UsageError if there is none.
    """
    earlier = {(one.task_digest, one.trial): one.id for one in _played(store, runs[0])}
    found: list[Task] = []
    for episode in _played(store, runs[1]):
        other = earlier.get((episode.task_digest, episode.trial))
        if other is not None and (limit is None or len(found) < limit):
            found.append(_task(episode, other))
    if not found:
        raise UsageError(f"runs {runs[0].id} and {runs[1].id} have no task in common that both have played to an end")
    return found


def _played(store: "Store", run: Run) -> Iterator[Episode]:
    cursor: str | None = None
    while True:
        page = store.episodes.list(run.id, cursor=cursor)
        yield from (episode for episode in page.items if episode.status in SCOREABLE)
        cursor = page.cursor
        if cursor is None:
            return


def _task(episode: Episode, other: str) -> Task:
    trial = f" trial {episode.trial + 1}" if episode.trial else ""
    asked = question_line(episode.input)
    return Task(
        f"{episode.task_id}{trial}",
        input={PAIR: [other, episode.id], **({"question": asked} if asked else {})},
        cluster=episode.cluster or episode.task_digest,
    )


def answers_of(store: "Store", one: str, other: str) -> tuple[str, str, str]:
    """Return the task of two episodes, and what each was answered last."""
    asked = [passage.text for passage in transcript(store, other) if passage.said == "question"]
    return "\n\n".join(asked), _answer(store, one), _answer(store, other)


def _answer(store: "Store", episode_id: str) -> str:
    said = transcript(store, episode_id)
    for kind in _ANSWERS:
        if found := [passage.text for passage in said if passage.said == kind]:
            return found[-1]
    return ""


def pair_work(
    store: "Store", runs: tuple[Run, Run], question: PairQuestion, tasks: Sequence[Task], given: Arguments, most: int
) -> Work:
    """Return the work of asking a model about `tasks`. Raises UsageError if that cannot be done."""
    question.check()
    model = given.model_settings(chosen_model(given))
    options = {"rubric": question.rubric, "runs": [run.id for run in runs]}
    spec = given.spec(
        BenchmarkRef(PAIRWISE, runs[1].id, options), model, AgentSettings(PAIRWISE), selection=Selection()
    )
    benchmark = PairBenchmark(runs, question, tasks, most)
    agent = PairAgent(question, lambda one, other: answers_of(store, one, other), most)

    def parts(spec: RunSpec) -> Parts:
        return Parts(benchmark, MODELS.get("*")(spec.model), agent)

    def answers(content: str) -> str:
        return digest([question.digest, *(run.id for run in runs), model.identity(content), most])

    return Work(spec, parts, answers=answers, facts={PAIR_OF: [run.id for run in runs]})


def open_pairs(ref: BenchmarkRef) -> Benchmark:
    """Refuse to open a comparison by a stored reference: which pairs it has is chosen by the command."""
    first, second = [*map(str, ref.options.get("runs", ("A", "B")))][:2]
    raise UsageError(
        "answers are compared by their command, which asks only what is pending: mesocosm pairwise "
        f"{first} {second} --rubric …"
    )
