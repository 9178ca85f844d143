"""Answers about runs that go on: many people look at the same run, and see the same for a moment."""

from collections.abc import Callable

from fastapi import Response

from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.schemas.document import Document
from mesocosm.server.web.answer import answer, raw

MOMENT_S = 1.0
"""How old an answer may be, in seconds, and only while the row of its run stays as it is."""

_answers = Cache[bytes](room=16 * 2**20)


def moving(run: VisibleRun, what: str, make: Callable[[], Document], *, alone: bool = False) -> Response:
    """Return the present answer about a run that goes on.

    On a server callers who see the same of a run share the answer to `what`; with `alone` each caller has their own.
    """
    if run.stored_in is not None:
        return answer(make())
    now = run.record
    requested = run.request and run.request.state
    state = (requested, now.status, now.counts, now.usage, now.tags, now.name, now.started_at, now.warnings, now.error)
    view = run.own_view if alone else run.view

    def made() -> bytes:
        document = make()
        return document.__pydantic_serializer__.to_json(document)

    return raw(_answers.get((view, what, repr(state)), made, lasts=lambda _cost: MOMENT_S))
