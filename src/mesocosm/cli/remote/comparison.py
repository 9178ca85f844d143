"""Compare runs of a server: their scores are read there, and compared as those of this machine."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mesocosm.cli.bench.remote import run_of
from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.core.ports import ScoreRow
from mesocosm.engine.comparison.differences import Difference
from mesocosm.engine.comparison.runs import RunComparison, chosen, compare_runs

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.run import RunDetail


class RemoteScores:
    """The scores of a server's runs, and the names of their tasks as far as the scores were read."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._names: dict[str, dict[str, str]] = defaultdict(dict)

    def rows(self, run_id: str, name: str) -> Iterator[ScoreRow]:
        """Yield the scores called `name` of the finished episodes of a run, in the order of the plan."""
        for one in self._client.runs.episodes(run_id):
            if EpisodeStatus(one.state) not in FINISHED:
                continue
            self._names[run_id][one.task_digest] = one.task_id
            for score in one.scores:
                if score.name == name:
                    facts = (one.task_digest, one.cluster, one.trial)
                    yield ScoreRow(*facts, score.name, score.value, score.missing, score.worst)

    def task_names(self, run_id: str, digests: Sequence[str]) -> Mapping[str, str]:
        """Return the names of tasks of a run by their digests."""
        names = self._names[run_id]
        return {digest: names[digest] for digest in digests if digest in names}


def compare_there(details: "Sequence[RunDetail]", scores: RemoteScores, metric: str) -> RunComparison:
    """Return the comparison of runs of a server. Raises as `mesocosm.engine.comparison.runs.compare` does."""
    known = {detail.id: run_of(detail) for detail in details}
    found = compare_runs(scores.rows, chosen(known.__getitem__, [detail.id for detail in details]), metric)
    commits = tuple(map(_commit, details))
    if len(set(commits)) == 1:
        return found
    return replace(found, differences=(Difference("commit", commits), *found.differences))


def _commit(run: "RunDetail") -> str | None:
    """Return the code of an evaluation in words; None for other runs."""
    asked = None if run.request is None else run.request.evaluation
    if asked is None or not asked.commit:
        return None
    return f"{asked.branch} {asked.commit[:12]}{'+' if asked.dirty else ''}".strip()
