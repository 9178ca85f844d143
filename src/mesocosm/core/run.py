"""Runs: one benchmark × agent × model × settings."""

from enum import StrEnum
from typing import Any

import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.score import Metric, MetricResult, MetricTerms
from mesocosm.core.usage import NOTHING, Usage
from mesocosm.core.verdict import passing_metric

HOSTED = "hosted"
"""The kind of benchmark that workers of a server run."""


UNVERIFIED = "unverified"
"""Key in the provenance of an imported run: it is not known how its metrics were computed."""

UNASKED = "unasked"
"""Key in the provenance of a run: only its graders called a model."""

RAN_ON = "ran_on"
"""Key in the provenance of a run: number of episodes by the machine that played them, if several processes did."""

RESCORING = "rescoring"
"""Key in the provenance of a run: it is being rescored, or that was interrupted, so its scores are mixed."""

DOUBT = "doubt"
"""Key in the provenance of a run that combines others, or was imported: the doubt about its origin."""

_TERMS = MetricTerms.__struct_fields__

AS_IMPORTED = (
    "its numbers are those of the file that it was imported from; they cannot be computed from its episodes, so it has "
    "no rank and no gate passes on it"
)


BUILTIN = ("builtin/random", "builtin/empty", "builtin/oracle")
"""Models that come with mesocosm: floor and ceiling of a benchmark, never the best."""

_USUAL = frozenset({"loop", "chat", "answer", "program", "scan", "pairwise"})
"""Agents that a name leaves out."""


