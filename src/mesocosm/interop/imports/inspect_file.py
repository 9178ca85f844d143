"""Read logs of Inspect (`.eval` and `.json`, version 2) as runs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import RULES, Cause, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.run import RunStatus
from mesocosm.core.score import Metric, Score
from mesocosm.interop.imports.assembly import ForeignHead, ForeignSample, ImportedRun, assemble
from mesocosm.interop.imports.foreign_json import read_foreign_json
from mesocosm.interop.imports.inspect_sample import SampleReader, moment
from mesocosm.interop.imports.inspect_values import is_grade, named_values
from mesocosm.interop.imports.zip_members import ZipMembers

FORM = "inspect"
HEADER = "inspect-header.json"
"""Name of the file of a run with the log's own header and reductions."""

VERSION = 2
EXPORTED = "mesocosm_run"
"""Key in the metadata of a log that was exported from here: the id of the run."""

JSON = dict[str, Any]

_SAMPLES = "samples/"
_PIECE = 1 << 18
_STATUS = {
    "success": RunStatus.FINISHED,
    "started": RunStatus.STOPPED,
    "cancelled": RunStatus.STOPPED,
    "error": RunStatus.STOPPED,
}


@dataclass(slots=True)
class InspectLog:
    """One log. `header` is an `EvalLog` without samples; `listed` are the samples that its summaries name."""

    path: Path
    header: JSON
    reductions: Any = None
    listed: list[tuple[Any, int]] = field(default_factory=list)
    _samples: list[Any] | None = None
    _members: list[str] = field(default_factory=list)
    _kinds: dict[str, bool] = field(default_factory=dict)

    def run(self, redactor: Redactor) -> ImportedRun:
        """Return the log as a run. Raises UsageError for a log without samples, or with a damaged one."""
        head = self._head()
        if not self._members and not self._samples:
            status = self.header.get("status")
            raise UsageError(
                f"{self.path} is a log of Inspect without samples (status {status}), so nothing can be computed from "
                "it; run it with log_samples, or import another log"
            )
        found = assemble(head, lambda: self._read(redactor), self.path, redactor, self._declare)
        if absent := self._absent(found.episodes):
            head.warnings += (absent,)
            found.run.warnings = head.warnings
        return found

    def summary(self) -> "LogSummary":
        """Return what a list of logs shows; reads no samples."""
        spec = self.header["eval"]
        results = self.header.get("results") or {}
        return LogSummary(
            task=str(spec.get("task") or ""),
            model=str(spec.get("model") or ""),
            status=str(self.header.get("status") or ""),
            samples=results.get("completed_samples"),
            headline=headline(results, spec.get("headline_metric")),
            created=moment(spec.get("created")) or 0.0,
        )

    def _head(self) -> ForeignHead:
        header, spec = self.header, self.header["eval"]
        results, config = header.get("results") or {}, spec.get("config") or {}
        generate, stats = spec.get("model_generate_config") or {}, header.get("stats") or {}
        generate = {**((header.get("plan") or {}).get("config") or {}), **generate}
        status = _STATUS.get(str(header.get("status")), RunStatus.STOPPED)
        error = header.get("error") or {}
        task = str(spec.get("task_registry_name") or spec.get("task") or "task")
        dataset = spec.get("dataset") or {}
        ids, epochs = dataset.get("sample_ids"), int(config.get("epochs") or 1)
        planned = len(ids) * epochs if isinstance(ids, list) else None
        if results.get("early_stopping") is not None:
            planned = None
        told = str(error.get("message") or "") if isinstance(error, Mapping) else ""
        if status is RunStatus.STOPPED and not told:
            told = f"the log's status is {header.get('status')}"
        exported = (spec.get("metadata") or {}).get(EXPORTED)
        files = {name: header[name] for name in header if name not in ("samples", "reductions")}
        kept = {"header": files, "reductions": self.reductions}
        return ForeignHead(
            form=FORM,
            identity=_identity(spec),
            benchmark=task,
            title=str(spec.get("task_display_name") or task),
            version=str(spec.get("task_version") or ""),
            content=[FORM, task, spec.get("task_version"), spec.get("task_args") or {}, dataset.get("name")],
            model=str(spec.get("model") or "unknown/unknown"),
            agent=_solver(spec, header.get("plan") or {}),
            temperature=_number(generate.get("temperature")),
            max_tokens=generate.get("max_tokens") if isinstance(generate.get("max_tokens"), int) else None,
            top_p=_number(generate.get("top_p")),
            status=status,
            error=told,
            created_at=moment(spec.get("created")) or 0.0,
            started_at=moment(stats.get("started_at")),
            ended_at=moment(stats.get("completed_at")),
            planned=planned,
            trials=epochs,
            headline=headlines(results),
            tags=tuple(map(str, spec.get("tags") or ())),
            provenance={
                **({"exported_from": exported} if exported else {}),
                "inspect": {
                    **{name: spec[name] for name in ("eval_id", "task_id", "packages", "revision") if spec.get(name)},
                    "status": header.get("status"),
                },
            },
            files={HEADER: json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace")},
        )

    def _read(self, redactor: Redactor) -> Iterator[ForeignSample]:
        scorer = self._scorer()
        for name, raw in self._raw():
            try:
                sample = SampleReader(raw, redactor, scorer).read()
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                raise UsageError(
                    f"{self.path}: {name} is no sample of Inspect ({error!r}); nothing was imported"
                ) from error
            for given, score in (raw.get("scores") or {}).items():
                for key, value in named_values(str(given), (score or {}).get("value")):
                    if value is not None and value == value:  # noqa: PLR0124 -- NaN says nothing about the scorer
                        self._kinds[key] = self._kinds.get(key, True) and is_grade(value)
            yield sample

    def _raw(self) -> Iterator[tuple[str, JSON]]:
        """Yield the samples as they are in the file, with their names."""
        if self._samples is not None:
            yield from ((f"sample {place}", raw) for place, raw in enumerate(self._samples))
            return
        try:
            with ZipMembers(self.path) as members:
                for name in self._members:
                    yield name, read_foreign_json(members.read(name))
        except (ValueError, KeyError, OSError) as error:
            raise UsageError(f"{self.path} is damaged: {error}; nothing was imported") from error

    def _scorer(self) -> str:
        """Return the name of the primary scorer; empty if the log does not say."""
        results, spec = self.header.get("results") or {}, self.header["eval"]
        told = results.get("headline") or spec.get("headline_metric") or {}
        first: JSON = next(iter(results.get("scores") or ()), {}) or next(iter(spec.get("scorers") or ()), {})
        return str(told.get("scorer") or first.get("scorer") or first.get("name") or "")

    def _declare(self, head: ForeignHead, episodes: Sequence[Episode]) -> None:
        """Declare a metric for each score, and give each episode without one its cause."""
        names = list(dict.fromkeys(score.name for episode in episodes for score in episode.scores))
        names = names or [str(one.get("name")) for one in self.header["eval"].get("scorers") or () if one.get("name")]
        told = (self.header.get("results") or {}).get("headline") or {}
        scorer = self._scorer()
        wanted = (f"{scorer}.{told.get('score')}", scorer)
        under = [name for name in names if name.startswith(f"{scorer}.")]
        primary = next((name for name in wanted if name in names), next(iter([*under, *names]), ""))
        accurate = {
            str(one.get("name"))
            for one in self.header["eval"].get("scorers") or ()
            if "accuracy" in json.dumps(one.get("metrics") or ())
        }
        head.metrics = tuple(_metric(name, primary, graded=self._kinds.get(name, name in accurate)) for name in names)
        for episode in episodes:
            episode.scores = (*episode.scores, *_missing(episode, names))

    def _absent(self, episodes: Sequence[Episode]) -> str:
        held = {(episode.task_id, episode.trial + 1) for episode in episodes}
        lost = [f"{one} (epoch {epoch})" for one, epoch in self.listed if (str(one), epoch) not in held]
        if not lost:
            return ""
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        return f"its log lists samples that are not in it: {', '.join(lost[:3])}{more}"


@dataclass(frozen=True, slots=True)
class LogSummary:
    """A log in a list; `headline` is its own number, as text."""

    task: str
    model: str
    status: str
    samples: int | None
    headline: str
    created: float


def _missing(episode: Episode, names: Sequence[str]) -> Iterator[Score]:
    """Yield the declared scores that an episode has not."""
    known = {score.name for score in episode.scores}
    cause = Cause.VALUE_MISSING if episode.failure is None else episode.failure.cause
    worst = episode.status is EpisodeStatus.FAILED and RULES[cause].valid
    for name in names:
        if name not in known:
            yield Score(name, worst=True) if worst else Score(name, missing=cause)


def _metric(name: str, primary: str, *, graded: bool) -> Metric:
    bounds = (0.0, 1.0) if graded else (None, None)
    return Metric(name, name, low=bounds[0], high=bounds[1], primary=name == primary, directed=graded)


def _identity(spec: Mapping[str, Any]) -> Any:
    """Return what makes a log this one: also a later state of it, or the same log in the other format."""
    return [spec.get("eval_id") or spec.get("run_id"), spec.get("task_id"), spec.get("created")]


def _solver(spec: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    if spec.get("solver"):
        return str(spec["solver"])
    steps = [str(step.get("solver")) for step in plan.get("steps") or () if isinstance(step, Mapping)]
    return " + ".join(steps) or "solver"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def headlines(results: Mapping[str, Any]) -> JSON:
    """Return every number of the results of a log, by score and metric."""
    found: JSON = {}
    for score in results.get("scores") or ():
        reducer = f" ({score['reducer']})" if score.get("reducer") else ""
        scorer = str(score.get("scorer") or score.get("name"))
        name = str(score.get("name"))
        shown = name if name == scorer else f"{scorer}.{name}"
        for key, metric in (score.get("metrics") or {}).items():
            value = metric.get("value") if isinstance(metric, Mapping) else None
            usable = isinstance(value, int | float) and value == value  # noqa: PLR0124 -- NaN
            found[f"{shown}{reducer} {key}"] = value if usable else None
    return found


def headline(results: Mapping[str, Any], declared: Any = None) -> str:
    """Return the headline metric of a log as text, empty if it has no results."""
    told = results.get("headline") or declared or {}
    for score in results.get("scores") or ():
        if told.get("score") and score.get("name") != told["score"]:
            continue
        for key, metric in (score.get("metrics") or {}).items():
            if told.get("metric") in (None, key):
                return f"{key} {metric.get('value')}"
    return ""


def is_log(document: Any) -> bool:
    """Return whether a JSON document is a log of Inspect, or its header."""
    return isinstance(document, Mapping) and isinstance(document.get("eval"), Mapping) and "task" in document["eval"]


def open_eval(path: Path) -> InspectLog:
    """Open a `.eval` file; reads its header and the names of its samples. Raises UsageError for anything else."""
    try:
        with ZipMembers(path) as members:
            names = members.names()
            header = _eval_header(members)
            reductions = read_foreign_json(members.read("reductions.json")) if "reductions.json" in members else None
            listed = _listed(members, names)
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if not is_log(header):
        raise UsageError(f"{path} is a ZIP file, and no log of Inspect: it has no header.json with `eval`")
    _check_version(path, header)
    samples = [name for name in names if name.startswith(_SAMPLES) and name.endswith(".json")]
    return InspectLog(path, header, reductions, listed, _members=samples)


def eval_summary(path: Path) -> LogSummary:
    """Return what a list of logs shows of a `.eval` file; reads its header only. Raises UsageError."""
    try:
        with ZipMembers(path) as members:
            header = _eval_header(members)
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if not is_log(header):
        raise UsageError(f"{path} is a ZIP file, and no log of Inspect: it has no header.json with `eval`")
    return InspectLog(path, header).summary()


def _eval_header(members: ZipMembers) -> Any:
    if "header.json" in members:
        return read_foreign_json(members.read("header.json"))
    if "_journal/start.json" in members:
        # The evaluation goes on, or was killed.
        return {"status": "started", **read_foreign_json(members.read("_journal/start.json"))}
    return None


def _listed(members: ZipMembers, names: Sequence[str]) -> list[tuple[Any, int]]:
    pieces = [name for name in names if name.startswith("_journal/summaries/")]
    pieces = ["summaries.json"] if "summaries.json" in members else pieces
    found: dict[tuple[Any, int], None] = {}
    for name in pieces:
        for one in read_foreign_json(members.read(name)):
            found[one.get("id"), int(one.get("epoch") or 1)] = None
    return list(found)


def open_log(path: Path, document: JSON) -> InspectLog:
    """Return a log that was read as one JSON document. Raises UsageError for another version."""
    _check_version(path, document)
    samples = document.get("samples") or []
    header = {name: value for name, value in document.items() if name not in ("samples", "reductions")}
    return InspectLog(path, header, document.get("reductions"), _samples=list(samples))


def _check_version(path: Path, header: Mapping[str, Any]) -> None:
    version = header.get("version")
    if isinstance(version, int) and version > VERSION:
        raise UsageError(
            f"{path} is a log of Inspect of version {version}; this mesocosm reads version {VERSION}. "
            "Convert it with `inspect log convert`, or update mesocosm"
        )


def json_header(path: Path) -> JSON:
    """Return the fields of a JSON object before its `samples`, without reading the rest. Raises ValueError, OSError."""
    decoder = json.JSONDecoder()
    with path.open("rb") as file:
        text, size = "", _PIECE
        while True:
            data = file.read(size)
            text = (text.encode("utf-8", "surrogateescape") + data).decode("utf-8", "surrogateescape")
            fields, done = _fields(text.lstrip("\ufeff"), decoder)
            if done or not data:
                return fields
            size = len(text)


def _fields(text: str, decoder: json.JSONDecoder) -> tuple[JSON, bool]:
    """Return the fields at the start of an object, and whether `samples` or its end was reached."""
    found: JSON = {}
    place = _skip(text, 0)
    if place >= len(text) or text[place] != "{":
        raise ValueError("it is no JSON object")
    place += 1
    try:
        while True:
            place = _skip(text, place)
            if text[place] == "}":
                return found, True
            key, place = decoder.raw_decode(text, place)
            if key == "samples":
                return found, True
            place = _skip(text, _skip(text, place) + 1)
            value, place = decoder.raw_decode(text, place)
            place = _skip(text, place)
            if text[place] not in ",}":
                return found, False
            found[key] = value
            place += text[place] == ","
    except (ValueError, IndexError):
        return found, False


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place
