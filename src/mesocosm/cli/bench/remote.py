"""`bench run --remote`: benchmarks that a server runs."""

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mesocosm.benchmarks.catalogue import KnownBenchmark, read_catalogue
from mesocosm.benchmarks.parameters import settle
from mesocosm.cli.bench import flags
from mesocosm.cli.bench.request import BenchRequest, unheeded
from mesocosm.cli.bench.run import emit_results, exit_code, tell_results
from mesocosm.cli.command import options
from mesocosm.cli.gate_options import GateFlags, GateResult, runs_markdown
from mesocosm.cli.remote.connection import WORKSPACE_VARIABLE, document, member_client
from mesocosm.cli.remote.watch import GOING, PATIENCE_S, Line, progress
from mesocosm.client.error import ApiError
from mesocosm.client.transport import pauses
from mesocosm.compat.swecc.mapping import older_run
from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.core.failure import Cause, UnknownName, UsageError
from mesocosm.core.group import Outcome, OutcomeStatus, stamped_id
from mesocosm.core.ports import ResultRow
from mesocosm.core.run import Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.core.usage import Usage
from mesocosm.engine.group import MemberResult
from mesocosm.server.schemas.run_request import BenchmarkInput

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.run import RunDetail

DATASET = "dataset:"
_AWAY = frozenset({0, 502, 503, 504})
_UNREACHED = frozenset({"ConnectionRefusedError", "gaierror"})
"""Names of errors after which the server has certainly not seen a request."""
_CONCERNS_ALL = frozenset({401, 403, 404})
"""Refusals that concern the caller or the workspace, so every other benchmark as well."""
_CONTINUED = frozenset({"stopped", "partial", "interrupted", "failed"})

_LOCAL = {
    "folders": ("--benchmarks-dir", "a server runs its own benchmarks; `mesocosm push` brings runs of others there"),
    "cache": ("--cache", "a server does not read files of this machine"),
    "same_server": ("--same-server", "the models of a server are those of its operator"),
    "timeout": ("--timeout", "its operator limits the time of runs"),
    "rpm": ("--rpm", "its operator limits the requests to models"),
    "tpm": ("--tpm", "its operator limits the requests to models"),
    "run_tokens": ("--run-tokens", "budgets are those of the workspace"),
    "retries": ("--retries", "its operator sets the retries"),
    "outage_seconds": ("--outage-seconds", "its operator sets how long runs wait"),
    "max_missing": ("--max-missing", "its operator sets what may be missing"),
    "rerun_failed": (
        "--rerun-failed",
        "repeat a failed run with: mesocosm run resume RUN --remote --retry-failed",
    ),
    "dry_run": ("--dry-run", "leave it out, or plan on this machine without --remote"),
}
"""Flags that mean nothing on a server, with what to do instead."""


@dataclass
class RemoteMember:
    """One benchmark on the server: what is asked for, and what became of it. Without a run, `reason` says why."""

    benchmark: str
    directory: str
    wanted: BenchmarkInput
    starts_program: bool = False
    run: "RunDetail | None" = None
    refused: OutcomeStatus | None = None
    reason: str = ""
    reused: bool = False

    @property
    def going(self) -> bool:
        """Whether it is not over."""
        # The state of a run lags behind its request: one that is continued is still stopped until a worker takes it.
        return self.run is not None and self.refused is None and older_run(self.run).status in GOING

    def refuse(self, error: ApiError) -> None:
        """Keep why the server does not run it."""
        here_not = self.starts_program or error.status == 409
        self.refused = OutcomeStatus.INCOMPATIBLE if here_not else OutcomeStatus.FAILED
        self.reason = error.detail

    def result(self, place: int, group_id: str = "", comparison_id: str = "") -> MemberResult:
        """Return its result, as of a benchmark on this machine."""
        provider, _, model = self.wanted.model.partition("/")
        run = None if self.run is None else run_of(self.run)
        status, reason = self._outcome()
        outcome = Outcome(
            group_id=group_id,
            position=place,
            benchmark=self.benchmark,
            directory=self.directory,
            status=status,
            provider=provider,
            model=model,
            agent=self.wanted.agent,
            extra=self.wanted.parameters,
            signature="" if run is None else run.signature,
            run_id="" if run is None else run.id,
            reason=reason,
            comparison_id=comparison_id,
        )
        return MemberResult(outcome, run)

    def _outcome(self) -> tuple[OutcomeStatus, str]:
        if self.refused is not None:
            return self.refused, self.reason
        if self.run is None:
            return OutcomeStatus.STOPPED, "was not submitted"
        if self.going:
            return OutcomeStatus.RUNNING, ""
        if self.run.state == "finished":
            return (OutcomeStatus.SKIPPED, "already_succeeded") if self.reused else (OutcomeStatus.SUCCEEDED, "")
        status = {"partial": OutcomeStatus.PARTIAL, "failed": OutcomeStatus.FAILED}
        return status.get(self.run.state, OutcomeStatus.STOPPED), self.run.error


