"""Remove secrets from the row of an episode before it is stored."""

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.redact import BLOB, FACTS, Redactor
from mesocosm.core.score import Score

CONTENT = ("input", "target", "reference", "answer", "why", "mistake")
"""Fields of a row that hold content."""


def clean_row(row: Episode, redactor: Redactor) -> Episode:
    """Remove secrets from a row in place, and return it."""
    if row.terminal_info:
        row.terminal_info = redactor.value(row.terminal_info, FACTS)
    if row.labels:
        row.labels = redactor.value(row.labels)
    if row.failure is not None:
        row.failure = redactor.value(row.failure)
    for name in CONTENT:
        if (value := getattr(row, name)) not in (None, ""):
            setattr(row, name, redactor.value(value, BLOB))
    if any(score.explanation for score in row.scores):
        row.scores = tuple(_explained(score, redactor) for score in row.scores)
    return row


def _explained(score: Score, redactor: Redactor) -> Score:
    clean = redactor.text(score.explanation)
    return score if clean == score.explanation else msgspec.structs.replace(score, explanation=clean)
