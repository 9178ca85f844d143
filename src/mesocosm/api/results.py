"""Results: values with their intervals, runs and episodes as views on the store."""

import html
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from mesocosm.api.places import named_run, store_at
from mesocosm.api.values import Table, Value, cell, chance_value, value_of
from mesocosm.core.entry import is_reference, whole
from mesocosm.core.episode import SCOREABLE, EpisodeStatus
from mesocosm.core.episode import Episode as StoredEpisode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import MesocosmError, UnknownName, UsageError
from mesocosm.core.one_line import asks
from mesocosm.core.run import Run as StoredRun
from mesocosm.core.score import number_text
from mesocosm.core.usage import Usage

if TYPE_CHECKING:
    from mesocosm.api.comparing import Comparison
    from mesocosm.store import Store


_GRADED = frozenset(one.value for one in SCOREABLE)
NOT_RUN = "not_run"
"""The cause of an episode that is pending."""


class GateFailed(MesocosmError, AssertionError):
    """A condition of `fail_if` holds, or cannot be decided; it is an assertion, so a test that calls it fails.

    >>> try:
    ...     run.fail_if("score<2", "missing>2%")
    ... except GateFailed as failed:
    ...     print(str(failed).partition(":")[0])
    score<2
    """


class Episode:
    """One attempt at one task, as stored. `messages` and `events` are read when asked for.

    >>> for episode in run.episodes(passed=False):
    ...     print(episode.task, episode.answer)
    """

    def __init__(self, run: "Run", stored: StoredEpisode) -> None:
        self._run = run
        self._stored = stored

    @property
    def id(self) -> str:
        """Its id."""
        return self._stored.id

    @property
    def task(self) -> str:
        """The id of its task."""
        return self._stored.task_id

    @property
    def task_digest(self) -> str:
        """The identity of its task's content, the same in all runs."""
        return self._stored.task_digest

    @property
    def trial(self) -> int:
        """Which repetition, counted from 0."""
        return self._stored.trial

    @property
    def status(self) -> str:
        """`completed`, `truncated` and `timeout` are graded; `failed` is not."""
        return self._stored.status.value

    @property
    def cause(self) -> str:
        """Why it failed, or why its score is missing; empty if neither applies."""
        if self._stored.failure is not None:
            return self._stored.failure.cause.value
        first = self._first()
        return first.missing.value if first is not None and first.missing is not None else ""

    @property
    def error(self) -> str:
        """The message of its failure, or of a grader that failed; empty if neither applies."""
        if self._stored.failure is not None:
            return self._stored.failure.message
        first = self._first()
        return first.explanation if first is not None and first.missing is not None else ""

    @property
    def input(self) -> Any:
        """What the agent was given: the filled prompt of a row, else the first observation."""
        given = self._stored.terminal_info.get("input", self._stored.input)
        if asks(given) or is_reference(given):
            return self._whole(given)
        shown = next((event.payload.get("data") for event in self._recorded(Kind.OBSERVATION)), None)
        return self._whole(given) if shown is None else shown

    @property
    def expected(self) -> Any:
        """The right answer, if the task has one."""
        return self._whole(self._stored.target)

    @property
    def reference(self) -> Any:
        """A worked solution, if the task has one."""
        return self._whole(self._stored.reference)

    @property
    def answer(self) -> Any:
        """The answer that was graded."""
        if self._stored.answer is not None:
            return self._whole(self._stored.answer)
        from mesocosm.rollouts.graders.answer import answer_text

        return answer_text(self.messages) or None

    @property
    def score(self) -> float | None:
        """The score that ranks the run; None if it is missing."""
        first = self._first()
        return None if first is None else first.value

    @property
    def scores(self) -> dict[str, float]:
        """All scores with a value, by name."""
        return {score.name: score.value for score in self._stored.scores if score.value is not None}

    @property
    def explanation(self) -> str:
        """What the grader says about its score."""
        first = self._first()
        return "" if first is None else first.explanation

    @property
    def why(self) -> str:
        """Why its score is not the best one, in one sentence; empty if it is."""
        return self._stored.why

    @property
    def mistake(self) -> str:
        """The kind of its mistake, the same for like ones; empty if there is none."""
        return self._stored.mistake

    @property
    def behaviour(self) -> str:
        """`refused`, `empty`, `cut_off`, `looped`, `malformed` or `gave_up`, recognised by rules; else empty."""
        return self._stored.behaviour

    @property
    def labels(self) -> dict[str, str]:
        """Facts about the task by which results can be taken apart."""
        return dict(self._stored.labels)

    @property
    def steps(self) -> int:
        """Actions taken."""
        return self._stored.steps

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        ended = self._stored.ended_at
        return None if ended is None else max(ended - self._stored.started_at, 0.0)

    @property
    def usage(self) -> Usage:
        """Calls, tokens and cost."""
        return self._stored.usage

    @property
    def url(self) -> str:
        """Its page, if a viewer of these results is running; else empty."""
        return f"{base}/episodes/{self.id}" if (base := self._run._viewer()) else ""  # noqa: SLF001 -- the same module

    @property
    def events(self) -> Iterator[Event]:
        """Everything that was recorded, in order; long texts are read when their event is reached."""
        import msgspec

        from mesocosm.interop.replay import inline

        store = self._run._store  # noqa: SLF001
        for event in store.traces.events(self.id):
            yield msgspec.structs.replace(event, payload=inline(event.payload, store.blobs))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as chat messages."""
        found = self._stored.terminal_info.get("messages")
        if isinstance(found, list):
            return found
        shown = [event.payload.get("data") for event in self._recorded(Kind.OBSERVATION)]
        last = next((one["messages"] for one in reversed(shown) if isinstance(one, dict) and "messages" in one), None)
        if isinstance(last, list):
            return last
        spoken: list[dict[str, Any]] = []
        for event in self._recorded(Kind.MODEL_CALL, Kind.OBSERVATION):
            role = "assistant" if event.kind is Kind.MODEL_CALL else "user"
            content = event.payload.get("text" if role == "assistant" else "data")
            if content is not None:  # The observation after the last step of a one-step task is empty.
                spoken.append({"role": role, "content": content})
        return spoken

    def to_dict(self) -> dict[str, Any]:
        """Return one row of a frame: the columns of `Run.to_dicts`."""
        usage = self.usage
        return {
            "id": self.id,
            "task": self.task,
            "trial": self.trial,
            "status": self.status,
            "cause": self.cause,
            "error": self.error,
            "expected": self.expected,
            "answer": self._whole(self._stored.answer),
            "input": None if self._stored.input is None else self.input,
            "score": self.score,
            "explanation": self.explanation,
            "why": self.why,
            "mistake": self.mistake,
            "behaviour": self.behaviour,
            "steps": self.steps,
            "seconds": self.seconds,
            "tokens": usage.total,
            "cost_usd": usage.cost_usd,
            **{f"score.{name}": value for name, value in self.scores.items()},
            **{f"label.{name}": value for name, value in self.labels.items()},
        }

    def __repr__(self) -> str:
        """Return task, status and score."""
        score = "–" if self.score is None else f"{self.score:g}"
        return f"<Episode {self.task} {self.status} score={score}>"

    def _whole(self, value: Any) -> Any:
        return whole(value, self._run._store.blobs)  # noqa: SLF001

    def _first(self) -> Any:
        name = self._run._ranking()  # noqa: SLF001
        return next((score for score in self._stored.scores if not name or score.name == name), None)

    def _recorded(self, *kinds: Kind) -> Iterator[Event]:
        return (event for event in self.events if event.kind in kinds)


class Run:
    """A run: one benchmark, one model, one agent. A view on the store that holds nothing large.

    `repr` shows the scores with their intervals; `score` is the value that ranks, None if nothing was scored.

    >>> run.score
    1.0000 [0.3424, 1.0000] weak n=2/2
    >>> [episode.answer for episode in run.episodes(passed=True)]
    ['2', '4']
    """

    def __init__(self, store: "Store", stored: StoredRun) -> None:
        self._store = store
        self._stored = stored
        self._again: Callable[..., Run] | None = None

    # Facts

    @property
    def id(self) -> str:
        """Its id."""
        return self._stored.id

    @property
    def place(self) -> str:
        """The file or URL of the results that hold it."""
        return self._store.place

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self._stored.name

    @property
    def status(self) -> str:
        """`pending`, `running`, `finished`, `partial`, `failed`, `stopped`, or `interrupted`: its process is gone."""
        from mesocosm.store.lease_owner import state

        return state(self._stored)

    @property
    def benchmark(self) -> str:
        """The name of its rows, benchmark or environment."""
        return self._stored.benchmark

    @property
    def model(self) -> str:
        """The model's name; `–` if none was asked through the run."""
        return self._stored.model

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._stored.agent

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        noted = self._stored.provenance.get("notes", ())
        return (*(str(one) for one in noted), *self._stored.warnings)

    @property
    def error(self) -> str:
        """Why it is not finished; empty if it is."""
        return self._stored.error

    @property
    def seconds(self) -> float | None:
        """How long it worked, without pauses between sessions; None before its start."""
        return self._stored.worked_s(datetime.now(UTC).timestamp())

    @property
    def usage(self) -> Usage:
        """Calls, tokens and cost of all its episodes."""
        return self._stored.usage

    @property
    def config(self) -> dict[str, Any]:
        """Everything that it was started with, as JSON data."""
        import msgspec

        found: dict[str, Any] = msgspec.to_builtins(self._stored.spec)
        return found

    @property
    def url(self) -> str:
        """Its page, if a viewer of these results is running; else empty."""
        return f"{base}/runs/{self.id}" if (base := self._viewer()) else ""

    # Numbers

    @property
    def score(self) -> Value | None:
        """The value that ranks it; None if nothing was scored."""
        return value_of(self._stored.primary)

    @property
    def metrics(self) -> dict[str, Value]:
        """All metrics with a value, by name."""
        return {one.name: found for one in self._stored.metrics if (found := value_of(one)) is not None}

    @property
    def missing(self) -> dict[str, int]:
        """Planned episodes without a value of the score that ranks, by cause; `not_run` ones are pending."""
        primary = self._stored.primary
        if primary is not None:
            return dict(primary.missing)
        pending = self._stored.counts.pending
        return {NOT_RUN: pending} if pending else {}

    def episodes(
        self,
        *,
        status: str | Sequence[str] = (),
        passed: bool | None = None,
        cause: str | Sequence[str] = (),
        label: Mapping[str, str] | None = None,
        search: str = "",
    ) -> Iterator[Episode]:
        """Yield its episodes in plan order, read page by page; all given conditions must hold.

        Raises UsageError for an unknown status.
        """
        from mesocosm.store.filters import EpisodeFilter

        names = _words(status)
        unknown = next((name for name in names if name not in {one.value for one in EpisodeStatus}), None)
        if unknown is not None:
            raise UsageError(
                f"no status is called {unknown!r}; there are {', '.join(one.value for one in EpisodeStatus)}"
            )
        labels = list((label or {}).items())
        wanted = EpisodeFilter(
            statuses=tuple(EpisodeStatus(name) for name in names),
            causes=_words(cause),
            text=search,
            outcome="" if passed is None else "pass" if passed else "fail",
            label="=".join(labels[0]) if labels else "",
        )
        cursor: str | None = None
        while True:
            page = self._store.episodes.search(self.id, wanted, cursor=cursor)
            for stored in page.items:
                if all(stored.labels.get(name) == value for name, value in labels):
                    yield Episode(self, stored)
            cursor = page.cursor
            if cursor is None:
                return

    def by(self, label: str) -> Table:
        """Return the score for each value of a label of its tasks, or for each `trial`, from 1. Raises UnknownName."""
        from mesocosm.engine.slices import slices

        found = slices(self._stored, self._store.episodes, label)
        return Table(
            {label: one.value, "episodes": one.samples, "score": value_of(one.reward), "missing": one.missing}
            for one in found.slices
        )

    def passes(self) -> Table:
        """Return pass@k and pass^k for each number k of trials, over the `tasks` that have as many; empty without."""
        from mesocosm.engine.results import results

        found = results(self._stored, self._store.episodes, self._stored.metrics).passes
        return Table(
            {"k": one.k, "pass@k": chance_value(one.at), "pass^k": chance_value(one.hat), "tasks": one.at.tasks}
            for one in found
        )

    def why(self) -> Table:
        """Return what went wrong, grouped by cause or kind of mistake: how many episodes, their share, an example."""
        groups: Counter[str] = Counter()
        examples: dict[str, str] = {}
        total = 0
        for episode in self.episodes():
            total += 1
            pending = "" if episode.status in _GRADED else NOT_RUN
            reason = episode.cause or pending or ("" if self._right(episode) else episode.mistake or "wrong answer")
            if reason:
                groups[reason] += 1
                task = f"task {episode.task}" if reason == NOT_RUN else f"task {episode.task}: {episode.answer!r}"
                said = episode.error or episode.why or episode.explanation or task
                examples.setdefault(reason, said.partition("\n")[0][:100])
        return Table(
            {"cause": reason, "episodes": count, "share": f"{count / total:.0%}", "example": examples[reason]}
            for reason, count in groups.most_common()
        )

    def _right(self, episode: Episode) -> bool:
        if self._stored.primary is None:
            return True
        return episode.score is not None and episode.score > 0.0 and episode.score >= (1.0 if self._binary() else 0.0)

    def _binary(self) -> bool:
        primary = self._stored.primary
        return primary is not None and "wilson" in primary.method.lower()

    # Tables

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one mapping for each episode; all have the same keys."""
        rows = [episode.to_dict() for episode in self.episodes()]
        columns = dict.fromkeys(column for row in rows for column in row)
        return [{column: row.get(column) for column in columns} for row in rows]

    def to_pandas(self) -> Any:
        """Return the episodes as a pandas frame. Raises UsageError without pandas."""
        return _library("pandas").DataFrame(self.to_dicts())

    def to_polars(self) -> Any:
        """Return the episodes as a polars frame. Raises UsageError without polars."""
        return _library("polars").DataFrame(self.to_dicts(), infer_schema_length=None)

    # Judging

    def compare(self, other: "Run | str", *, metric: str = "") -> "Comparison":
        """Return the comparison with another run on the same rows; this one is the baseline. Raises UsageError."""
        import mesocosm

        return mesocosm.compare(self, other, metric=metric, store=self._store.place)

    def fail_if(self, *conditions: str) -> Self:
        """Return the run if no condition holds, such as `"score<0.8"` or `"missing>2%"`.

        Raises GateFailed if one holds or cannot be decided, UsageError for what is no condition or no metric of it.
        """
        __tracebackhide__ = True  # pytest then shows the line of the test
        from mesocosm.engine.comparison.gate import check_run_metrics, judge, read_condition

        read = [read_condition(text) for text in conditions]
        check_run_metrics(read, [self._stored])
        needs = next((one for one in read if one.pairwise), None)
        if needs is not None:
            raise UsageError(f"{needs.text!r} compares with a baseline; use run.compare(baseline).fail_if(…)")
        broken = [one for one in judge(read, [self._stored], self._store.episodes) if one.broken]
        if broken:
            raise GateFailed("\n".join(f"{one.condition}: {one.broken} ({one.answer})" for one in broken))
        return self

    # Life

    def reload(self) -> Self:
        """Read it anew from the store and return it."""
        self._stored = self._store.runs.get(self.id)
        return self

    def resume(self, *, retry_failed: bool = False) -> "Run":
        """Run what is pending and return the run; with `retry_failed` also episodes that infrastructure failed.

        Raises UsageError if it was made of objects in another process: repeat its call there.
        """
        if self._again is not None:
            return self._again(retry_failed=retry_failed)
        from mesocosm.api.waiting import waited
        from mesocosm.core.redact import secret_values
        from mesocosm.engine import session

        async def work(control: session.Control) -> Run:
            options = session.SessionOptions(retry_failed=retry_failed, secrets=[*secret_values(os.environ)])
            return Run(self._store, await session.resume(self.id, self._store, control=control, settings=options))

        return waited(work)

    def regrade(self, grader: Any) -> "Run":
        """Return a new run that grades the stored answers with another grader; no model but a judge is asked.

        Raises UsageError if the run was made in another process: repeat its call with that grader.
        """
        if self._again is None:
            raise UsageError(
                f"run {self.id} was not made by a call in this process, so its rows are not here; repeat its call with "
                "the new grader: stored answers are graded, and nothing is asked again"
            )
        return self._again(grader=grader)

    def stop(self) -> None:
        """Ask the process that works on it to stop; what finished is kept."""
        self._store.runs.request_stop(self.id)

    def delete(self) -> None:
        """Delete it with its episodes and traces. Raises RunLeased while a process works on it."""
        if self._store.leases.active(self._stored):
            raise UsageError(f"run {self.id} is going on; stop it first")
        self._store.runs.delete(self.id)

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write it and return the path.

        The ending decides: `.csv`, `.jsonl` and `.parquet` hold one line for each episode, `.zip` is lossless (see
        `import_runs`), and a name without an ending is a folder with a site for any web server. Raises UsageError for
        another ending, Incompatible if parquet lacks its package.
        """
        from mesocosm.api.exporting import export

        return export(self._stored, self._store, Path(path))

    def view(self) -> str:
        """Open its page in the browser and return the address."""
        from mesocosm.api.viewing import view

        return view(self)

    # Shown

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same run of the same results."""
        return isinstance(other, Run) and (self.id, self.place) == (other.id, other.place)

    def __hash__(self) -> int:
        """Return the hash of its id."""
        return hash(self.id)

    def __repr__(self) -> str:
        """Return what it is, its scores with intervals, and what a reader should know."""
        run = self._stored
        done = f"{run.counts.done}/{run.counts.planned}"
        head = " · ".join(
            filter(None, (run.benchmark, run.model, run.agent if self._notable(run.agent) else "", run.status))
        )
        lines = [f"{head}  {done}"]
        width = max((len(one.name) for one in run.metrics), default=0)
        for one in run.metrics:
            value = value_of(one)
            mark = "*" if one.primary else " "
            said = "– (nothing scored)" if value is None else f"{number_text(value)}  {value.interval}"
            lines.append(f"{mark} {one.name:<{width}}  {said}  {one.n_scored}/{one.n_planned}")
        if self.missing:
            lines.append("missing: " + ", ".join(f"{count} {cause}" for cause, count in self.missing.items()))
        if run.error:
            lines.append(f"{run.status}: {run.error}")
        lines += [f"note: {note}" for note in self.notes]
        lines.append(f"run {run.id} in {_shown(self._store.place)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(one.name)}</td><td>{html.escape(cell(value_of(one)))}</td></tr>"
            for one in self._stored.metrics
        )
        first, _, rest = repr(self).partition("\n")
        notes = "".join(
            f"<div>{html.escape(line)}</div>" for line in rest.split("\n") if not line.startswith(("*", " "))
        )
        return f"<div><b>{html.escape(first)}</b><table>{rows}</table>{notes}</div>"

    @staticmethod
    def _notable(agent: str) -> bool:
        return agent not in {"loop", "chat", "program"}

    def _ranking(self) -> str:
        declared = self._stored.info.get("metrics") or ()
        return next((str(one.get("score", "")) for one in declared if one.get("primary")), "")

    def _viewer(self) -> str:
        from mesocosm.api.viewing import running_viewer

        return running_viewer(self._store.place)


def store_of(run: Run) -> "Store":
    """Return the store that holds a run, for what reads more than a caller is given."""
    return run._store  # noqa: SLF001 -- the same module


def stored_of(run: Run) -> StoredRun:
    """Return the record of a run."""
    return run._stored  # noqa: SLF001


def remember_call(run: Run, again: Callable[..., Run]) -> Run:
    """Keep the call that made a run, to repeat it with changed arguments, and return the run."""
    run._again = again  # noqa: SLF001
    return run


class Runs(Sequence[Run]):
    """Several runs with their labels; printed as a table, the best one first.

    >>> found = sweep(rows, prompt="{question}", grader="exact", model=["builtin/empty", "builtin/oracle"])
    >>> found.labels
    ('builtin/empty', 'builtin/oracle')
    >>> found.best().score
    1.0000 [0.3424, 1.0000] weak n=2/2
    """

    def __init__(self, runs: Sequence[Run], labels: Sequence[str] = ()) -> None:
        self._runs = tuple(runs)
        self.labels: tuple[str, ...] = tuple(labels) or tuple(run.name or run.id for run in runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> "Runs": ...
    @overload
    def __getitem__(self, index: str) -> Run: ...
    def __getitem__(self, index: int | slice | str) -> "Run | Runs":
        """Return a run by its place or label, or several for a slice."""
        if isinstance(index, str):
            if index not in self.labels:
                raise UnknownName(f"no run is labelled {index!r}; there are {', '.join(self.labels)}")
            return self._runs[self.labels.index(index)]
        if isinstance(index, slice):
            return Runs(self._runs[index], self.labels[index])
        return self._runs[index]

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._runs)

    def best(self) -> Run:
        """Return the run with the best score. Raises UsageError if none has one."""
        scored = [run for run in self._runs if run.score is not None]
        if not scored:
            raise UsageError("none of these runs has a score")
        primary = stored_of(scored[0]).primary
        higher = primary is None or primary.higher_is_better
        return (max if higher else min)(scored, key=lambda run: float(run.score or 0.0))

    def compare(self, *, metric: str = "", baseline: "Run | str | None" = None) -> "Comparison":
        """Return the comparison of all of them; the first one is the baseline. Raises UsageError."""
        import mesocosm

        if isinstance(baseline, str) and baseline in self.labels:
            baseline = self[baseline]
        return mesocosm.compare(
            *self, metric=metric, baseline=baseline, labels=dict(zip(self, self.labels, strict=True))
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one mapping for each run."""
        return [
            {
                "label": label,
                "benchmark": run.benchmark,
                "model": run.model,
                "agent": run.agent,
                "status": run.status,
                "score": None if run.score is None else float(run.score),
                "low": None if run.score is None else run.score.low,
                "high": None if run.score is None else run.score.high,
                "n": 0 if run.score is None else run.score.n,
                "tokens": run.usage.total,
                "cost_usd": run.usage.cost_usd,
                "id": run.id,
            }
            for label, run in zip(self.labels, self._runs, strict=True)
        ]

    def to_pandas(self) -> Any:
        """Return one row for each run as a pandas frame. Raises UsageError without pandas."""
        return _library("pandas").DataFrame(self.to_dicts())

    def __repr__(self) -> str:
        """Return the table."""
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Table:
        return Table(
            {"": label, "benchmark": run.benchmark, "model": run.model, "status": run.status, "score": run.score}
            for label, run in zip(self.labels, self._runs, strict=True)
        )


