"""The JSON form of a search of what was said: the same from the command line and from a server."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from mesocosm.core.one_line import answer_line, question_line
from mesocosm.core.run import Run
from mesocosm.core.verdict import Verdict
from mesocosm.stats.interval import wilson
from mesocosm.store.search import SearchHit, SearchResult
from mesocosm.store.search_query import PLACES


def search_document(found: SearchResult, runs: Mapping[str, Run], *, first: bool = True) -> dict[str, Any]:
    """Return a page of hits as JSON; `runs` by id, `first`: it is the first page, which has the counts."""
    return {
        "items": [_hit(hit, runs[hit.episode.run_id]) for hit in found.hits],
        "cursor": found.cursor,
        "matching": verdict_counts(found.verdicts) if first else None,
        "searched": verdict_counts(found.all_verdicts) if first else None,
        "places": {name: found.places[name] for name in PLACES} if first else None,
        "finished": found.finished if first else None,
        "complete": found.complete,
    }


def verdict_counts(verdicts: Counter[str]) -> dict[str, Any]:
    """Return the number of episodes by verdict, and their accuracy with its Wilson interval, None without any."""
    judged = verdicts["passed"] + verdicts["not_passed"]
    interval = wilson(verdicts["passed"], judged) if judged else None
    return {
        "episodes": verdicts.total(),
        **{name.value: verdicts[name] for name in Verdict},
        "other": verdicts[""],
        "accuracy": None if interval is None else interval.value,
        "accuracy_low": None if interval is None else interval.low,
        "accuracy_high": None if interval is None else interval.high,
        "accuracy_weak": interval is not None and interval.weak,
    }


def _hit(hit: SearchHit, run: Run) -> dict[str, Any]:
    episode = hit.episode
    return {
        "run_id": run.id,
        "run_name": run.name,
        "benchmark": run.benchmark_title or run.benchmark,
        "model": run.model,
        "episode_id": episode.id,
        "index": episode.index,
        "task_id": episode.task_id,
        "question": question_line(episode.input),
        "expected": answer_line(episode.target),
        "given": answer_line(episode.answer),
        "verdict": hit.verdict or None,
        "place": hit.where.said.word,
        "event": hit.where.seq,
        "step": hit.where.step,
        "snippet": hit.where.snippet,
        "marks": [list(mark) for mark in hit.where.marks],
    }
