"""`mesocosm check`: run an environment and compare its behaviour with what its manifest declares."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

import msgspec

from mesocosm.agents.multi_agent import MultiAgentParams
from mesocosm.agents.technique import declared_params
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import new_id
from mesocosm.core.run import BenchmarkRef
from mesocosm.core.sampling import sample
from mesocosm.core.task import Task
from mesocosm.environments.benchmark import EnvironmentBenchmark, open_environment
from mesocosm.environments.client import HttpEnvironment
from mesocosm.stats import aggregate, usable

FILE = ".mesocosm-check.json"
"""File of the result, beside the manifest. Hidden, so that it does not change the digest."""

STEPS = 50
"""Maximum steps of an episode if the manifest sets no limit."""

_MOST_BYTES = 1_000_000
_MOST_PROBLEMS = 20
_LONGEST = 300

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one test; `ok` is None if it is undecided."""

    name: str
    ok: bool | None
    message: str


@dataclass(slots=True)
class CheckResult:
    """The result of a check of the content with this digest. Scores are those of the primary metric.

    `floor` is the score of random actions, `ceiling` that of the oracle; None if unknown.
    """

    environment: str
    digest: str
    seeds: int
    parallel: int
    deterministic: bool | None = None
    isolated: bool | None = None
    floor: float | None = None
    ceiling: float | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return all(finding.ok is not False for finding in self.findings)

    @property
    def words(self) -> str:
        """The result in one line."""
        if not self.ok:
            wrong = ", ".join(finding.name for finding in self.findings if finding.ok is False)
            return f"checked, with problems: {wrong}"
        parts = [
            "deterministic" if self.deterministic else "not deterministic" if self.deterministic is False else "",
            f"{self.parallel} at once" if self.isolated else "",
            f"random {self.floor:.4g}" if self.floor is not None else "",
            f"oracle {self.ceiling:.4g}" if self.ceiling is not None else "no oracle",
        ]
        return f"checked on {self.seeds} seeds: {', '.join(part for part in parts if part)}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document of the result."""
        return {"ok": self.ok, "words": self.words, **asdict(self)}


class CheckReport(msgspec.Struct, frozen=True):
    """The result of the author's check of a submission.

    `state` is `passed`, `failed`, `outdated` (other content was checked) or `unchecked`. The server does not repeat the
    check: a pass is only the author's statement.
    """

    state: Literal["passed", "failed", "outdated", "unchecked"] = "unchecked"
    summary: str = "not checked"
    problems: tuple[str, ...] = ()


class _Found(msgspec.Struct, frozen=True):
    """A finding in an untrusted file."""

    name: str
    message: str
    ok: bool | None = None


class _Written(msgspec.Struct, frozen=True):
    """A result in an untrusted file; only its findings decide whether it passed, not its own `ok`."""

    digest: str
    words: str
    findings: tuple[_Found, ...] = ()


@dataclass(slots=True)
class CheckedEpisode:
    """One episode: its observations and results step by step, and its row."""

    row: Episode
    seen: list[Any] = field(default_factory=list)
    roles: set[str] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    failure: str = ""
    close: str = ""


async def check(manifest: Path, say: Say, *, seeds: int = 5, parallel: int = 8) -> CheckResult:
    """Run the environment of `manifest` and return the result. Raise UsageError, RunAborted if it cannot start.

    Each seed is run with random actions in one process and again in another; then all seeds concurrently; then with the
    environment's oracle, if it has one. `say` is called with messages for the user.
    """
    ref = BenchmarkRef("environment", str(manifest), {})
    first = open_environment(ref)
    limit = first.info.parallel
    verdict = CheckResult(first.info.id, first.info.digest, seeds, min(parallel, limit) if limit else parallel)
    alone = await _opened(first, say, verdict, _sequentially)
    again = await _opened(open_environment(ref), say, verdict, _sequentially)
    together = await _opened(open_environment(ref), say, verdict, _together)
    _failures(verdict, [*alone, *again, *together])
    _closes(verdict, [*alone, *again, *together])
    _determinism(verdict, first, alone, again)
    _isolation(verdict, alone, together)
    _contract(verdict, first, alone)
    verdict.floor = await _score(first, alone)
    benchmark = open_environment(ref)
    await _opened(benchmark, say, verdict, _by_oracle)
    return verdict


_Play = Callable[[EnvironmentBenchmark, CheckResult], Any]


async def _opened(benchmark: EnvironmentBenchmark, say: Say, verdict: CheckResult, play: _Play) -> list[CheckedEpisode]:
    """Return the episodes that `play` runs in a new process."""
    try:
        await benchmark.open(say)
        episodes: list[CheckedEpisode] = await play(benchmark, verdict)
        return episodes
    finally:
        await benchmark.close()


async def _sequentially(benchmark: EnvironmentBenchmark, verdict: CheckResult) -> list[CheckedEpisode]:
    return [await _whole(benchmark, seed) for seed in range(verdict.seeds)]