def get_run(name: str = "last", *, store: str | os.PathLike[str] | None = None) -> Run:
    """Return a stored run by its id, the beginning of one, its name, `last`, or `last~1`. Raises UnknownName.

    >>> get_run("last").status
    'finished'
    """
    opened = store_at(store, create=False)
    return Run(opened, named_run(opened, name))


def runs(
    *,
    benchmark: str | Sequence[str] = (),
    model: str | Sequence[str] = (),
    status: str | Sequence[str] = (),
    tag: str | Sequence[str] = (),
    search: str = "",
    limit: int = 100,
    store: str | os.PathLike[str] | None = None,
) -> Runs:
    """Return stored runs, the newest first; all given conditions must hold. Raises UsageError for an unknown status.

    >>> runs(model="builtin/oracle", status="finished")[0].model
    'builtin/oracle'
    """
    from mesocosm.store.filters import RunFilter
    from mesocosm.store.lease_owner import STATES, state, stored_as

    names = _words(status)
    unknown = next((name for name in names if name not in STATES), None)
    if unknown is not None:
        raise UsageError(f"no status is called {unknown!r}; there are {', '.join(STATES)}")
    try:
        opened = store_at(store, create=False)
    except UnknownName:
        return Runs(())
    wanted = RunFilter(
        statuses=stored_as(names),
        benchmarks=_words(benchmark),
        models=_words(model),
        tags=_words(tag),
        text=search,
    )
    found: list[Run] = []
    cursor: str | None = None
    while len(found) < limit:
        page = opened.runs.list(wanted, limit=min(limit - len(found), 100), cursor=cursor)
        found += [Run(opened, opened.runs.get(line.id)) for line in page.items if not names or state(line) in names]
        cursor = page.cursor
        if cursor is None:
            break
    return Runs(found)


def _words(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) and given else tuple(given)


def _library(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{name} is not installed: pip install {name}; to_dicts() needs no package") from error


def _shown(place: str) -> str:
    path = Path(place)
    if "://" in place or not path.is_absolute():
        return place
    folder = path.parent
    with_here = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else None
    return f"./{with_here}" if with_here is not None else str(folder)
