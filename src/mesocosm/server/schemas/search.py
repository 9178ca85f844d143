"""Documents of searches of what was said in episodes."""

from typing import Annotated, Literal

from pydantic import Field

from mesocosm.core.verdict import Verdict
from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.query import Query, RunFilterQuery, Whose

Place = Literal["question", "reply", "reasoning", "call", "result", "observation", "action"]

SYNTAX = (
    'Words that an episode must all say: word, "exact words", word*, -without, in:PLACE, tool:NAME. '
    "Case does not matter."
)


class RunSearchQuery(Query):
    """A search in the episodes of a run."""

    text: str = Field(min_length=1, max_length=1_000, description=SYNTAX)
    verdict: Verdict | Literal[""] = Field("", description="Only hits with this verdict; all are counted.")
    cursor: str | None = Field(None, max_length=200)
    limit: int = Field(20, ge=1, le=100)


class RunsSearchQuery(RunFilterQuery):
    """A search in the episodes of runs; `text` is what to find, all others filter the runs."""

    text: str = Field(min_length=1, max_length=1_000, description=SYNTAX)
    verdict: Verdict | Literal[""] = Field("", description="Only hits with this verdict; all are counted.")
    whose: Whose = ""
    team: str = Field("", max_length=200, description="ID of one of the caller's teams: only its runs.")
    workspace: str = Field(
        "", max_length=200, description="ID or name of one of the caller's workspaces: only its runs."
    )
    cursor: str | None = Field(None, max_length=200)
    limit: int = Field(20, ge=1, le=100)


class SearchHitDocument(Document):
    """An episode that matches, and where it first says most of what was asked for.

    `event` and `step` are its place in the trace. `marks` are ranges `[start, end]` of `snippet` that were found, in
    Unicode code points.
    """

    run_id: str
    run_name: str
    benchmark: str
    model: str
    episode_id: str
    index: int
    task_id: str
    question: str = Field(description="What the task asks, as one line; empty if it asks nothing in words.")
    expected: str = Field(description="The right answer, as one line; empty if the task has none.")
    given: str = Field(description="The answer that was graded, as one line; empty if there is none.")
    verdict: Verdict | None = Field(description="Null for a score that neither passes nor fails.")
    place: Place
    event: int
    step: int
    snippet: str
    marks: list[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]]


class VerdictCounts(Document):
    """Episodes by verdict. `accuracy` is the share of passed among passed and not passed, with its Wilson interval.

    It is null without any.
    """

    episodes: int
    passed: int
    not_passed: int
    error: int
    missing: int
    other: int = Field(description="Whose score neither passes nor fails.")
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    accuracy_weak: bool = Field(default=False, description="Whether the interval rests on few episodes.")


class SearchPage(Document):
    """Episodes that match. Counts are given on the first page only, and null on others.

    `matching` counts the episodes that match, `searched` all that were searched, `places` those that match in one place
    alone. `complete`: all of these were decided; if not, time ran out, and more may match. `finished` is the number of
    finished episodes in these runs: if it is larger, the rest is not in the index yet.
    """

    items: list[SearchHitDocument]
    cursor: str | None
    matching: VerdictCounts | None
    searched: VerdictCounts | None
    places: dict[Place, int] | None
    finished: int | None
    complete: bool
