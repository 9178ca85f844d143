"""Read a results directory, and compare it with that of an undisturbed run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.failure import MesocosmError
from mesocosm.core.run import Run, RunStatus
from mesocosm.interop.replay import all_episodes
from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

NAMED = 3
"""Maximum number of findings of one kind to list individually."""


class FindingKind(StrEnum):
    """Kinds of problems.

    `lost`: missing, or no longer there. `twice`: run or requested again although it was recorded. `changed`: a
    different value than undisturbed. `untrue`: marked finished, with different numbers than undisturbed. `damaged`: the
    record differs from what was written. `unrepaired`: one command did not complete it. `endless`: it had to be ended.
    `left`: processes outlived the command.
    """

    LOST = "lost"
    TWICE = "twice"
    CHANGED = "changed"
    UNTRUE = "untrue"
    DAMAGED = "damaged"
    UNREPAIRED = "unrepaired"
    ENDLESS = "endless"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class ChaosFinding:
    """One problem: its kind, a description, and how many cases it covers."""

    sort: FindingKind
    what: str
    count: int = 1


class ExperimentKey(NamedTuple):
    """What identifies the same experiment in different results directories."""

    benchmark: str
    signature: str


@dataclass(frozen=True)
class PlayedRun:
    """One run with its finished episodes that count for the agent."""

    run: Run
    done: Mapping[EpisodeKey, Episode]
    others: int = 0
    """Number of episodes that were started and are still pending."""

    @property
    def experiment(self) -> ExperimentKey:
        """The experiment that it is a run of."""
        return ExperimentKey(self.run.benchmark, self.run.signature)

    @property
    def numbers(self) -> Any:
        """Its metrics in comparable form."""
        return msgspec.to_builtins(self.run.metrics)


@dataclass(frozen=True)
class ResultsRecord:
    """All runs of a results directory, oldest first, and its damages."""

    runs: tuple[PlayedRun, ...] = ()
    damages: tuple[str, ...] = ()

    @property
    def episodes(self) -> int:
        """Number of finished episodes."""
        return sum(len(played.done) for played in self.runs)

    @property
    def whole(self) -> bool:
        """Whether there are runs and all of them are finished."""
        return bool(self.runs) and all(played.run.status is RunStatus.FINISHED for played in self.runs)

    def latest(self) -> dict[ExperimentKey, PlayedRun]:
        """Return the newest run of each experiment."""
        return {played.experiment: played for played in self.runs}


def read_record(place: Path) -> ResultsRecord:
    """Read a results directory and verify its checksums; a directory without results is an empty record."""
    if not (place / DATABASE_NAME).exists():
        return ResultsRecord()
    try:
        store = open_store(place / DATABASE_NAME)
    except (MesocosmError, ValueError, msgspec.MsgspecError) as error:
        return ResultsRecord(damages=(f"the results cannot be opened: {error}",))
    runs: list[PlayedRun] = []
    damages: list[str] = []
    try:
        for run_id in store.runs.ids():
            found = list(all_episodes(store, run_id))
            done = {episode.key: episode for episode in found if episode.ended_at is not None and episode.valid}
            runs.append(PlayedRun(store.runs.get(run_id), done, len(found) - len(done)))
            damages += (f"run {run_id}: {damage.what}" for damage in store.verification.check_run(run_id).damages)
    except (MesocosmError, ValueError, msgspec.MsgspecError) as error:
        damages.append(f"the results cannot be read: {error}")
    finally:
        store.close()
    return ResultsRecord(tuple(runs), tuple(damages))


def outcome(episode: Episode) -> Any:
    """Return the result of an episode in comparable form."""
    cause = "" if episode.failure is None else str(episode.failure.cause)
    return str(episode.status), episode.total_reward, cause, msgspec.to_builtins(sorted(episode.scores, key=_name))


def _name(score: Any) -> str:
    return str(score.name)


@dataclass
class RecordComparison:
    """Collects the problems in the records of one disturbed run of the command.

    `calm` is the undisturbed record. Without `decidable`, two undisturbed runs differed, so changed values mean
    nothing.
    """

    calm: ResultsRecord
    decidable: bool = True
    earlier: ResultsRecord = field(default_factory=ResultsRecord)
    findings: list[ChaosFinding] = field(default_factory=list)

    def add(self, sort: FindingKind, what: str, count: int = 1) -> None:
        """Add a finding, once."""
        found = ChaosFinding(sort, what, count)
        if found not in self.findings:
            self.findings.append(found)

    def look(self, now: ResultsRecord, code: int | None) -> None:
        """Compare the record `now` with the earlier one, and with the claims of run statuses and exit code.

        `code` is the exit code of the command, or None if it was killed.
        """
        for damage in now.damages:
            self.add(FindingKind.DAMAGED, damage)
        self._kept(now)
        self._once(now)
        self._true(now, code)
        self.earlier = now

    def conclude(self, now: ResultsRecord, code: int | None) -> None:
        """Compare the record after the repair with the undisturbed one."""
        self.look(now, code)
        latest = now.latest()
        for experiment, calm in self.calm.latest().items():
            found = latest.get(experiment)
            if found is None:
                self.add(FindingKind.UNREPAIRED, f"there is no run of {experiment.benchmark}")
                continue
            self._compare(calm, found)
            if found.run.status is not calm.run.status:
                said = f": {found.run.error}" if found.run.error else ""
                self.add(FindingKind.UNREPAIRED, f"run {found.run.id} is {found.run.status}{said}")
        if code != 0 and now.whole:
            self.add(FindingKind.UNREPAIRED, f"the repairing command ended with exit code {code}")

    def _compare(self, calm: PlayedRun, found: PlayedRun) -> None:
        missing = [calm.done[key] for key in calm.done if key not in found.done]
        self._add_episodes(FindingKind.LOST, "missing", missing)
        extra = [found.done[key] for key in found.done if key not in calm.done]
        self._add_episodes(FindingKind.TWICE, "not in the undisturbed run", extra)
        if self.decidable:
            both = [key for key in calm.done if key in found.done]
            differ = [found.done[key] for key in both if outcome(found.done[key]) != outcome(calm.done[key])]
            self._add_episodes(FindingKind.CHANGED, "different result than undisturbed", differ)

    def _kept(self, now: ResultsRecord) -> None:
        """Check that everything finished before is still there, as the same episode."""
        runs = {played.run.id: played for played in now.runs}
        for before in self.earlier.runs:
            found = runs.get(before.run.id)
            if found is None:
                self.add(FindingKind.LOST, f"run {before.run.id} is missing", max(len(before.done), 1))
                continue
            pairs = [(episode, found.done.get(key)) for key, episode in before.done.items()]
            self._add_episodes(
                FindingKind.LOST, "was finished and is missing", [old for old, new in pairs if new is None]
            )
            kept = [(old, new) for old, new in pairs if new is not None]
            self._add_episodes(
                FindingKind.TWICE, "was finished and was run again", [new for old, new in kept if old.id != new.id]
            )
            same = [(old, new) for old, new in kept if old.id == new.id]
            changed = [new for old, new in same if outcome(old) != outcome(new) or old.usage != new.usage]
            self._add_episodes(FindingKind.CHANGED, "was finished and has a different result now", changed)

    def _once(self, now: ResultsRecord) -> None:
        """Check that no episode is finished in two runs of one experiment."""
        seen: dict[tuple[ExperimentKey, EpisodeKey], Episode] = {}
        for played in now.runs:
            again = []
            for key, episode in played.done.items():
                if (played.experiment, key) in seen:
                    again.append(episode)
                seen[played.experiment, key] = episode
            self._add_episodes(FindingKind.TWICE, "was finished in an earlier run of the same experiment", again)

    def _true(self, now: ResultsRecord, code: int | None) -> None:
        """Check that runs marked finished have the numbers of an undisturbed run."""
        calm = self.calm.latest()
        for played in now.runs:
            if played.run.status is not RunStatus.FINISHED:
                continue
            right = calm.get(played.experiment)
            if right is None:
                self.add(
                    FindingKind.UNTRUE, f"run {played.run.id} of {played.run.benchmark} has no undisturbed counterpart"
                )
            elif len(played.done) < len(right.done):
                short = f"{len(played.done)} of {len(right.done)} episodes"
                self.add(FindingKind.UNTRUE, f"run {played.run.id} is marked finished with {short}")
            elif self.decidable and played.numbers != right.numbers:
                self.add(FindingKind.UNTRUE, f"run {played.run.id} is marked finished; {_differences(right, played)}")
        if code == 0:
            for experiment in calm.keys() - {
                one.experiment for one in now.runs if one.run.status is RunStatus.FINISHED
            }:
                self.add(FindingKind.UNTRUE, f"exit code 0, but no run of {experiment.benchmark} is finished")

    def _add_episodes(self, sort: FindingKind, what: str, episodes: list[Episode]) -> None:
        if episodes:
            names = ", ".join(f"{episode.index} of run {episode.run_id}" for episode in episodes[:NAMED])
            more = f" and {len(episodes) - NAMED} more" if len(episodes) > NAMED else ""
            self.add(sort, f"episode {names}{more}: {what}", len(episodes))


def _differences(calm: PlayedRun, found: PlayedRun) -> str:
    return "; ".join(_differing(calm, found)) or "its metrics differ from the undisturbed run"


def _differing(calm: PlayedRun, found: PlayedRun) -> Iterator[str]:
    there = {metric.name: metric for metric in found.run.metrics}
    for metric in calm.run.metrics:
        other = there.get(metric.name)
        if other is None:
            yield f"{metric.name} is missing"
        elif other != metric:
            yield (
                f"{metric.name} is {other.value} [{other.low}, {other.high}] n={other.n_scored}/{other.n_planned}, "
                f"undisturbed {metric.value} [{metric.low}, {metric.high}] n={metric.n_scored}/{metric.n_planned}"
            )


def same(first: ResultsRecord, second: ResultsRecord) -> bool:
    """Return whether two undisturbed runs agree in every episode and number."""
    one, other = first.latest(), second.latest()
    return one.keys() == other.keys() and all(
        played.numbers == other[experiment].numbers
        and {key: outcome(episode) for key, episode in played.done.items()}
        == {key: outcome(episode) for key, episode in other[experiment].done.items()}
        for experiment, played in one.items()
    )