def _numbered(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def player(model: str) -> str:
    """Return a model as names of runs have it: without its provider, address and path."""
    try:
        parsed = ModelName.parse(model)
    except UsageError:
        return model
    file = parsed.file.replace("\\", "/").rpartition("/")[2]
    if parsed.provider == "builtin":
        return parsed.model.partition(":")[0]
    return file.rpartition(".")[0] or file or parsed.model


class RunStatus(StrEnum):
    """Status of a run.

    `partial`: all episodes ran, but more than `Limits.max_missing` allows have no value for reasons other than the
    agent; such a run has no rank. `stopped` has pending episodes and may be resumed. `failed`: nothing could be scored,
    or the run was aborted.
    """

    PENDING = "pending"
    RUNNING = "running"
    FINISHED = "finished"
    PARTIAL = "partial"
    FAILED = "failed"
    STOPPED = "stopped"


class BenchmarkRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reference to a benchmark: a registered `kind`, its `source` (path, id, module:attr), options of the kind."""

    kind: str
    source: str
    options: dict[str, Any] = {}


class AgentSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """A registered agent and its options, all part of the identity; `label` replaces its name in lists."""

    name: str = "loop"
    options: dict[str, Any] = {}
    label: str = ""

    @property
    def shown(self) -> str:
        """The name to show for the agent."""
        return self.label or self.name


class Selection(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tasks to run: explicit `seeds`, or the first `count` (None: all), each `trials` times."""

    seeds: tuple[int, ...] | None = None
    count: int | None = None
    trials: int = 1


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Budgets; None is unlimited. Episode limits end an episode, run limits stop the run with the rest pending.

    `outage_seconds` is how long the run waits for an endpoint that does not respond before it stops. `max_missing` is
    the share (0 to 1) of planned episodes that may lack a value before the run is `partial`.
    """

    episode_steps: int | None = None
    episode_seconds: float | None = None
    episode_tokens: int | None = None
    run_seconds: float | None = None
    run_tokens: int | None = None
    run_usd: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retries: int = 4
    outage_seconds: float = 300.0
    max_missing: float = 0.02


class RunSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything needed to start a run, or to repeat it. `judge` is the graders' model if it is not the run's."""

    benchmark: BenchmarkRef
    model: ModelSettings
    agent: AgentSettings = AgentSettings()
    selection: Selection = Selection()
    limits: Limits = Limits()
    parallel: int = 1
    name: str = ""
    tags: tuple[str, ...] = ()
    judge: ModelSettings | None = None


class LeaseOwner(msgspec.Struct, frozen=True):
    """The process that works on a run: host, process id with its start time, boot id of the machine."""

    host: str
    pid: int
    started: float
    boot: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class ScoreBins(msgspec.Struct, frozen=True):
    """How many primary scores fall into each of `counts`, equal bins from `low` to `high`, which the last includes."""

    low: float
    high: float
    counts: tuple[int, ...]


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Number of episodes of a run by status and by outcome; `planned` is the target.

    By outcome: `passed` and `not_passed` by the threshold of the primary metric, where failures of the agent itself
    are not passed; `errors` ended without a measurement. What was skipped on purpose is in none of them.
    """

    planned: int = 0
    completed: int = 0
    truncated: int = 0
    timeout: int = 0
    failed: int = 0
    passed: int = 0
    not_passed: int = 0
    errors: int = 0

    @property
    def done(self) -> int:
        """Episodes that are finished and stored."""
        return self.completed + self.truncated + self.timeout + self.failed

    @property
    def pending(self) -> int:
        """Episodes still to run."""
        return max(self.planned - self.done, 0)

    @property
    def scoreable(self) -> int:
        """Episodes that ended with a status that is scored."""
        return self.completed + self.truncated + self.timeout


class Run(msgspec.Struct, omit_defaults=True):
    """The row of one run. Times are UNIX seconds.

    `info` is the benchmark's description when the run started (a core.info.BenchmarkInfo as JSON); `provenance` names
    versions, host and command. `chain` is the head of the hash chain over its finished episodes (`COUNT:DIGEST`), empty
    for runs from before it was introduced. `bins` is the distribution of its primary scores; None while it goes on,
    and where all of them are 0 or 1.
    """

    id: str
    signature: str
    benchmark: str
    benchmark_title: str
    benchmark_version: str
    benchmark_digest: str
    kind: str
    model: str
    agent: str
    spec: RunSpec
    name: str = ""
    group_id: str = ""
    attempt: int = 1
    status: RunStatus = RunStatus.PENDING
    counts: Counts = Counts()
    metrics: tuple[MetricResult, ...] = ()
    usage: Usage = NOTHING
    created_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None
    heartbeat_at: float | None = None
    holder: LeaseOwner | None = None
    stop_requested: bool = False
    error: str = ""
    warnings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    info: dict[str, Any] = {}
    provenance: dict[str, Any] = {}
    chain: str = ""
    bins: ScoreBins | None = None

    @property
    def hosted(self) -> bool:
        """Whether workers of a server run it; they may take it over from each other."""
        return self.spec.benchmark.kind == HOSTED

    @property
    def title(self) -> str:
        """What it is called: its name or, without one, its benchmark, its model and what sets it apart."""
        return self.name.strip() or " · ".join(filter(None, (self.subject, self.player, self.differs)))

    @property
    def subject(self) -> str:
        """The benchmark in a name: of a title such as `GSM8K: word problems` what stands before the colon."""
        return self.benchmark_title.partition(": ")[0] or self.benchmark

    @property
    def player(self) -> str:
        """The model in a name, see `player`."""
        return player(self.model)

    @property
    def differs(self) -> str:
        """What sets it apart from other runs of its benchmark and model, by its own settings; "" if nothing does.

        Runs with equal settings differ only in their attempt.
        """
        spec, found = self.spec, list[str]()
        seeds, count, trials = spec.selection.seeds, spec.selection.count, spec.selection.trials
        if seeds is not None:
            found.append(_numbered(len(seeds), "seed"))
        elif count is not None:
            found.append(_numbered(count, "seed" if self.kind == "environment" else "task"))
        if trials > 1:
            found.append(_numbered(trials, "trial"))
        if spec.model.name.startswith("replay/"):
            found.append("replay")
        if spec.agent.label or (spec.agent.name not in _USUAL and self.kind != "rollout"):
            found.append(spec.agent.shown)
        parameters, chosen = (spec.benchmark.options.get(name) for name in ("parameters", "chosen"))
        if isinstance(parameters, dict) and isinstance(chosen, list):
            values = ((name, parameters.get(name)) for name in chosen)
            found += [f"{name} {value}" for name, value in values if isinstance(value, str | int | float)]
        if spec.model.temperature:
            found.append(f"temperature {spec.model.temperature:g}")
        if spec.judge is not None:
            found.append(f"judge {player(spec.judge.name)}")
        if self.attempt > 1:
            found.append(f"attempt {self.attempt}")
        return ", ".join(found)

    @property
    def terms(self) -> MetricTerms:
        """How its metrics are computed. Raise msgspec.ValidationError if `info` is invalid."""
        return msgspec.convert({name: self.info[name] for name in _TERMS if name in self.info}, MetricTerms)

    @property
    def passing(self) -> Metric | None:
        """The metric that says which episodes pass; None if none is declared, or what is declared cannot be read.

        Where scores are other than 0 and 1 and there is no threshold, no value passes or fails: it is not `directed`.
        """
        try:
            found = passing_metric(self.terms.metrics)
        except msgspec.ValidationError:  # An imported run may declare anything.
            return None
        if found is None or self.bins is None or found.aggregation == "pass_rate":
            return found
        return msgspec.structs.replace(found, directed=False)

    @property
    def rules(self) -> str:
        """The digest of the content that computed its scores: that of the benchmark, unless it was rescored."""
        return self.regraded or self.benchmark_digest

    @property
    def regraded(self) -> str:
        """The digest of the content that scored it if it ran with other content, otherwise "".

        It is "unknown" while a run is rescored with content that has no digest. Changes in how scores are read (such as
        another pass threshold) do not count.
        """
        content = self.provenance.get("graded_with")
        if self.provenance.get(RESCORING):
            return str(content or "unknown")
        if content is None:
            # Earlier versions did not distinguish the two.
            content = self.provenance.get("rescored_with", "")
            content = "" if content == digest(self.info.get("metrics", [])) else content
        return "" if content == self.benchmark_digest else str(content)

    @property
    def rescored(self) -> str:
        """A note for readers if it was rescored, otherwise an empty string."""
        content = self.provenance.get("rescored_with")
        if self.provenance.get(RESCORING):
            return (
                f"is being rescored with content {self.regraded}, or that was cut off: its scores are of two kinds, "
                f"and its numbers are the earlier ones; mesocosm run rescore {self.id} scores all of it"
            )
        if not content:
            return ""
        if self.regraded:
            return f"rescored with content {self.regraded}; it was played with {self.benchmark_digest or 'another'}"
        if content == self.benchmark_digest:
            return "rescored with the content that it was played with"
        return f"its scores are read by other metrics than when it was played (rescored with {content})"

    @property
    def unverified(self) -> bool:
        """Whether its metrics were imported and cannot be computed from its episodes."""
        # Earlier versions imported replay files without a mark.
        unmarked = self.kind == "imported" and bool(self.metrics) and not self.info.get("metrics")
        return bool(self.provenance.get(UNVERIFIED)) or unmarked

    @property
    def ran_on(self) -> dict[str, int]:
        """Number of episodes by the machine that played them; empty if the run's own process played all."""
        found = self.provenance.get(RAN_ON)
        counts = found.items() if isinstance(found, dict) else ()
        return {str(place): count for place, count in counts if isinstance(count, int)}

    @property
    def unasked(self) -> bool:
        """Whether programs ran it without any recorded call of its model, apart from calls by graders.

        They may have used no model, or called another one directly: the results may not be the model's.
        """
        programs = self.info.get("judged") or self.info.get("growing") or self.info.get("agent") == "program"
        apart = self.info.get("offline") or self.model.startswith("builtin/")
        asked = self.usage.calls and not self.provenance.get(UNASKED)
        return bool(programs and not apart and self.counts.scoreable and not asked)

    @property
    def doubt(self) -> str:
        """Why its metrics must not be ranked, gated or pooled, in any status; "" if there is no reason.

        Only this property decides it. How much of a run may be missing is up to the caller.
        """
        if self.provenance.get(DOUBT):
            return str(self.provenance[DOUBT])
        if self.unasked:
            return "no call of its model is on record"
        if self.provenance.get(RESCORING):
            return "it is being rescored, or that was cut off, so its scores are of two kinds"
        if self.unverified:
            return "its numbers came with a file and cannot be computed from its episodes"
        return ""

    @property
    def primary(self) -> MetricResult | None:
        """The metric that ranks this run, once computed."""
        return next((metric for metric in self.metrics if metric.primary), None)

    def worked_s(self, now: float) -> float | None:
        """Return the working time of this run in seconds, without pauses between sessions; None before the first.

        `now` is the UNIX time up to which a current session counts. An imported run without data about its sessions
        counts from its start to its end.
        """
        worked, since = self.provenance.get("worked_s"), self.provenance.get("session_at")
        if self.started_at is None:
            return None
        earlier = float(worked) if isinstance(worked, int | float) else None
        if self.ended_at is not None:
            return max(self.ended_at - self.started_at, 0.0) if earlier is None else earlier
        if isinstance(since, int | float):
            return (earlier or 0.0) + max(now - since, 0.0)
        return max(now - self.started_at, 0.0)