class RemoteWork:
    """Benchmarks that are submitted to a server and followed until they are over."""

    def __init__(self, client: "Client", members: Sequence[RemoteMember]) -> None:
        self.client = client
        self.members = members
        self._left = deque(members)
        self._line = Line()
        self._heard = float("-inf")
        self._unknown = False

    def run(self) -> bool:
        """Submit and follow all; return whether it was interrupted, which stops no run.

        What the server refuses is kept with its member. A server that does not answer is asked again for PATIENCE_S.
        Raises ApiError.
        """
        waits = pauses()
        try:
            while True:
                try:
                    self._submit()
                    self._poll()
                except ApiError as error:
                    if self._unknown or not self._patient(error):
                        self._line.end()
                        self._tell_going()
                        raise
                    self._line.say("the server does not answer; trying again")
                else:
                    self._heard = time.monotonic()
                    self._line.say(self._progress())
                    if not self._left and not any(member.going for member in self.members):
                        return False
                time.sleep(next(waits))
        except KeyboardInterrupt:
            self._line.end()
            self._tell_going()
            return True
        finally:
            self._line.end()

    def _patient(self, error: ApiError) -> bool:
        if error.status not in _AWAY:
            return False
        if self._heard == float("-inf") and error.kind not in _UNREACHED:
            self._heard = time.monotonic()
        return time.monotonic() - self._heard <= PATIENCE_S

    def _submit(self) -> None:
        """Submit what is left. While the queue of the caller is full, the rest waits for the runs before it."""
        while self._left:
            member = self._left[0]
            try:
                member.run = self.client.runs.create(member.wanted)
                member.reused = member.run.name != member.wanted.name
                if member.reused:
                    self._take(member, member.run)
            except ApiError as error:
                if error.status in _AWAY:
                    self._check_repeatable(member, error)
                    raise
                if error.status in _CONCERNS_ALL:
                    raise
                if error.status == 429 and any(one.going for one in self.members):
                    return
                member.refuse(error)
            self._left.popleft()
            self._heard = time.monotonic()

    def _check_repeatable(self, member: RemoteMember, error: ApiError) -> None:
        """Raise ApiError if the request may have started a run and repeating it would start another."""
        if member.wanted.workspace or member.wanted.reuse or error.kind in _UNREACHED:
            return
        self._unknown = True
        raise ApiError(
            error.method,
            error.url,
            error.status,
            error.detail,
            hint=f"whether {member.benchmark} was started is unknown; look with: mesocosm run list --remote",
            kind=error.kind,
        )

    def _take(self, member: RemoteMember, run: "RunDetail") -> None:
        """Continue a run that the server had already, if it was stopped."""
        if run.state in GOING:
            click.echo(f"note: {member.benchmark}: run {run.id} of the same experiment is going on", err=True)
            member.reused = False
        elif run.state in _CONTINUED:
            member.run = self.client.runs.resume(run.id, retry_failed=run.state == "partial")
            done = f"{run.counts.done:,} of {run.counts.planned:,} episodes are finished"
            click.echo(f"note: {member.benchmark}: continues run {run.id}: {done}", err=True)
            member.reused = False

    def _poll(self) -> None:
        for member in self.members:
            if member.run is None or not member.going:
                continue
            try:
                member.run = self.client.runs.get(member.run.id)
            except ApiError as error:
                if error.status != 404:
                    raise
                member.refused, member.reason = OutcomeStatus.FAILED, f"run {member.run.id} was deleted"

    def _progress(self) -> str:
        over = sum(member not in self._left and not member.going for member in self.members)
        parts = [
            f"{member.benchmark} {progress(older_run(member.run), member.run.state)}"
            for member in self.members
            if member.going and member.run is not None
        ]
        if len(self.members) == 1 and self.members[0].run is not None:
            return f"{self.members[0].benchmark} {progress(older_run(self.members[0].run), self.members[0].run.state)}"
        return " · ".join([f"{over:,}/{len(self.members):,} benchmarks", *parts])

    def _tell_going(self) -> None:
        for member in self.members:
            if member.going and member.run is not None:
                run_id = member.run.id
                click.echo(
                    f"{member.benchmark}: run {run_id} keeps running; follow it with: mesocosm run watch {run_id}",
                    err=True,
                )
                click.echo(f"stop it with: mesocosm run stop {run_id}", err=True)
        if self._left:
            click.echo(f"not submitted: {', '.join(member.benchmark for member in self._left)}", err=True)


