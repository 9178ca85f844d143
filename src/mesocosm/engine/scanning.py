"""The answers of a scan as scores and labels of the run that was scanned."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.ports import EngineStore
from mesocosm.core.run import Run
from mesocosm.core.scan_question import EPISODE, LABELS, NUMBER, SCANNED, ScanQuestion
from mesocosm.core.score import Score
from mesocosm.engine.metrics import so_far

SCANS = "scans"
"""Key in the provenance of a run: its scans by name, each with question, model, digest of the prompt, runs, cost."""
SCAN_OF = "scan_of"
"""Key in the provenance of a scan: the run that it reads."""


def check_name(run: Run, question: ScanQuestion, model: str) -> None:
    """Raise UsageError if answers to another question, or of another model, have this name in a run already."""
    for metric in run.terms.metrics:
        if SCANNED not in metric.where and (metric.name in question.scores or metric.score in question.scores):
            raise UsageError(f"run {run.id} has a score {metric.score!r} of its own; choose another --name")
    before = scans_of(run).get(question.name)
    if before is None:
        return
    for what, old, new in (
        ("question", before.get("prompt"), question.digest),
        ("model", before.get("model"), model),
    ):
        if old != new:
            asked = f"asked {before.get('question')!r} of {before.get('model')}"
            raise UsageError(
                f"the scan {question.name!r} of run {run.id} has another {what}: it {asked}; choose another --name"
            )


def scans_of(run: Run) -> Mapping[str, Mapping[str, Any]]:
    """Return the scans of a run by name, as its provenance has them."""
    found = run.provenance.get(SCANS)
    return found if isinstance(found, dict) else {}


def add_scan(run_id: str, scan: Run, question: ScanQuestion, store: EngineStore) -> Run:
    """Store the answers of a scan as scores, metrics and labels of the run that was scanned, and return that run.

    Nothing is graded, and the primary metric stays what it was. An episode without an answer that counts has a missing
    score, never a 0; answers of earlier scans with the same question, to episodes that this one did not read, stay.
    Raises UsageError if the name means something else there, RunLeased while a process works on the run.
    """
    owner = store.leases.owner()
    store.leases.take(run_id, owner)
    try:
        run = store.runs.get(run_id)
        check_name(run, question, scan.model)
        found = dict(_answers(scan, question, store))
        scored: list[tuple[str, tuple[Score, ...]]] = []
        labels: dict[str, dict[str, str | None]] = {}
        for episode in _episodes(run.id, store):
            if episode.id not in found:
                continue
            given = found[episode.id]
            kept = tuple(score for score in episode.scores if score.name not in question.scores)
            scored.append((episode.id, (*kept, *given)))
            if question.kind != NUMBER:
                labels[episode.id] = {question.score: _word(question, given)}
        store.episodes.save_scores(run.id, scored, labels)
        others = [metric for metric in run.terms.metrics if metric.name not in question.scores]
        run.info = {**run.info, "metrics": msgspec.to_builtins((*others, *question.metrics(of_scan=False)))}
        run.provenance = {
            **run.provenance,
            SCANS: {**scans_of(run), question.name: _record(run, scan, question, store)},
        }
        run.metrics = so_far(run, store)
        store.runs.save(run, terms=True)
        return store.runs.get(run.id)
    finally:
        store.leases.release(run_id, owner)


def _answers(scan: Run, question: ScanQuestion, store: EngineStore) -> Iterator[tuple[str, list[Score]]]:
    """Yield the episodes that a scan has read, each with its scores."""
    for episode in _episodes(scan.id, store):
        if episode.status not in FINISHED or not isinstance(episode.input, dict):
            continue
        known = {score.name: score for score in episode.scores}
        scores = []
        for name in question.scores:
            score = known.get(name) or Score(name, missing=Cause.VALUE_MISSING)
            if score.worst or (score.value is None and score.missing is None):
                # What the model of the scan failed at says nothing of the episode that it read.
                cause = episode.failure.cause if episode.failure is not None else Cause.VALUE_MISSING
                score = Score(name, missing=cause, explanation=score.explanation)
            scores.append(score)
        yield str(episode.input.get(EPISODE)), scores


def _word(question: ScanQuestion, scores: list[Score]) -> str | None:
    """Return the answer in words; None without one."""
    if question.kind == LABELS:
        return next((word for word, score in zip(question.labels, scores, strict=True) if score.value == 1), None)
    value = scores[0].value
    return None if value is None else "yes" if value else "no"


def _record(run: Run, scan: Run, question: ScanQuestion, store: EngineStore) -> dict[str, Any]:
    earlier = [one for one in scans_of(run).get(question.name, {}).get("runs", ()) if one != scan.id]
    costs = [scan.usage.cost_usd]
    for one in earlier:
        # A run of an earlier scan may have been deleted; then its cost is not known.
        try:
            costs.append(store.runs.get(one).usage.cost_usd)
        except UsageError:
            costs.append(None)
    return {
        "question": question.text,
        "kind": question.kind,
        "answers": list(question.words),
        "model": scan.model,
        "prompt": question.digest,
        "runs": [*earlier, scan.id],
        "at": time.time(),
        "cost_usd": None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs),
    }


def _episodes(run_id: str, store: EngineStore) -> Iterator[Episode]:
    cursor: str | None = None
    while True:
        page = store.episodes.list(run_id, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return
