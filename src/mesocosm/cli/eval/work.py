"""One invocation of `eval run-local`: its request, an existing run for it, and the result."""

import os
import re
import time
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
import msgspec

from mesocosm.cli.command import CommonOptions
from mesocosm.cli.gate_options import GateFlags
from mesocosm.cli.limits import chosen_limits
from mesocosm.cli.results import find_evaluation, open_results
from mesocosm.cli.session import SHORTEST_SECRET, exit_code, hidden_values, observers, without_credentials
from mesocosm.cli.signals import run_with_signals
from mesocosm.cli.stdout import kept_stdout
from mesocosm.core.failure import RunLeased, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.ports import Observer, Parts
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run, RunSpec, RunStatus
from mesocosm.core.secret import is_secret
from mesocosm.engine import opening, session
from mesocosm.engine.rerun_decision import lacks_too_much, other_server, servers
from mesocosm.engine.rescoring import remeasure
from mesocosm.engine.results import declared_metrics, results
from mesocosm.rollouts.benchmark import KIND, REWARD
from mesocosm.rollouts.configuration import Config, parse_overrides, read_config
from mesocosm.rollouts.secret_values import resolve
from mesocosm.rollouts.source import Commit, read_changes, read_commit
from mesocosm.rollouts.spec import SpecOverrides, run_spec

if TYPE_CHECKING:
    from mesocosm.store import Store

LONGEST_NAME = 96
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{0,12})?", re.IGNORECASE)
DONE, CONTINUED, NEW = "done", "continued", "new"
_OVER = frozenset({RunStatus.FINISHED, RunStatus.FAILED, RunStatus.PARTIAL})
"""Any other run was cut off, possibly after its last row and before its metrics were computed."""


@dataclass(frozen=True, slots=True)
class EvalFlags:
    """The flags of the command."""

    rows: str = ""
    limit: int | None = None
    name: str = ""
    fresh: bool = False
    retry_failed: bool = False
    max_in_flight: int | None = None
    assignments: tuple[str, ...] = ()
    dataset_file: str = ""
    secrets_file: str = ""
    in_process: bool = False
    output: Path | None = None
    rpm: float | None = None
    tpm: float | None = None
    run_tokens: int | None = None
    run_usd: float | None = None
    retries: int | None = None
    outage_seconds: float | None = None
    max_missing: float | None = None
    same_server: bool = False
    cache: str = ""
    tag: tuple[str, ...] = ()