def run_remote(given: Mapping[str, Any]) -> int:
    """Run benchmarks on the server, print the results, and return the exit code."""
    gate = options().part(GateFlags)
    gate.check_remote(wait=True)
    request = flags.request_of(given)
    client, members = prepared(request, given, model_of_server(request))
    work = RemoteWork(client, members)
    interrupted = work.run()
    results = [member.result(place) for place, member in enumerate(members)]
    judged = _judged(client, results)

    def failures(run: Run) -> list[dict[str, Any]]:
        return _failures(members, run)

    if options().json:
        emit_results(results, failures, None, None, {"gate": judged.document()} if judged.verdicts else {})
    else:
        workspace = members[0].wanted.workspace
        place = f"in the workspace {client.workspaces.get(workspace).name}" if workspace else "your own runs"
        click.echo(f"\non {client.base_url}, {place}\n")
        tell_results(results, failures, hide=given["skip_incompatible"] and not request.chosen)
        for line in judged.lines():
            click.echo(line)
    return judged.code(exit_code(results, interrupted=interrupted, named=bool(request.chosen)))


def prepared(
    request: BenchRequest, given: Mapping[str, Any], model: str, *, notes: bool = True
) -> "tuple[Client, list[RemoteMember]]":
    """Return the client, and what is asked of its server for each benchmark. Raises UsageError, NotLoggedIn."""
    _check_flags(request, given)
    wanted = list(_wanted(request))
    for note in _notes(request) if notes else ():
        click.echo(f"note: {note}", err=True)
    client = member_client()
    workspace = "" if given["solo"] else given["workspace"] or os.environ.get(WORKSPACE_VARIABLE) or ""
    workspace = workspace or ("" if given["solo"] else client.caller.workspace_id or "")
    members = []
    for name, known, parameters in wanted:
        sampled = known is None or bool(known.descriptor.sampling)
        fields = {
            "kind": "benchmark",
            "benchmark": name,
            "model": model,
            "parameters": parameters,
            "agent": request.agent,
            "max_examples": request.max_examples if sampled else None,
            "trials": request.trials,
            "parallel": request.parallel,
            "run_usd": given["run_usd"],
            "workspace": workspace,
            "name": request.run_name or stamped_id(name),
            "tags": list(request.tags),
            "reuse": not given["force"],
        }
        program = known is not None and bool(known.descriptor.command is not None or known.descriptor.manifest)
        directory = name if known is None else known.directory
        members.append(RemoteMember(name, directory, document(BenchmarkInput, fields), starts_program=program))
    return client, members


def _check_flags(request: BenchRequest, given: Mapping[str, Any]) -> None:
    for name, (flag, instead) in _LOCAL.items():
        value = given.get(name)
        if value is not None and value is not False and value not in ("", ()):
            raise UsageError(f"{flag} does nothing with --remote: {instead}")
    if ":" in request.agent:
        raise UsageError(f"--agent {request.agent} is code of this machine; a server runs agents by their names only")


def model_of_server(request: BenchRequest) -> str:
    """Return the requested model as `provider/name`. Raises UsageError."""
    if not request.model:
        raise UsageError("which model? Add --model PROVIDER/NAME; `mesocosm models` lists those of the server")
    if not request.provider and "/" not in request.model:
        raise UsageError(f"{request.model!r} names no provider; write PROVIDER/NAME, as `mesocosm models` lists them")
    if request.name.base_url:
        raise UsageError("a server calls its own models only; leave the address out, `mesocosm models` lists them")
    return str(request.name)


