"""Answers about runs that go on: many people look at the same run, and see the same for a moment."""

import time
from collections.abc import Callable

from fastapi import Response

from mesocosm.core.run import Run
from mesocosm.server.auth.sight import Sight
from mesocosm.server.runs.cache import Cache
from mesocosm.server.schemas.document import Document
from mesocosm.server.web.answer import answer, raw
from mesocosm.store import SqlStore

MOMENT_S = 1.0
"""How old an answer may be, in seconds, and only while the row of its run stays as it is."""

_answers = Cache(room=16 * 2**20)


def moving(store: SqlStore, run: Run, what: str, make: Callable[[], Document], *, alone: bool = False) -> Response:
    """Return what there is to say now of a run that goes on.

    On a platform everybody who sees a run from the same side gets the same answer to `what`, or with `alone` the same
    person. Whoever asks has read `run` for this request, so they may see it.
    """
    if not isinstance(store, Sight):
        return answer(make())
    state = (run.status, run.counts, run.usage, run.tags, run.name, run.started_at, run.warnings, run.error)
    view = store.view if alone else store.place

    def made() -> bytes:
        document = make()
        return document.__pydantic_serializer__.to_json(document)

    return raw(_answers.get(f"{view} {run.id} {what} {state} {time.monotonic() // MOMENT_S}", made))