class EvalWork(AbstractContextManager["EvalWork"]):
    """The work that a command line requests, ready to run. Raises UsageError for everything that cannot work.

    Nothing is written to disk before `run`.
    """

    def __init__(self, path: Path, flags: EvalFlags, chosen: CommonOptions) -> None:
        self.flags = flags
        self._chosen = chosen
        self._store: Store | None = None
        self.what = NEW
        if flags.fresh and flags.retry_failed:
            raise UsageError("--fresh starts again and --retry-failed continues: choose one")
        chosen.part(GateFlags).check()
        check_name(flags.name)
        self.config: Config = read_config(path, parse_overrides(flags.assignments))
        self.secrets = _secrets(self.config, flags.secrets_file)
        self.spec: RunSpec = run_spec(self.config, _choice(flags, chosen))
        long = [value for value in self.secrets if len(value) >= SHORTEST_SECRET]
        without_credentials(self.spec, [*hidden_values(chosen), *long])

    def run(self) -> int:
        """Run what is pending, show the result, and return the exit code."""
        from mesocosm.cli.eval import report

        for note in (*self.config.notes, *_open_secrets(self.config)):
            click.echo(f"note: {note}", err=True)
        gate = self._chosen.part(GateFlags)
        if gate.baselines:
            gate.prepare(self.store, find_evaluation)
        with kept_stdout() if self._chosen.json else nullcontext():
            run, interrupted = run_with_signals(self._work)
        found, judged = results(run, self.store.episodes, run.metrics), gate.judge(self.store, [run])
        report.show(run, self.store, self._chosen, judged, found=found, done=self.what == DONE)
        report.write(run, self.store, judged, found, self.flags.output)
        return judged.code(exit_code(run, interrupted=interrupted))

    @property
    def store(self) -> "Store":
        """The results; they are created if missing."""
        if self._store is None:
            self._store = open_results(self._chosen)
        return self._store

    async def _work(self, control: session.Control, signals: Observer) -> Run:
        hidden = [*hidden_values(self._chosen), *self.secrets]
        async with opening.opened(self.spec) as parts:
            self._chosen.part(GateFlags).check_metrics(lambda: [parts.benchmark.info])
            click.echo(f"{parts.benchmark.info.title}: {parts.benchmark.info.description}", err=True)
            record = opening.new_run(self.spec, parts, Redactor(hidden))
            record.provenance = {**record.provenance, **Redactor(hidden).value(self._facts())}
            earlier = self._earlier(record)
            if earlier is not None:
                earlier = self._adopt_terms(earlier, record, parts)
            partial = earlier is not None and lacks_too_much(earlier, self.spec.limits.max_missing)
            over = earlier is not None and earlier.status in _OVER and not earlier.counts.pending and not partial
            if earlier is not None and over and not self.flags.retry_failed:
                await self._check_server(earlier, parts)
                self.what = DONE
                return self.store.runs.get(earlier.id)
            record.name = self.flags.name or _stamped(self.config.path.stem)
            settings = session.SessionOptions(
                retry_failed=partial,
                retry_unscored=REWARD if self.flags.retry_failed else "",
                parallel=self.spec.parallel,
                limits=self.spec.limits,
                secrets=hidden,
                alone=True,
                same_server=self.flags.same_server,
                executor=self._chosen.executor,
            )
            with observers(self._chosen, self.store, signals) as watching:
                if earlier is None:
                    return await session.play(record, parts, self.store, watching, control=control, settings=settings)
                self.what = CONTINUED
                self._keep_log(earlier)
                done = f"{earlier.counts.done:,} of {earlier.counts.planned:,} samples are finished"
                if self.flags.retry_failed:
                    done += "; those without a value are run again, failures that count as worst stay"
                click.echo(f"continues run {earlier.name or earlier.id}: {done}", err=True)
                return await session.play_on(earlier, parts, self.store, watching, control=control, settings=settings)

    async def _check_server(self, earlier: Run, parts: Parts) -> None:
        """Raise UsageError if another server would answer than in the run that is continued."""
        if self.flags.same_server:
            return
        await opening.probe(parts)
        changed = other_server(earlier, servers(parts), "; --fresh begins anew")
        if changed:
            raise UsageError(changed)

    def _earlier(self, record: Run) -> Run | None:
        """Return the run that this command continues, if there is one. Raises UsageError, RunLeased."""
        store, name = self.store, self.flags.name
        earlier = store.runs.named(name, KIND) if name else store.runs.latest(record.signature)
        if earlier is None:
            return None
        earlier = store.runs.get(earlier.id)
        if store.leases.active(earlier):
            raise RunLeased(
                f"{earlier.holder} works on run {earlier.name or earlier.id}; it can be followed in the viewer"
            )
        if self.flags.fresh:
            archived = f"{earlier.name or earlier.id}.archive-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
            store.runs.rename(earlier, archived)
            click.echo(f"the earlier run is now called {archived}", err=True)
            return None
        if earlier.regraded:
            raise UsageError(
                f"run {earlier.name or earlier.id} was {earlier.rescored}, so its numbers are not those of this "
                f"command. `mesocosm run rescore {earlier.id}` scores it by these rules again; --fresh begins anew"
            )
        if earlier.signature != record.signature:
            raise UsageError(
                f"run {name!r} was started with other inputs; changed: {', '.join(changed(earlier, record))}. "
                "--fresh begins anew under this name and keeps the old run; another --name begins a run beside it"
            )
        return earlier

    def _adopt_terms(self, earlier: Run, record: Run, parts: Parts) -> Run:
        """Return an earlier run with the current metrics: the pass threshold is not part of the experiment."""
        if declared_metrics(earlier) == declared_metrics(record):
            return earlier
        self._keep_log(earlier)
        spec = msgspec.structs.replace(record.spec, name=earlier.spec.name)
        read = remeasure(earlier, parts.benchmark.info.metrics, self.store, spec)
        click.echo("the pass threshold has changed: the stored rewards are read by the new one", err=True)
        return read

    def _keep_log(self, earlier: Run) -> None:
        """Move the rollout's output so far to the log of this invocation and record the new path in the run."""
        options, file = earlier.spec.benchmark.options, self.spec.benchmark.options["log"]
        if options.get("log"):
            with suppress(OSError):
                Path(str(options["log"])).replace(file)
        options["log"] = file
        self.store.runs.save_terms(earlier)

    def _facts(self) -> dict[str, Any]:
        """Return the provenance of the run's code; `changes` is how files differ from the commit."""
        config, code = self.config, self.config.experiment.code
        commit = (
            read_commit(config.folder)
            if code is None
            else Commit(code.commit, dirty=False, branch=config.experiment.branch)
        )
        facts = {
            "config": str(config.path),
            "rollout": config.experiment.rollout,
            "entrypoint": config.experiment.entrypoint,
            "dataset": self.spec.benchmark.options["dataset"],
            "workspace": str(config.workspace.root),
            **({} if commit is None else {"commit": commit.id, "branch": commit.branch, "dirty": commit.dirty}),
        }
        changes = read_changes(config.folder) if commit is not None and commit.dirty else ""
        return {"eval": facts, **({"changes": changes} if changes else {})}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close()


