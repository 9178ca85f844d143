"""Captures as episodes: found, validated, shown step by step, and scored by their recorded outcome."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from mesocosm.benchmarks.builtin.eliza_replay.capture import MOST_BYTES, Capture, CaptureCounts, events_of, read_capture
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, Incompatible, Problem, UsageError
from mesocosm.core.ids import digest, digest_bytes
from mesocosm.core.ports import Environment, Observation, Step
from mesocosm.core.score import Score
from mesocosm.core.task import Task

NAMED = 5
"""Maximum number of files of one kind that a notice names."""
READ = (
    "score",
    "event_count",
    "llm_event_count",
    "tool_event_count",
    "decision_event_count",
    "duration_ms",
    "tool_error_rate",
    "prompt_tokens",
    "completion_tokens",
)
"""Fields that only a capture in the expected format has."""


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """A capture file: its name inside the given folder, the digest of its bytes, and its parsed content."""

    name: str
    path: Path
    content: str
    capture: Capture

    @property
    def summary(self) -> dict[str, Any]:
        """The summary shown before its events."""
        counts = self.capture.counts
        if counts is None:
            return {"file": self.name, "problems": [str(problem) for problem in self.capture.problems]}
        return {
            "file": self.name,
            "success": self.capture.success,
            "models": list(counts.models),
            "events": counts.events,
            "tool_errors": counts.tool_errors,
        }


class ElizaReplay(NativeBenchmark):
    """Implements core.ports.Benchmark over captures."""

    def load(self) -> LoadedTasks:
        """Return one task for each file. Raises Incompatible if no path is set, UsageError if it has no file."""
        found = self.found
        tasks = [Task(id=file.name, input={"capture": file.content}, metadata={"item": True}) for file in found]
        return LoadedTasks(tasks, digest(sorted(file.content for file in found)))

    @cached_property
    def found(self) -> tuple[CaptureFile, ...]:
        """All files, sorted by name; each is parsed once, and its events again when they are shown."""
        path = self.setup.path("capture_path")
        if path is None:
            raise Incompatible(
                self.descriptor.id,
                ["nothing says what to score; set the parameter capture_path to a file or folder of captures"],
            )
        pattern = str(self.parameters.get("capture_glob") or "*.replay.json")
        return tuple(_read(name, file) for name, file in _files(path, pattern))

    def card(self) -> dict[str, Any]:
        """Return the descriptor's card with the models in the captures and the files that do not count."""
        return {
            **super().card(),
            "models": sorted({model for file in self.found for model in _models(file)}),
            "malformed": [file.name for file in self._malformed],
            "without_outcome": [file.name for file in self._without_outcome],
        }

    async def open(self, notice: Callable[[str], None]) -> None:
        """Report what was found."""
        found = self.found
        models = Counter(model for file in found for model in _models(file))
        played = ", ".join(f"{model} ({count})" for model, count in sorted(models.items())) or "none named"
        notice(f"{len(found)} capture{'s' * (len(found) != 1)}; models in their events: {played}")
        for what, files in (("malformed", self._malformed), ("without an outcome", self._without_outcome)):
            if files:
                names = ", ".join(file.name for file in files[:NAMED]) + ", …" * (len(files) > NAMED)
                notice(f"{len(files)} of {len(found)} captures {what}, so without a score: {names}")

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment that shows the events of a capture again."""
        del episode_id
        return ReplayEnvironment(self._by_content[task.input["capture"]])

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return outcome and counts of the capture; absent values are missing, with the reason."""
        del episode
        return list(_scores(self._by_content[task.input["capture"]].capture))

    @cached_property
    def _by_content(self) -> dict[str, CaptureFile]:
        return {file.content: file for file in self.found}

    @property
    def _malformed(self) -> list[CaptureFile]:
        return [file for file in self.found if file.capture.problems]

    @property
    def _without_outcome(self) -> list[CaptureFile]:
        return [file for file in self.found if file.capture.counts is not None and file.capture.success is None]


