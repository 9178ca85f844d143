"""Which episodes of a run a scan reads, what was said in them, and what reading them may cost."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.one_line import question_line
from mesocosm.core.run import Run
from mesocosm.core.scan_question import EPISODE, SCAN, TranscriptPassage, passages_of
from mesocosm.core.task import Task

if TYPE_CHECKING:
    from mesocosm.models.prices import Price
    from mesocosm.store import Store
    from mesocosm.store.filters import EpisodeFilter

CHARACTERS = 100_000
"""Most characters of a transcript that a model is sent, some 25,000 tokens."""
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


def tasks_to_scan(store: "Store", run: Run, where: Sequence[str], limit: int | None, seed: int = 0) -> list[Task]:
    """Return tasks about the finished episodes of a run that match, in plan order: all, or a random `limit` of them.

    The same seed draws the same episodes, and a larger limit draws those of a smaller one and others. Only what is
    drawn is kept in memory. Raises UsageError if no episode matches.
    """
    matching = _matching(store, run, read_where(where))
    if limit is not None:
        drawn = nsmallest(
            limit, ((digest([seed, one.task_digest, one.trial]), one.index, _task(one)) for one in matching)
        )
        found = [task for _, _, task in sorted(drawn, key=lambda one: one[1])]
    else:
        found = list(map(_task, matching))
    if not found:
        which = f" matches {' '.join(where)}" if where else " is finished"
        raise UsageError(f"no episode of run {run.id}{which}, so there is nothing to scan")
    return found


def _matching(store: "Store", run: Run, wanted: "EpisodeFilter") -> Iterator[Episode]:
    cursor: str | None = None
    while True:
        page = store.episodes.search(run.id, wanted, cursor=cursor)
        yield from (episode for episode in page.items if episode.status in FINISHED)
        cursor = page.cursor
        if cursor is None:
            return


def _task(episode: Episode) -> Task:
    trial = f" trial {episode.trial + 1}" if episode.trial else ""
    asked = question_line(episode.input)
    return Task(
        f"{episode.task_id}{trial}",
        input={EPISODE: episode.id, **({"question": asked} if asked else {})},
        cluster=episode.cluster or episode.task_digest,
        labels={name: value for name, value in episode.labels.items() if not name.startswith(f"{SCAN}:")},
    )


def transcript(store: "Store", episode_id: str) -> list[TranscriptPassage]:
    """Return what was said in an episode, as search finds it, large content included."""
    from mesocosm.store.search_words import utterances, with_content

    chunks = with_content(store.traces.chunks(episode_id), store.blobs)
    said = (
        (one.step, one.said.word, f"{one.tool}({one.text})" if one.tool and one.said.word == "call" else one.text)
        for one in utterances(chunks)
    )
    return list(passages_of(said))


def estimate(store: "Store", tasks: Sequence[Task], price: "Price | None", most: int) -> ScanEstimate:
    """Return what asking about these episodes may cost; of many, some are read and the rest are taken to be alike.

    `price` is that of the model, None if it is not known; `most` are the characters of a transcript that it is sent.
    """
    every = max(len(tasks) // COUNTED, 1)
    counted = tasks[::every]
    read = (transcript(store, str(task.input[EPISODE])) for task in counted)
    characters = sum(min(sum(len(one.text) for one in passages), most) for passages in read)
    prompt = round(len(tasks) * (characters / len(counted) / PER_TOKEN + ASKED))
    completion = len(tasks) * SAID
    return ScanEstimate(len(tasks), prompt, completion, None if price is None else price.cost(prompt, completion))
