"""`/api/compare`: runs against each other."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run
from mesocosm.engine.comparison.runs import chosen, compare_runs, going_on
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.reader import RunReader
from mesocosm.server.schemas.comparison import ComparisonDocument, comparison_document
from mesocosm.server.web.answer import raw

router = APIRouter(prefix="/compare", tags=["compare"])

_comparisons = Cache[bytes](room=64 * 2**20)


@router.get("", response_model=ComparisonDocument)
def compare(
    grant: Granted,
    run: Annotated[list[str], Query(min_length=2, max_length=20, description="ids; the first is the baseline")],
    metric: Annotated[str, Query(description="name of a metric; the primary one by default")] = "",
) -> Response:
    """Compare two or more runs, paired by task where they share tasks."""
    read: dict[str, VisibleRun] = {}

    def find(run_id: str) -> Run:
        found = grant.run(run_id)
        read[found.id] = found
        return found.record

    runs = chosen(find, run)

    def make() -> bytes:
        reader = RunReader(*read.values())
        document = comparison_document(compare_runs(reader.score_rows, runs, metric), reader.played)
        return document.__pydantic_serializer__.to_json(document)

    if any(map(going_on, runs)):
        return raw(make())
    return raw(_comparisons.get(_key(read.values(), metric), make))


def _key(runs: Iterable[VisibleRun], metric: str) -> str:
    """Return what changes whenever the answer would: the rows of the runs change with everything done to them."""
    return digest_bytes(msgspec.json.encode([metric, [[run.view, run.record] for run in runs]]))
