"""Everything that a store answers about what it holds, as plain data, apart from what depends on the time of asking.

The same questions were put to the version that filled `released/0007-filled.sqlite.sql.xz`.
"""

import json
import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec

RUN_SORTS = ("created_at", "name", "benchmark", "model", "score", "cost", "tokens", "duration", "status", "attempt")
EPISODE_SORTS = ("position", "score", "reward", "steps", "tokens", "cost", "duration", "started_at")


def answers(store: Any) -> dict[str, Any]:
    """Return what the store answers about its runs, groups, benchmarks and the rows of a server."""
    runs = [store.runs.get(run_id) for run_id in sorted(store.runs.ids())]
    found = {
        "runs": {run.id: _run(store, run) for run in runs},
        "episodes": {run.id: _episodes(store, run) for run in runs},
        "lists": _lists(store),
        "groups": _groups(store, sorted({run.signature for run in runs})),
        "benchmarks": store.benchmarks.list(),
        "legacy views": {
            "by agent": store.legacy_views.by_agent(100),
            "lines": sorted(msgspec.structs.astuple(line)[:12] for line in store.legacy_views.lines()),
            "runs": list(store.legacy_views.newest_runs(100)),
            "groups": list(store.legacy_views.newest_groups(100)),
            "totals": store.legacy_views.totals(),
        },
        "server": _server(store),
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return plain


def _run(store: Any, run: Any) -> dict[str, Any]:
    return {
        "run": run,
        "state": store.changes.state(run.id),
        "artifacts": store.artifacts.of_run(run.id),
        "blobs": [blob.digest for blob in store.blobs.of_run(run.id)],
        "verified": store.verification.check_run(run.id),
        "request": store.run_requests.get(run.id),
        "mean rewards": _mean_rewards(store, run.id),
        "entries": len(list(store.bundles.entries(run.id))),
    }


def _mean_rewards(store: Any, run_id: str) -> dict[str, float]:
    rewards = [one.total_reward for one in store.episodes.list(run_id).items if one.total_reward is not None]
    return {run_id: sum(rewards) / len(rewards)} if rewards else {}


def _episodes(store: Any, run: Any) -> dict[str, Any]:
    every = store.episodes.list(run.id).items
    return {
        "list": every,
        "orders": {sort: _ids(store.episodes.search(run.id, None, sort).items) for sort in EPISODE_SORTS},
        "finished": sorted(store.episodes.finished_keys(run.id)),
        "count": store.episodes.count(run.id),
        "means": store.episodes.means(run.id),
        "failures": store.episodes.failures(run.id),
        "series": store.episodes.series(run.id),
        "scores": list(store.episodes.score_rows(run.id)),
        # The trial behind the labels is newer than the recorded answers.
        "results": [row[:8] for row in store.episodes.result_rows(run.id, "")],
        "neighbours": [store.episodes.neighbours(one.id) for one in every[:3]],
        "events": {one.id: len(list(store.traces.events(one.id))) for one in every},
        "trace": [list(store.traces.events(one.id)) for one in every[:1]],
    }


def _lists(store: Any) -> dict[str, Any]:
    lists = {sort: _ids(store.runs.list(sort=sort, limit=100).items) for sort in RUN_SORTS}
    first = store.runs.list(limit=7)
    second = store.runs.list(limit=7, cursor=first.cursor)
    return {
        **lists,
        "pages": [_ids(first.items), _ids(second.items)],
        "stopped": _ids(store.runs.list(status="stopped", limit=100).items),
        "sums": _ids(store.runs.list(benchmark="sums", limit=100).items),
        "text": _ids(store.runs.list(text="oracle", limit=100).items),
        "count": store.runs.count(),
        "facets": store.runs.facets(),
        "named": store.runs.named("oracle"),
    }


def _groups(store: Any, signatures: Iterable[str]) -> dict[str, Any]:
    ids = sorted(row["run_group_id"] for row in store.legacy_views.newest_groups(100))
    groups = [store.groups.get(one) for one in ids]
    return {
        "groups": groups,
        "outcomes": {one.id: store.groups.outcomes(one.id) for one in groups},
        "signatures": {
            signature: {
                "latest": store.runs.latest(signature),
                "finished": _ids(store.runs.finished(signature)),
                "unfinished": _ids(store.runs.unfinished(signature)),
                "failed to begin": store.groups.failed_to_begin(signature),
            }
            for signature in signatures
        },
    }


def _server(store: Any) -> dict[str, Any]:
    users = store.users.list()
    teams: dict[str, Any] = {}
    for user in users:
        teams |= {team.id: team for team in store.teams.teams_of(user.id)}
    environments = store.environments.list_of(everybody=True)
    domains = store.domains.list()
    return {
        "users": users,
        "sessions": {user.id: [one for one, _ in store.sessions.of(user.id)] for user in users},
        "tokens": {user.id: store.personal_tokens.of(user.id) for user in users},
        "teams": teams,
        "members": {team: store.teams.members(team) for team in teams},
        "memberships": {user.id: store.teams.memberships_of(user.id) for user in users},
        "domains": domains,
        "owned": {user.id: store.domains.owned_by(user.id) for user in users},
        "environments": environments,
        "versions": {one.id: store.environments.versions(one.id) for one in environments},
        "stages": store.environments.stages([one.id for one in environments]),
        "checks": store.environments.verdicts([one.id for one in environments]),
        "requests": store.run_requests.list(),
        "abandoned requests": store.queue.left(),
        "batch runs": store.batch_runs.list(),
        "protocols": {one.id: store.protocols.all(one.id) for one in domains},
        "audit": store.audit.list(),
        "workers": store.workers.list(ended=True),
        "usage": {
            f"{domain.id} {user.id}": store.usage.of_domain(domain.id, f"user:{user.id}")
            for domain in domains
            for user in users
        },
        "quotas": {user.id: [store.quota_usage.solo(user.id), store.quota_usage.teams(user.id)] for user in users},
        "failures": store.counts.recent_failures(),
        "gallery": store.leaderboards.gallery(),
        "candidates": {one.id: store.leaderboards.candidates(one.id) for one in domains},
        "attempts": {one.id: store.leaderboards.tries(one.id, 1) for one in domains},
    }


def _ids(items: Iterable[Any]) -> list[str]:
    return [item.id for item in items]


ANEW = frozenset(
    {
        *("low", "high", "method", "smallest_difference", "smallest", "p_value", "p_adjusted", "test"),
        *("pessimistic_low", "pessimistic_high", "strict_low", "strict_high"),
    }
)
"""Intervals and tests that are computed when they are asked for, since then by other formulas."""


def missing(old: Any, new: Any, path: str = "") -> list[str]:
    """Return where `new` does not say what `old` said; fields that were added since do not count.

    Intervals and tests (`ANEW`) may have changed, values and verdicts may not. Names in notes keep their case since
    then. PostgreSQL writes JSON with other spaces than SQLite, and cuts times to milliseconds where SQLite rounds them.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        kept = [key for key in old if key not in ANEW or key not in new]
        return [line for key in kept for line in missing(old[key], new.get(key), f"{path}/{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for n, pair in enumerate(zip(old, new, strict=True)) for line in missing(*pair, f"{path}/{n}")]
    return [] if old == new or _same_text(old, new, path) else [f"{path}: {old!r} became {new!r}"]


def _same_text(old: Any, new: Any, path: str) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-12)
    if path.endswith("/note") and isinstance(old, str) and isinstance(new, str):
        return all(sentence in new.lower() for sentence in old.lower().rstrip(". ").split(". "))
    if not path.startswith("/legacy views/") or not isinstance(old, str) or not isinstance(new, str):
        return False
    if old.startswith("{"):
        return not missing(json.loads(old), json.loads(new), path)
    try:
        return abs(datetime.fromisoformat(old) - datetime.fromisoformat(new)) <= timedelta(milliseconds=1)
    except ValueError:
        return False
