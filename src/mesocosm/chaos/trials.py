"""Run a command twice undisturbed, then under each fault, repair it with one command, and compare the records."""

import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from mesocosm.chaos.fault import ChaosFault, FaultTarget
from mesocosm.chaos.model_proxy import ModelProxy
from mesocosm.chaos.process import ENDS_S, MesocosmProcess
from mesocosm.chaos.record import ChaosFinding, FindingKind, RecordComparison, ResultsRecord, read_record, same
from mesocosm.core.failure import MesocosmError
from mesocosm.core.run import RunStatus

LONGEST_S, LONGER = 300.0, 10.0
"""Time limit of a command that is not killed: seconds, plus a multiple of the undisturbed time."""
MISSES = 5
"""Maximum number of attempts in which the command may end before a signal reaches it."""
_GLANCE_S = 0.005
NOT_NEEDED = "–"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    """What to run: `words` of the command, how often and how long to harm it, and where its results are.

    `continues`: the same command continues an interrupted run; otherwise `run resume` does.
    """

    words: Sequence[str]
    place: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    continues: bool = True
    kills: int = 10
    seconds: float = 3.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Baseline:
    """The undisturbed runs: their record, the seconds and the number of responses that one takes.

    `decidable`: whether both agree. `asked` calls were forwarded to the model's own server.
    """

    record: ResultsRecord
    seconds: float
    answers: int
    asked: int
    decidable: bool
    most_calls: int


@dataclass(frozen=True, slots=True)
class FaultResult:
    """The result of one fault. `met` is how often it struck; if 0, `said` is the reason."""

    fault: ChaosFault
    met: int
    plays: int
    said: str
    repaired_by: str
    findings: tuple[ChaosFinding, ...]
    asked_again: int
    seconds: float

    def number(self, *sorts: FindingKind) -> int:
        """Return the number of findings of the given kinds."""
        return sum(finding.count for finding in self.findings if finding.sort in sorts)