async def _together(benchmark: EnvironmentBenchmark, verdict: CheckResult) -> list[CheckedEpisode]:
    """Run the seeds, `parallel` episodes at a time; close each one twice while others are still running."""
    played: list[CheckedEpisode] = []
    wanted = [number % verdict.seeds for number in range(max(verdict.parallel, verdict.seeds))]
    while wanted:
        some, wanted = wanted[: verdict.parallel], wanted[verdict.parallel :]
        played += await asyncio.gather(*(_whole(benchmark, seed, closes=2) for seed in some))
    return played


async def _by_oracle(benchmark: EnvironmentBenchmark, verdict: CheckResult) -> list[CheckedEpisode]:
    if not benchmark.info.oracle:
        return []
    played = [await _whole(benchmark, seed, oracle=True) for seed in range(verdict.seeds)]
    _failures(verdict, played, "oracle")
    verdict.ceiling = await _score(benchmark, played)
    floor, ceiling = verdict.floor, verdict.ceiling
    if floor is not None and ceiling is not None:
        up = benchmark.manifest.scoring.higher_is_better
        above = ceiling > floor if up else ceiling < floor
        message = (
            f"the oracle scores {ceiling:.4g}, random actions {floor:.4g}, on {verdict.seeds} seeds each: an "
            "impression, no measurement; mesocosm run local gives numbers with their intervals"
        )
        same = ceiling == floor
        verdict.findings.append(Finding("floor and ceiling", above if not same else None, message))
    return played


async def _whole(
    benchmark: EnvironmentBenchmark, seed: int, *, oracle: bool = False, closes: int = 1
) -> CheckedEpisode:
    """Run one episode to its end or to the step limit."""
    task = Task(f"seed-{seed}", seed=seed)
    row = Episode(
        id=new_id(), run_id="check", task_digest=task.digest(), task_id=task.id, status=EpisodeStatus.COMPLETED
    )
    played = CheckedEpisode(row)
    environment = await benchmark.environment(task, row.id)
    try:
        await _steps(benchmark, environment, Random(seed), played, oracle=oracle)
    except EpisodeError as error:
        played.failure = str(error)
    for _ in range(closes):
        played.close = played.close or await environment.closed_with()
    await environment.close()
    return played


async def _steps(
    benchmark: EnvironmentBenchmark, environment: HttpEnvironment, dice: Random, played: CheckedEpisode, *, oracle: bool
) -> None:
    row = played.row
    observation = await environment.reset()
    played.seen.append([observation.data, observation.content_type, observation.system_prompt])
    played.notes.update(dict.fromkeys(observation.notes))
    _role(played, observation.data, observation.info)
    for _ in range(benchmark.info.max_steps or STEPS):
        action = await environment.oracle() if oracle else sample(benchmark.action_space, dice)
        step = await environment.step(action)
        row.total_reward += step.reward
        row.terminal_info = step.info
        row.steps += 1
        data = step.observation.data
        played.seen.append([data, step.reward, step.terminated, step.truncated, step.info, step.system_prompt])
        # Under the oracle, only notes about observations count.
        played.notes.update(dict.fromkeys((*step.observation.notes, *(step.notes if not oracle else ()))))
        _role(played, data, step.info)
        if step.terminated or step.truncated:
            return
    row.status = EpisodeStatus.TRUNCATED


def _role(played: CheckedEpisode, data: Any, info: Mapping[str, Any]) -> None:
    inside = data.get("active_role") if isinstance(data, Mapping) else None
    played.roles.update(role for role in (info.get("active_role"), inside) if isinstance(role, str) and role)


def _failures(verdict: CheckResult, played: Sequence[CheckedEpisode], who: str = "episodes") -> None:
    broken = [one for one in played if one.failure]
    message = f"{len(played)} played"
    if broken:
        message = f"{len(broken)} of {len(played)} failed, {broken[0].row.task_id} first: {broken[0].failure}"
    verdict.findings.append(Finding(who, not broken, message))


def _closes(verdict: CheckResult, played: Sequence[CheckedEpisode]) -> None:
    wrong = next((one.close for one in played if one.close), "")
    verdict.findings.append(Finding("close", not wrong, wrong or "every episode was closed, some of them twice"))


def _determinism(
    verdict: CheckResult,
    benchmark: EnvironmentBenchmark,
    alone: Sequence[CheckedEpisode],
    again: Sequence[CheckedEpisode],
) -> None:
    name, declared = "determinism", benchmark.manifest.vow.episode.deterministic_reset
    pairs = [(one, two) for one, two in zip(alone, again, strict=True) if not (one.failure or two.failure)]
    if not pairs:
        verdict.findings.append(Finding(name, None, "no episode could be played twice"))
        return
    other = next((one for one, two in pairs if one.seen != two.seen), None)
    verdict.deterministic = other is None
    if other is None:
        verdict.findings.append(
            Finding(name, ok=True, message=f"{len(pairs)} seeds gave the same episodes in two processes")
        )
        return
    message = f"{other.row.task_id} gave another episode in another process, under equal actions"
    verdict.findings.append(Finding(name, False if declared else None, message))