class ReplayEnvironment:
    """Shows a summary, then event by event. Implements core.ports.Environment."""

    def __init__(self, file: CaptureFile) -> None:
        self._file = file
        self._events: list[Any] = []
        self._at = 0

    async def reset(self) -> Observation:
        """Return a summary of the file. Raises EpisodeError if the file changed since the run began."""
        if self._file.capture.counts is not None:
            data = _bytes(self._file.path)
            if digest_bytes(data) != self._file.content:
                raise EpisodeError(
                    Cause.ENVIRONMENT_INVALID, f"capture {self._file.name} has changed since the run began; start again"
                )
            self._events = events_of(data)["events"]
        return Observation(self._file.summary)

    async def step(self, action: Any) -> Step:
        """Return the next event; the episode ends after the last one."""
        del action
        if not self._events:
            return Step(Observation(None), terminated=True, info=self._file.summary)
        self._at += 1
        over = self._at == len(self._events)
        return Step(Observation(self._events[self._at - 1]), terminated=over, info=self._file.summary if over else {})

    async def oracle(self) -> Any:
        """Raise EpisodeError: recorded events cannot be changed."""
        raise EpisodeError(Cause.ENVIRONMENT_INVALID, "a capture has no best action")

    async def close(self) -> None:
        """Release the events."""
        self._events = []


def _files(path: Path, pattern: str) -> list[tuple[str, Path]]:
    """Return names and paths of the files that match a pattern in a folder; a single file is taken by any name."""
    if path.is_file():
        return [(path.name, path)]
    if PurePath(pattern).is_absolute() or ".." in PurePath(pattern).parts:
        raise UsageError(f"eliza_replay: capture_glob {pattern!r} leads out of the folder; write it relative to that")
    try:
        places = sorted(place for place in path.rglob(pattern) if not place.is_dir())
    except (ValueError, NotImplementedError) as error:
        raise UsageError(f"eliza_replay: capture_glob {pattern!r} is not a pattern of file names: {error}") from error
    if not places:
        raise UsageError(f"eliza_replay: no file in {path} matches {pattern!r}; check capture_path and capture_glob")
    return [(place.relative_to(path).as_posix(), place) for place in places]


def _read(name: str, path: Path) -> CaptureFile:
    try:
        data = _bytes(path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or type(error).__name__}"
        return CaptureFile(name, path, digest([name, problem]), Capture(problems=(Problem("", problem),)))
    return CaptureFile(name, path, digest_bytes(data), read_capture(data))


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _models(file: CaptureFile) -> tuple[str, ...]:
    return file.capture.counts.models if file.capture.counts is not None else ()


def _scores(capture: Capture) -> Iterator[Score]:
    counts = capture.counts
    if counts is None:
        reason = "; ".join(str(problem) for problem in capture.problems)
        yield from (Score(name, missing=Cause.VALUE_UNUSABLE, explanation=reason) for name in READ)
    else:
        yield _score("score", capture.success, "the capture has no outcome.success")
        yield from _counted(counts)
    yield Score("malformed", float(counts is None))
    yield Score("without_outcome", float(counts is not None and capture.success is None))


def _counted(counts: CaptureCounts) -> Iterator[Score]:
    yield Score("event_count", counts.events)
    yield Score("llm_event_count", counts.llm)
    yield Score("tool_event_count", counts.tool)
    yield Score("decision_event_count", counts.decision)
    yield _score("duration_ms", counts.duration_ms, "no event has a time that can be read")
    yield _score("tool_error_rate", counts.tool_errors / counts.tool if counts.tool else None, "no tool was called")
    yield _score("prompt_tokens", counts.prompt_tokens, "no event has prompt_tokens")
    yield _score("completion_tokens", counts.completion_tokens, "no event has completion_tokens")


def _score(name: str, value: float | None, lacking: str) -> Score:
    if value is None:
        return Score(name, missing=Cause.VALUE_MISSING, explanation=lacking)
    return Score(name, float(value))


open_benchmark = ElizaReplay