class ChaosTrials:
    """Runs a command under faults. Use it once with `with`: first `undisturbed`, then `under` for each fault."""

    def __init__(self, plan: ChaosPlan, proxy: ModelProxy) -> None:
        self.plan = plan
        self._proxy = proxy
        self._places = count()
        self._command: MesocosmProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the command if it still runs."""
        if self._command is not None and self._command.process.poll() is None:
            self._command.kill(group=True)

    def undisturbed(self) -> Baseline:
        """Run the command twice without a fault. Raises MesocosmError if it does not finish."""
        first, _, _ = self._whole()
        second, seconds, answers = self._whole()
        episodes = [episode for played in second.runs for episode in played.done.values()]
        most = max([episode.usage.calls for episode in episodes] + [-(-answers // max(len(episodes), 1))])
        return Baseline(first, seconds, answers, self._proxy.asked, same(first, second), most)

    def under(self, fault: ChaosFault, calm: Baseline) -> FaultResult:
        """Run the command under a fault until the fault has struck as often as planned."""
        chance = random.Random(f"{self.plan.seed} {fault.name}")
        trial = _Trial(self, fault, calm, chance)
        began = time.monotonic()
        match fault.means:
            case FaultTarget.KILL:
                trial.kill()
            case FaultTarget.SIGNAL | FaultTarget.DISK:
                trial.harm()
            case FaultTarget.MODEL:
                trial.ask()
        return FaultResult(
            fault,
            trial.met,
            trial.plays,
            ", ".join(trial.said) or "ended before the fault",
            " or ".join(trial.repaired) or NOT_NEEDED,
            tuple(trial.findings),
            trial.again,
            time.monotonic() - began,
        )

    @property
    def proxy(self) -> ModelProxy:
        """The proxy between the runs and their model."""
        return self._proxy

    def new_place(self, name: str) -> Path:
        """Return a new directory for the results of one trial."""
        return self.plan.place / f"{next(self._places):02d}-{name}"

    def start(self, words: Sequence[str], place: Path) -> MesocosmProcess:
        """Start a mesocosm command."""
        self._command = MesocosmProcess(words, place, self.plan.variables)
        return self._command

    def repair(self, record: ResultsRecord) -> Sequence[str]:
        """Return the command that continues the runs in a record."""
        unfinished = [played.run.id for played in record.runs if played.run.status is not RunStatus.FINISHED]
        return self.plan.words if self.plan.continues or not unfinished else ("run", "resume", unfinished[-1])

    def _whole(self) -> tuple[ResultsRecord, float, int]:
        place, before = self.new_place("undisturbed"), self._proxy.answered
        command = self.start(self.plan.words, place)
        code = command.process.wait()
        seconds = time.monotonic() - command.started
        record = read_record(place)
        if not record.whole:
            statuses = ", ".join(f"{played.run.benchmark}: {played.run.status}" for played in record.runs) or "no run"
            raise MesocosmError(
                f"undisturbed, the command ended with exit code {code} ({statuses}), so there is nothing to compare "
                f"with; its last words:\n{command.said()}"
            )
        return record, seconds, self._proxy.answered - before


class _Trial:
    """The trial of one fault."""

    def __init__(self, trials: ChaosTrials, fault: ChaosFault, calm: Baseline, chance: random.Random) -> None:
        self._trials, self._plan, self._proxy = trials, trials.plan, trials.proxy
        self._fault, self._calm, self._chance = fault, calm, chance
        self.met = self.plays = self.again = 0
        self.said: list[str] = []
        self.repaired: list[str] = []
        self.findings: list[ChaosFinding] = []
        self._limit = LONGEST_S + LONGER * calm.seconds

    def kill(self) -> None:
        """Kill the command repeatedly, and finally let it end; start new results as often as needed.

        The longest time until a kill grows while nothing gets done and shrinks while something does, so that the kills
        happen during the work on any machine.
        """
        longest = self._calm.seconds
        starts = 0
        while self.met < self._plan.kills and starts < 3 * self._plan.kills + MISSES:
            play = _Play(self, self._fault.name)
            while True:
                done = play.record.episodes
                command = play.start()
                starts += 1
                if self.met >= self._plan.kills:
                    play.to_its_end(command)
                    break
                # Alternate: kill after a random time, which may fall into startup, and after a number of responses.
                some = self._chance.uniform(0.0, 0.3) if starts % 2 and self._calm.answers else None
                code = (
                    command.wait(self._chance.uniform(0.0, longest)) if some is None else play.underway(command, some)
                )
                if code is not None:
                    longest *= 0.8
                    play.over(code)
                    break
                play.left(command.kill(group=self._chance.random() < 0.5))
                self.met += 1
                play.look(None)
                if play.record.whole and not self._plan.continues:
                    play.over(0)
                    break
                if some is None:
                    grown = min(longest * 1.25, 3 * self._calm.seconds)
                    longest = longest * 0.8 if play.record.episodes > done else grown
        self.said = [f"{self.met} killed"]

    def harm(self) -> None:
        """Send a signal, or fill the disk, at a random moment; try again if the command had ended before."""
        for attempt in range(MISSES):
            play = _Play(self, self._fault.name)
            command = play.start()
            code = play.underway(command, self._chance.uniform(0.0, 0.9) * 0.8**attempt)
            if code is None and not self._strike(command):
                command.end()
                self.said = ["not supported on this system"]
                return
            struck = code is None
            code = play.ended(command)
            full = self._fault.means is FaultTarget.DISK
            play.look(code)
            if struck and not (full and code == 0):
                self.met += 1
                self._tell(code, play.record)
            if code != 0 or not play.record.whole:
                play.repair()
            else:
                play.over(code)
            if self.met:
                return

    def ask(self) -> None:
        """Make the model's server fail for some seconds, starting at a random response."""
        if not self._calm.answers:
            self.said = ["not tried: the model has no URL"]
            return
        play = _Play(self, self._fault.name)
        after = self._chance.randint(1, max(int(self._calm.answers * 0.6), 1))
        armed = self._proxy.arm(self._fault.name, after, self._plan.seconds)
        try:
            code = play.ended(play.start())
        finally:
            self._proxy.disarm()
        self.met = armed.met
        play.look(code)
        if self.met:
            self._tell(code, play.record)
        if code != 0 or not play.record.whole:
            play.repair()
        else:
            play.over(code)

    def _strike(self, command: MesocosmProcess) -> bool:
        """Apply the fault; return whether this system supports it."""
        match self._fault.name:
            case "interrupt":
                command.send(signal.SIGINT, group=True)
            case "terminate":
                command.send(signal.SIGTERM, group=False)
            case "suspend":
                command.send(signal.SIGSTOP, group=True)
                command.wait(self._plan.seconds)
                command.send(signal.SIGCONT, group=True)
            case _:
                return command.fill_disk()
        return True

    def _tell(self, code: int, record: ResultsRecord) -> None:
        statuses = sorted({str(played.run.status) for played in record.runs}) or ["no run"]
        self.said.append(f"exit {code}, {' '.join(statuses)}")

    # Read by _Play.

    @property
    def trials(self) -> ChaosTrials:
        """The trials that this belongs to."""
        return self._trials

    @property
    def calm(self) -> Baseline:
        """The undisturbed runs."""
        return self._calm

    @property
    def limit(self) -> float:
        """Time limit in seconds of a command that is not killed."""
        return self._limit

    @property
    def patience(self) -> float:
        """Seconds within which a command must end after it was harmed."""
        return ENDS_S if self._fault.name in {"interrupt", "terminate"} else self._limit