def _wanted(request: BenchRequest) -> Iterator[tuple[str, KnownBenchmark | None, dict[str, Any]]]:
    """Yield each benchmark with the parameters that were given for it. Raises UsageError.

    One that is not known here may be known to the server, which gets only the general parameters.
    """
    catalogue = read_catalogue()
    chosen: dict[str, KnownBenchmark | None] = {}
    for name in request.chosen or [known.descriptor.id for known in catalogue.benchmarks]:
        known = None
        with suppress(UnknownName):
            known = catalogue.find(name)
        chosen[name if known is None else known.descriptor.id] = known
    found = [known for known in chosen.values() if known is not None]
    extra = dict(request.extra)
    if request.temperature is not None:
        extra["temperature"] = request.temperature
    if request.seed is not None and any("seed" in known.descriptor.parameters for known in found):
        extra["seed"] = request.seed
    descriptors = [known.descriptor for known in found]
    settled = dict(zip([one.id for one in descriptors], settle(descriptors, extra, catalogue.descriptors), strict=True))
    for name, known in chosen.items():
        if known is None:
            yield name, None, {key: value for key, value in extra.items() if key != "per_benchmark"}
            continue
        (plain,) = settle([known.descriptor], {}, catalogue.descriptors)
        own = {key: value for key, value in settled[name].effective.items() if plain.effective.get(key) != value}
        for key, value in own.items():
            parameter = known.descriptor.parameters.get(key)
            if parameter is not None and parameter.type == "path" and not str(value).startswith(DATASET):
                raise UsageError(
                    f"{key} of {name} is a file of this machine; upload it with `mesocosm dataset upload {value}`, "
                    f"then write {DATASET}NAME in its place"
                )
        yield name, known, own


def _notes(request: BenchRequest) -> list[str]:
    try:
        return unheeded(request, read_catalogue())
    except UnknownName:
        return []


def _failures(members: Sequence[RemoteMember], run: Run) -> list[dict[str, Any]]:
    """Return the causes of failed episodes of a run, as `failures_of` does."""
    detail = next(member.run for member in members if member.run is not None and member.run.id == run.id)
    return [
        {"cause": one.cause, "count": one.count, "task": one.task_id, "message": one.message, "stderr": ""}
        for one in detail.failures
    ]


def _judged(client: "Client", results: Sequence[MemberResult]) -> GateResult:
    """Return the answers of the gate about the runs that are over."""
    from mesocosm.engine.comparison.gate import judge

    gate = options().part(GateFlags)
    gate.used = True
    runs = [result.run for result in results if result.run is not None and result.run.status not in GOING]
    judged = GateResult(gate, judge(gate.conditions, runs, RemoteSamples(client)))
    judged.write("mesocosm bench run", lambda: runs_markdown("runs on a server", runs, None))
    return judged


class RemoteSamples:
    """The episodes of a server's runs, for conditions."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the rows of the finished episodes."""
        for one in self._client.runs.episodes(run_id):
            if EpisodeStatus(one.state) not in FINISHED:
                continue
            score = next((score for score in one.scores if score.name == primary), None)
            missing = None if score is None else score.missing
            if score is None:
                outcome = None
            elif score.value is not None:
                outcome = "scored"
            else:
                outcome = "worst" if score.worst else "skipped" if missing == Cause.SKIPPED else "missing"
            value, cause = (
                (None if score is None else score.value),
                (None if one.failure is None else one.failure.cause),
            )
            labels = msgspec.json.encode(one.labels).decode() if one.labels else None
            yield ResultRow(
                one.task_digest, one.cluster, value, outcome, cause, missing, one.duration_s, labels, one.trial
            )


def run_of(detail: "RunDetail") -> Run:
    """Return a run of a server as the engine knows runs."""
    counts, usage = detail.counts, detail.usage
    return Run(
        id=detail.id,
        signature=detail.signature,
        benchmark=detail.benchmark,
        benchmark_title=detail.benchmark_title,
        benchmark_version=detail.benchmark_version,
        benchmark_digest=detail.benchmark_digest,
        kind=detail.kind,
        model=detail.model,
        agent=detail.agent,
        spec=msgspec.convert(detail.spec, RunSpec),
        name=detail.name,
        group_id=detail.group_id or "",
        attempt=detail.attempt,
        status=RunStatus.STOPPED if detail.state == "interrupted" else RunStatus(detail.state),
        counts=Counts(counts.planned, counts.completed, counts.truncated, counts.timeout, counts.failed),
        metrics=tuple(MetricResult(**metric.model_dump()) for metric in detail.metrics),
        usage=Usage(usage.prompt, usage.completion, usage.cached, usage.reasoning, usage.cost_usd, usage.calls),
        created_at=detail.created_at.timestamp(),
        started_at=None if detail.started_at is None else detail.started_at.timestamp(),
        ended_at=None if detail.ended_at is None else detail.ended_at.timestamp(),
        error=detail.error,
        warnings=tuple(detail.warnings),
        tags=tuple(detail.tags),
        info=detail.info,
        provenance=detail.provenance,
    )