def _isolation(verdict: CheckResult, alone: Sequence[CheckedEpisode], together: Sequence[CheckedEpisode]) -> None:
    name = "isolation"
    if verdict.deterministic is not True:
        verdict.findings.append(Finding(name, None, "cannot be told, because equal seeds give different episodes"))
        return
    known = {one.row.task_id: one.seen for one in alone if not one.failure}
    compared = [one for one in together if not one.failure and one.row.task_id in known]
    other = next((one for one in compared if one.seen != known[one.row.task_id]), None)
    lost = next((one for one in together if one.failure and one.row.task_id in known), None)
    verdict.isolated = bool(compared) and other is None and lost is None
    if verdict.isolated:
        message = f"{verdict.parallel} at once, some closed twice, play as each does alone"
    elif lost is not None:
        message = f"{lost.row.task_id} fails beside others: {lost.failure}"
    elif other is not None:
        message = f"{other.row.task_id} plays differently beside others: do episodes share a state?"
    else:
        message = "no episode could be compared"
    verdict.findings.append(Finding(name, verdict.isolated, message))


def _contract(verdict: CheckResult, benchmark: EnvironmentBenchmark, played: Sequence[CheckedEpisode]) -> None:
    """Compare the declared spaces, reward, roles and fields with the observed ones."""
    notes = list(dict.fromkeys(note for one in played for note in one.notes))
    verdict.findings.append(Finding("spaces and answers", not notes, "; ".join(notes) or "as declared"))
    ended = [one for one in played if not one.failure]
    if not ended:
        verdict.findings.append(Finding("reward and scoring", None, "no episode came to its end"))
        return
    reward = benchmark.manifest.vow.reward
    outside = [
        one.row.total_reward
        for one in ended
        if (reward.low is not None and one.row.total_reward < reward.low)
        or (reward.high is not None and one.row.total_reward > reward.high)
    ]
    message = f"an episode's reward of {outside[0]:.6g} is outside the declared range" if outside else "as declared"
    verdict.findings.append(Finding("reward", not outside, message))
    _roles(verdict, benchmark, played)
    fields = {metric.field for metric in benchmark.manifest.scoring.metrics if metric.type == "terminal_field"}
    absent = sorted(name for name in fields if name and any(name not in one.row.terminal_info for one in ended))
    message = f"the last info lacks {', '.join(absent)}" if absent else "every metric finds its field"
    if fields:
        verdict.findings.append(Finding("scoring", not absent, message))


def _roles(verdict: CheckResult, benchmark: EnvironmentBenchmark, played: Sequence[CheckedEpisode]) -> None:
    declared: set[str] = set()
    for technique in benchmark.manifest.vow.techniques:
        if technique.technique_id == "multi_agent":
            roles = declared_params(technique.config_schema).get("roles", {})
            declared |= set(MultiAgentParams.model_validate({"roles": roles}).roles)
    named = {role for one in played for role in one.roles}
    if declared or named:
        unknown = sorted(named - declared)
        message = f"{', '.join(unknown)} acts, but is not declared" if unknown else "as declared"
        verdict.findings.append(Finding("roles", not unknown, message))


async def _score(benchmark: EnvironmentBenchmark, played: Sequence[CheckedEpisode]) -> float | None:
    """Return the primary metric over the episodes that ended in the ordinary way."""
    metric = next(metric for metric in benchmark.info.metrics if metric.primary)
    values: list[float] = []
    for one in played:
        if one.failure:
            continue
        scores = await benchmark.grade(Task(one.row.task_id), one.row)
        value = next((score.value for score in scores if score.name == metric.score), None)
        if value is not None and usable(value):
            values.append(value)
    if not values:
        return None
    return aggregate(metric.aggregation, values, list(range(len(values))), threshold=metric.bar).value


def write(verdict: CheckResult, manifest: Path) -> Path:
    """Write the verdict beside the manifest and return the file. Raises OSError."""
    path = manifest.parent / FILE
    path.write_text(json.dumps(verdict.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read_verdict(manifest: Path, digest: str) -> CheckReport:
    """Return what the verdict beside a manifest says about the content with this digest."""
    try:
        with (manifest.parent / FILE).open("rb") as file:
            document = read_json(file.read(_MOST_BYTES), _Written)
    except (OSError, msgspec.DecodeError):
        return CheckReport("unchecked", "not checked")
    if document.digest != digest:
        return CheckReport("outdated", "checked before it was changed")
    wrong = [one for one in document.findings if one.ok is False]
    problems = tuple(_line(f"{one.name}: {one.message}") for one in wrong[:_MOST_PROBLEMS])
    if problems:
        names = ", ".join(_line(one.name) for one in wrong[:_MOST_PROBLEMS])
        return CheckReport("failed", f"checked by its author, with problems: {names}"[:_LONGEST], problems)
    if not document.findings:
        return CheckReport("unchecked", "not checked")
    return CheckReport("passed", _line(f"{document.words} (by its author)"))


def _line(text: str) -> str:
    """Return foreign text as one line that shows what it is."""
    seen = "".join(" " if letter.isspace() else letter for letter in text if letter.isprintable() or letter.isspace())
    return " ".join(seen.split())[:_LONGEST]
