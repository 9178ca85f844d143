"""Scan a run: which episodes are read, what that may cost, and the work of asking a model about each."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mesocosm.api.experiments import Arguments, chosen_model
from mesocosm.api.running import Work
from mesocosm.api.scan_benchmark import ScanAgent, ScanBenchmark
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.one_line import question_line
from mesocosm.core.ports import Parts
from mesocosm.core.registry import MODELS
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, Selection
from mesocosm.core.task import Task
from mesocosm.engine.scan_question import SCAN, ScanQuestion, TranscriptPassage, passages_of
from mesocosm.engine.scanning import EPISODE, check_name

if TYPE_CHECKING:
    from mesocosm.store import Store
    from mesocosm.store.filters import EpisodeFilter

CHARACTERS = 100_000
"""Most characters of a transcript that a model is sent, some 25,000 tokens."""
SCAN_OF = "scan_of"
"""Key in the provenance of a scan: the run that it reads."""
PER_TOKEN = 4
"""Characters of a token, roughly; estimates say that they are about."""
ASKED, SAID = 350, 150
"""Tokens of the question and of a reply, for estimates."""
COUNTED = 200
"""Most transcripts that are read for an estimate."""
_WORDS = {"wrong": "fail", "passed": "pass", "missing": "missing"}
_FIELDS = frozenset(("mistake", "behaviour", "text"))


@dataclass(frozen=True, slots=True)
class ScanEstimate:
    """What a scan may read and write, in tokens, and cost, in USD; the cost is None if the price is not known."""

    episodes: int
    prompt: int
    completion: int
    cost_usd: float | None


def slug(question: str) -> str:
    """Return a name for a question: its first words."""
    words = re.findall(r"\w+", question.casefold())
    return "-".join(words[:6])[:40].strip("-")


def read_where(conditions: Iterable[str]) -> "EpisodeFilter":
    """Return the filter that conditions mean: `wrong`, `passed`, `failed`, `missing`, or NAME=VALUE.

    NAME is cause, mistake, behaviour, text, or a label. Raises UsageError.
    """
    from mesocosm.store.filters import EpisodeFilter

    found: dict[str, Any] = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        if not equals and name in _WORDS:
            found["outcome"] = _WORDS[name]
        elif not equals and name == "failed":
            found["statuses"] = (EpisodeStatus.FAILED,)
        elif not equals or not name or not value:
            raise UsageError(
                f"--where {condition!r} is not understood; write wrong, passed, failed, missing, or NAME=VALUE with a "
                "label or one of cause, mistake, behaviour, text"
            )
        elif name == "cause":
            found["causes"] = (*found.get("causes", ()), value)
        elif name in _FIELDS:
            found[name] = value
        elif "label" in found:
            raise UsageError(f"--where names two labels, {found['label']} and {condition}; it takes one")
        else:
            found["label"] = condition
    return EpisodeFilter(**found)


def episodes_to_scan(store: "Store", run: Run, where: Sequence[str], limit: int | None) -> list[Episode]:
    """Return the first `limit` finished episodes of a run that match, in plan order. Raises UsageError without any."""
    wanted = read_where(where)
    found: list[Episode] = []
    cursor: str | None = None
    while limit is None or len(found) < limit:
        page = store.episodes.search(run.id, wanted, cursor=cursor)
        found += (episode for episode in page.items if episode.status in FINISHED)
        cursor = page.cursor
        if cursor is None:
            break
    if not found:
        which = f" matches {' '.join(where)}" if where else " is finished"
        raise UsageError(f"no episode of run {run.id}{which}, so there is nothing to scan")
    return found[:limit]


def transcript(store: "Store", episode_id: str) -> list[TranscriptPassage]:
    """Return what was said in an episode, as search finds it, large content included."""
    from mesocosm.store.search_words import utterances, with_content

    chunks = with_content(store.traces.chunks(episode_id), store.blobs)
    said = (
        (one.step, one.said.word, f"{one.tool}({one.text})" if one.tool and one.said.word == "call" else one.text)
        for one in utterances(chunks)
    )
    return list(passages_of(said))


def estimate(store: "Store", episodes: Sequence[Episode], model: ModelSettings, most: int) -> ScanEstimate:
    """Return what asking about these episodes may cost; of many, some are read and the rest are taken to be alike."""
    from mesocosm.models.catalogue import is_local
    from mesocosm.models.prices import price

    every = max(len(episodes) // COUNTED, 1)
    counted = episodes[::every]
    characters = sum(min(sum(len(one.text) for one in transcript(store, each.id)), most) for each in counted)
    prompt = round(len(episodes) * (characters / len(counted) / PER_TOKEN + ASKED))
    completion = len(episodes) * SAID
    name = ModelName.parse(model.name)
    known = price(name, local=is_local(name), elsewhere=bool(name.base_url))
    return ScanEstimate(len(episodes), prompt, completion, None if known is None else known.cost(prompt, completion))


def scan_work(
    store: "Store", run: Run, question: ScanQuestion, episodes: Sequence[Episode], given: Arguments, most: int
) -> Work:
    """Return the work of asking a model about episodes of a run. Raises UsageError if it cannot be done."""
    question.check()
    model = given.model_settings(chosen_model(given))
    check_name(run, question, ModelName.parse(model.name).shown())
    options = {
        "name": question.name,
        "question": question.text,
        "answers": list(question.words) or "0 to 1",
    }
    spec = given.spec(BenchmarkRef(SCAN, run.id, options), model, AgentSettings(SCAN), selection=Selection())
    benchmark = ScanBenchmark(run, question, list(_tasks(episodes)), most)
    agent = ScanAgent(question, lambda episode_id: transcript(store, episode_id), most)

    def parts(spec: RunSpec) -> Parts:
        return Parts(benchmark, MODELS.get("*")(spec.model), agent)

    def answers(content: str) -> str:
        return digest([question.digest, run.id, model.identity(content), most])

    return Work(spec, parts, answers=answers, facts={SCAN_OF: run.id})


def _tasks(episodes: Sequence[Episode]) -> Iterator[Task]:
    for episode in episodes:
        trial = f" trial {episode.trial + 1}" if episode.trial else ""
        asked = question_line(episode.input)
        yield Task(
            f"{episode.task_id}{trial}",
            input={EPISODE: episode.id, **({"question": asked} if asked else {})},
            cluster=episode.cluster or episode.task_digest,
            labels={name: value for name, value in episode.labels.items() if not name.startswith(f"{SCAN}:")},
        )
