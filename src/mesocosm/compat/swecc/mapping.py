"""Conversion of API documents to the names and values of the older HTTP interface.

The routes of `routes.py` return them. The command line prints them as JSON, because its output has always used these
names.
"""

from collections.abc import Iterable

import msgspec

from mesocosm.compat.swecc.documents import TERMINAL, Episode, Metric, Run, RunListItem, RunStatus, status_of
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.run import Selection
from mesocosm.environments.seeds import seed_tasks
from mesocosm.server.schemas.episode import EpisodeDetail, EpisodeSummary
from mesocosm.server.schemas.run import RunDetail, RunSummary
from mesocosm.server.schemas.run_request import AgentConfig, RunConfig

_CANCELLED = {"cancelled": True, "reason": "run_cancelled"}
"""Terminal info of an episode that was unfinished when its run was cancelled."""

_ENDED = {
    "finished": RunStatus.COMPLETED,
    "partial": RunStatus.PARTIAL,
    "failed": RunStatus.FAILED,
    "stopped": RunStatus.CANCELLED,
    "interrupted": RunStatus.RUNNING,
}


def older_status(run: RunSummary) -> RunStatus:
    """Return the status of a run in the older terms."""
    if run.request is None:
        return _ENDED.get(run.state) or RunStatus(run.state)
    return status_of(run.state, run.request.state, owed=bool(run.counts.owed), started=run.started_at is not None)


def older_run(run: RunDetail) -> Run:
    """Return a run in the older format."""
    metrics = [Metric.model_validate(metric.model_dump()) for metric in run.metrics]
    return Run.model_validate(
        {**_fields(run), "metrics": metrics, "warnings": run.warnings, "scores": _scores(metrics)}
    )


def older_item(run: RunSummary) -> RunListItem:
    """Return a run of a list in the older format: all metrics for a RunDetail, otherwise only the primary one."""
    listed = run.metrics if isinstance(run, RunDetail) else [run.primary] if run.primary else []
    metrics = [Metric.model_validate(metric.model_dump()) for metric in listed]
    fields = _fields(run)
    unplayed = {RunStatus.CANCELLED, RunStatus.PARTIAL, RunStatus.FAILED}
    counts, request = run.counts, run.request
    requester = "" if request is None or request.requester_id is None else request.requester_id
    return RunListItem.model_validate(
        {
            **fields,
            "metrics": metrics,
            "scores": _scores(metrics),
            "warnings": run.warnings if isinstance(run, RunDetail) else [],
            "completed_count": counts.completed + counts.truncated,
            "failed_count": counts.failed + counts.timeout + (counts.owed if fields["status"] in unplayed else 0),
            "avg_reward": run.mean_reward if isinstance(run, RunDetail) else None,
            "actor_type": "guest" if requester.startswith("guest:") or run.owner == "guest" else "member",
            "actor_id": requester.removeprefix("guest:") or None,
            "actor_username": None if request is None or request.redacted else run.owner,
            "domain_name": run.benchmark_title,
        }
    )


def older_episode(episode: EpisodeSummary | EpisodeDetail) -> Episode:
    """Return an episode in the older format. Its terminal info holds the error, which older programs read there."""
    failure, info = episode.failure, episode.terminal_info or {}
    if failure is not None and "error" not in info:
        reason = {"reason": failure.cause} if failure.cause == Cause.BUDGET else {}
        info = {**reason, **info, "error": failure.message}
    return Episode(
        id=episode.id,
        run_id=episode.run_id,
        seed=None if episode.seed is None else int(episode.seed),
        status=EpisodeStatus(episode.state),
        started_at=episode.started_at,
        ended_at=episode.ended_at,
        steps=episode.steps,
        total_reward=episode.total_reward or 0.0,
        terminal_info=info,
        trial=episode.trial,
        index=episode.index,
        scores={score.name: score.value for score in episode.scores},
        failure=None
        if failure is None
        else {name: value for name, value in failure.model_dump(exclude={"valid"}).items() if value},
        retries=episode.retries,
    )


def older_episodes(run: RunDetail, episodes: Iterable[EpisodeSummary]) -> list[Episode]:
    """Return all planned episodes of a run, including pending ones, because polling clients expect the planned number.

    An episode that has not started has the id `RUN.INDEX`.
    """
    begun = {episode.index: older_episode(episode) for episode in episodes}
    status = older_status(run)
    waiting = EpisodeStatus.CANCELLED if status in TERMINAL else EpisodeStatus.PENDING
    selection = msgspec.convert(run.spec.get("selection", {}), Selection)
    tasks = list(seed_tasks(selection)) if run.request is not None else []
    listed = []
    for index in range(run.counts.planned):
        episode = begun.get(index)
        if episode is None and index < len(tasks) * selection.trials:
            trial, position = divmod(index, len(tasks))
            episode = Episode(
                id=f"{run.id}.{index}",
                run_id=run.id,
                seed=tasks[position].seed,
                status=waiting,
                trial=trial,
                index=index,
            )
        if episode is None:
            continue
        if status is RunStatus.CANCELLED and episode.status is EpisodeStatus.CANCELLED:
            episode.terminal_info = {**_CANCELLED, **episode.terminal_info}
        listed.append(episode)
    return listed


def _scores(metrics: Iterable[Metric]) -> dict[str, float]:
    return {metric.name: metric.value for metric in metrics if metric.value is not None}


def _fields(run: RunSummary) -> dict[str, object]:
    request, status = run.request, older_status(run)
    ended = run.ended_at or (None if request is None else request.ended_at)
    reason = "" if request is None else request.reason
    return {
        "id": run.id,
        "config": _config(run) if request is None or request.config is None else request.config,
        "requester_id": None if request is None else request.requester_id,
        "status": status,
        "created_at": run.created_at,
        "completed_at": ended if status in TERMINAL else None,
        "team_id": run.team_id,
        "env_id": None if request is None else request.environment_id,
        "env_version": None if request is None else request.environment_version,
        "visibility": run.visibility or "private",
        "purpose": "run" if request is None else request.purpose,
        "protocol": run.protocol,
        "name": run.name,
        "tags": run.tags,
        "started_at": run.started_at,
        "expires_at": None if request is None else request.expires_at,
        "planned": run.counts.planned,
        "finished": run.counts.done,
        "failed": run.counts.failed,
        "duration_s": run.duration_s,
        "cost_usd": run.usage.cost_usd,
        "error": "" if status is RunStatus.COMPLETED or (request and request.redacted) else run.error or reason,
        "stopped": status is RunStatus.FAILED and run.state == "stopped",
        "redacted": request is not None and request.redacted,
    }


def _config(run: RunSummary) -> RunConfig:
    """Return the configuration of a run that was not submitted to a server."""
    return RunConfig(
        domain_id=run.benchmark,
        binding_vow_version=run.benchmark_version,
        agent_config=AgentConfig(model=run.model),
        num_episodes=max(run.counts.planned, 1),
    )
