"""`/v1/compare`: runs against each other."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run
from mesocosm.engine.comparison import chosen, compare_runs, going_on
from mesocosm.server.place import Results
from mesocosm.server.runs.cache import Cache
from mesocosm.server.schemas.comparison import Comparison, comparison_document
from mesocosm.server.web.answer import raw
from mesocosm.store import SqlStore
from mesocosm.store.standings import Standings

router = APIRouter(prefix="/compare", tags=["compare"])

_cache = Cache()


@router.get("", response_model=Comparison)
def compare(
    store: Results,
    run: Annotated[list[str], Query(min_length=2, max_length=20, description="ids; the first is the baseline")],
    metric: Annotated[str, Query(description="name of a metric; the primary one by default")] = "",
) -> Response:
    """Compare two or more runs, paired by task where they share tasks."""
    runs = chosen(store, run)

    def make() -> bytes:
        standings = Standings.of(store)
        document = comparison_document(compare_runs(standings.score_rows, runs, metric), standings.played)
        return document.__pydantic_serializer__.to_json(document)

    if any(map(going_on, runs)):
        return raw(make())
    return raw(_cache.get(_key(store, runs, metric), make))


def _key(store: SqlStore, runs: Sequence[Run], metric: str) -> str:
    """Return what changes whenever the answer would: the rows of the runs change with everything done to them."""
    return digest_bytes(msgspec.json.encode([store.place, metric, runs]))