def changed(earlier: Run, record: Run) -> list[str]:
    """Return the names of the inputs in which two runs differ."""
    before, now = _inputs(earlier), _inputs(record)
    return [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)] or ["the limits of samples"]


def _inputs(run: Run) -> dict[str, str]:
    model = {name: value for name, value in msgspec.to_builtins(run.spec.model).items() if name not in _FREE}
    judging = msgspec.to_builtins(run.spec.judge)
    known: Mapping[str, str] = run.info.get("inputs", {})
    return {
        **known,
        "model": digest(model),
        "judge": digest(judging),
        "n": str(run.spec.selection.trials),
        "rollout": run.agent,
    }


_FREE = frozenset({"timeout_s", "cache"})
"""Model settings that are not part of an experiment."""


def _choice(flags: EvalFlags, chosen: CommonOptions) -> SpecOverrides:
    return SpecOverrides(
        results=chosen.results(),
        rows=flags.rows,
        limit=flags.limit,
        dataset=flags.dataset_file,
        max_in_flight=flags.max_in_flight,
        name=flags.name,
        in_process=flags.in_process,
        assignments=flags.assignments,
        limits=chosen_limits({name: getattr(flags, name) for name in EvalFlags.__dataclass_fields__}),
        cache=str(Path(flags.cache).resolve()) if flags.cache else "",
        tags=flags.tag,
    )


def _secrets(config: Config, file: str) -> Sequence[str]:
    """Put the rollout's secrets into the environment, where the run reads them; return the values."""
    found = resolve(config.secrets, "-" if file == "-" else Path(file) if file else None, os.environ)
    os.environ.update(found)
    return list(found.values())


def _open_secrets(config: Config) -> Sequence[str]:
    shown = "is stored with the results as it is; where it is a credential, name it in [secrets] instead"
    return [f"env.{name} {shown}" for name, value in config.env.items() if value and is_secret(name, value)]


def _stamped(stem: str) -> str:
    return f"{stem}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(4).hex()}"


def check_name(name: str) -> None:
    """Raise UsageError for a name by which a run could not be found, shown or downloaded."""
    wrong = _wrong_name(name) if name else ""
    if wrong:
        raise UsageError(f"--name {name[:LONGEST_NAME]!r}: {wrong}; for example --name prompt-2.1")


def _wrong_name(name: str) -> str:
    if len(name) > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} characters, this has {len(name)}"
    if name == "last":
        return "this word names the newest run"
    if _RUN_ID.fullmatch(name):
        return "this looks like the id of a run, or its beginning"
    if not name[0].isalnum():
        return "a name begins with a letter or digit"
    if any(unicodedata.category(character)[0] in "CZ" and character != " " for character in name):
        return "a name has no control characters"
    if name != name.strip() or "/" in name or "\\" in name:
        return "a name has no / or \\, and no space at its ends"
    return ""