class _Play:
    """One results directory, from the first start to the command that repairs it."""

    def __init__(self, trial: _Trial, name: str) -> None:
        self._trial, self._trials = trial, trial.trials
        self._place = self._trials.new_place(name)
        self._comparison = RecordComparison(trial.calm.record, trial.calm.decidable)
        self._answered = self._trials.proxy.answered
        self._in_flight = self._unrecorded = 0
        self.record = ResultsRecord()
        trial.plays += 1

    def start(self) -> MesocosmProcess:
        """Start the command, or the one that continues the existing runs."""
        return self._trials.start(self._trials.repair(self.record), self._place)

    def underway(self, command: MesocosmProcess, share: float) -> int | None:
        """Wait for a share of the responses of an undisturbed run, or of its time if it needs no responses.

        Return None, or the exit code if the command ended before.
        """
        calm, proxy = self._trial.calm, self._trials.proxy
        if not calm.answers:
            return command.wait((0.2 + 0.8 * share) * calm.seconds)
        wanted, end = proxy.answered + max(round(share * calm.answers), 1), time.monotonic() + 3 * calm.seconds
        code = command.wait(0.0)
        while code is None and proxy.answered < wanted and time.monotonic() < end:
            code = command.wait(_GLANCE_S)
        return code

    def look(self, code: int | None) -> None:
        """Read the record and compare it with the earlier one."""
        self.record = read_record(self._place)
        self._comparison.look(self.record, code)
        for played in self.record.runs:
            if played.run.status is not RunStatus.FINISHED:
                self._in_flight += max(played.others, played.run.spec.parallel)
        if not self.record.whole:
            self._unrecorded += self._trials.proxy.lately()

    def left(self, processes: Sequence[str]) -> None:
        """Add findings for processes that outlived the command."""
        for line in processes:
            self._comparison.add(FindingKind.LEFT, f"outlived the command and was stopped: {line}")

    def ended(self, command: MesocosmProcess, seconds: float | None = None) -> int:
        """Wait for a command that is not killed, and end it after its time limit; return its exit code."""
        limit = self._trial.patience if seconds is None else seconds
        code = command.wait(limit)
        if code is None:
            self._comparison.add(FindingKind.ENDLESS, f"it was still running after {limit:.0f} s and had to be stopped")
            code, left = command.end()
            self.left(left)
        return code

    def repair(self) -> None:
        """Run the command that continues the runs, once, and compare the record."""
        words = self._trials.repair(self.record)
        self.to_its_end(self._trials.start(words, self._place))

    def to_its_end(self, command: MesocosmProcess) -> None:
        """Wait for the end of a repairing command, and compare the record."""
        words = self._trials.repair(self.record)
        name = "the same command" if words is self._trials.plan.words else f"mesocosm {' '.join(words[:2])}"
        if name not in self._trial.repaired:
            self._trial.repaired.append(name)
        self.over(self.ended(command, self._trial.limit))

    def over(self, code: int) -> None:
        """Compare the final record with the undisturbed one."""
        self.record = read_record(self._place)
        self._comparison.conclude(self.record, code)
        self._once_more()
        calm = self._trial.calm
        again = self._trials.proxy.answered - self._answered - calm.answers
        most = self._in_flight * calm.most_calls + self._unrecorded
        if again > most:
            self._comparison.add(
                FindingKind.TWICE,
                f"{again} responses were requested again; at most {most} were pending or recent",
                again - most,
            )
        self._trial.again += max(again, 0)
        self._trial.findings += [one for one in self._comparison.findings if one not in self._trial.findings]

    def _once_more(self) -> None:
        """Check that repeating the command on a finished run calls no model and changes nothing."""
        if not (self._trials.plan.continues and self.record.whole):
            return
        before = self._trials.proxy.answered
        command = self._trials.start(self._trials.plan.words, self._place)
        code = self.ended(command, self._trial.limit)
        self.record = read_record(self._place)
        self._comparison.look(self.record, code)
        asked = self._trials.proxy.answered - before
        if asked:
            self._comparison.add(
                FindingKind.TWICE, "repeating the command on the finished run called the model again", asked
            )
