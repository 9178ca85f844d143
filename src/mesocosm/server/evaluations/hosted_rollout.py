"""A rollout of a workspace and a version of a dataset as a benchmark: the server plans it, workers run it in a sandbox.

Its content is addressed by digest, so both see the same, whatever host they are on. Only workers have the values of its
secrets, and only from the moment they start it.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, overload

import msgspec

from mesocosm.core.content import Content
from mesocosm.core.failure import InvalidInput, RunAborted, UnknownName, UsageError
from mesocosm.core.ids import DIGEST_HEX, new_id
from mesocosm.core.redact import Redactor
from mesocosm.datasets.blocks import read_blocks
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.splits import split_places, unknown_split
from mesocosm.datasets.table import DataTable
from mesocosm.rollouts.benchmark import RolloutBenchmark
from mesocosm.rollouts.dataset_check import CheckedDataset
from mesocosm.rollouts.executor import LineLog, RowJob, RowOutcome
from mesocosm.rollouts.opening import RolloutOptions, chosen_rows, rollout_benchmark
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.rollouts.project import WorkspaceDirectory
from mesocosm.rollouts.rows import RolloutRow, read_rows
from mesocosm.rollouts.tables import Columns
from mesocosm.sandboxes.disk import remove
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.rollout_packages import prepare_rollout
from mesocosm.server.episode_slots import EpisodeSlots, RunSlots
from mesocosm.server.evaluations.content import dataset_file, snapshot_folder
from mesocosm.server.evaluations.run_keeper import BuildOutput, FileOutput, RunKeeper
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings
from mesocosm.server.workspace_secrets import hidden_texts, redactor_for, secrets_for
from mesocosm.store.datasets import DatasetState, DatasetVersion

RUN_FILES = "run-files"
"""Folder of the data directory with the files of the runs that workers of this machine play."""
PLANNED = "planned"


class EpisodePool(Protocol):
    """The episode slots of a worker, of which those of paused runs are lent to others."""

    @property
    def slots(self) -> EpisodeSlots:
        """The slots."""
        ...

    def pause(self, run: RunSlots, *, paused: bool) -> None:
        """Lend the slots of a run to others, or count them again."""
        ...


class HostedRollout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rollout of a workspace with a version of a dataset, as part of the options of the kind `hosted`.

    `name` is a folder below `rollouts/` of the snapshot. `user_id` is whose personal secrets it gets, None for
    nobody's. `options` are those of rollouts.opening.RolloutOptions, without places of this machine.
    """

    name: str
    snapshot: str
    dataset_id: str
    dataset_version: int
    workspace_id: str
    user_id: int | None
    options: dict[str, Any]
    run_id: str = ""


def open_hosted_rollout(service: Service, pool: EpisodePool | None, rollout: HostedRollout) -> RolloutBenchmark:
    """Return the benchmark of a rollout; without a pool, as in a server, it cannot run.

    Raises UsageError for invalid options, UnknownName if its snapshot or dataset was deleted, InfrastructureError.
    """
    files = service.settings.data_dir.absolute() / RUN_FILES / f"{rollout.run_id or PLANNED}.{new_id()}"
    given = msgspec.convert(rollout.options, RolloutOptions)
    options = msgspec.structs.replace(given, artifacts=str(files / "artifacts"), log=str(files / "output.log"))
    version = service.store.datasets.version(rollout.dataset_id, rollout.dataset_version)
    if version is None or version.state is not DatasetState.UPLOADED:
        raise UnknownName(
            f"version {rollout.dataset_version} of the dataset {options.name!r} is not there any more; submit the "
            "evaluation with another one"
        )
    folder = WorkspaceDirectory(snapshot_folder(service, rollout.snapshot)).rollouts / rollout.name
    rows = DatasetVersionRows(service, version, options)
    places = rows.of_split(options.split) if options.split else None
    chosen = chosen_rows(options, rows, version.digest[:DIGEST_HEX], options.name, places=places)
    rows.chosen = chosen.chosen
    executor = partial(HostedExecutor, service, pool, rollout, options, rows)
    return rollout_benchmark(folder, options, lambda: chosen, lambda content: executor(folder, content))


class DatasetVersionRows(Sequence[RolloutRow]):
    """The rows of a version of a dataset, of which those in `chosen` are read when the first one is needed.

    Their number is known without reading. Memory depends on the chosen rows, not on the size of the file.
    """

    def __init__(self, service: Service, version: DatasetVersion, options: RolloutOptions) -> None:
        self.chosen: Sequence[int] = ()
        self._service = service
        self._version = version
        self._options = options
        self._read: Mapping[int, RolloutRow] | None = None

    def __len__(self) -> int:
        """Return the number of rows of the whole dataset."""
        return self._version.rows or 0

    @overload
    def __getitem__(self, index: int) -> RolloutRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[RolloutRow]: ...
    def __getitem__(self, index: int | slice) -> RolloutRow | list[RolloutRow]:
        """Return a chosen row by its index from 0. Raises IndexError for any other."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        found = self.load().get(index)
        if found is None:
            raise IndexError(f"row {index} of {len(self)} is not among the chosen ones")
        return found

    def of_split(self, split: str) -> Sequence[int]:
        """Return the indices of the rows of a split, which the check of the version has found, or else the file tells.

        Raises UnknownName for a split that the dataset does not have, UsageError if none are named in it.
        """
        column = msgspec.convert(self._options.columns, Columns).split
        checked = msgspec.json.decode(self._version.summary, type=CheckedDataset)
        if column and checked.roles.get("split") == (column,) and checked.split_spans:
            spans = checked.split_spans.get(split)
            if spans is None:
                raise unknown_split(f"the dataset {self._options.name!r}", split, checked.splits)
            return [place for span in zip(spans[::2], spans[1::2], strict=True) for place in range(*span)]
        columns, rows = dict[str, None](), list[Mapping[str, Any]]()
        file = dataset_file(self._service, self._version)
        for block in read_blocks(file, self._version.format, DatasetProblems(), self._options.name):
            columns.update(dict.fromkeys(block.columns))
            rows += [{column: row.get(column)} for row in block.rows]
        return split_places(DataTable(f"the dataset {self._options.name!r}", tuple(columns), rows, ""), column, split)

    def load(self) -> Mapping[int, RolloutRow]:
        """Read the chosen rows, unless that was done, and return them by index. Raises InvalidInput."""
        if self._read is None:
            self._read = self._rows(dataset_file(self._service, self._version))
        return self._read

    def _rows(self, file: Path) -> Mapping[int, RolloutRow]:
        wanted, columns, raw = frozenset(self.chosen), dict[str, None](), dict[int, Mapping[str, Any]]()
        faults, before = DatasetProblems(), 0
        for block in read_blocks(file, self._version.format, faults, self._options.name):
            columns.update(dict.fromkeys(block.columns))
            raw.update((before + at, row) for at, row in enumerate(block.rows) if before + at in wanted)
            before += len(block.rows)
        faults.check(f"the dataset {self._options.name!r}")
        table = DataTable(self._options.name, tuple(columns), list(raw.values()), "")
        rows = read_rows(table, msgspec.convert(self._options.columns, Columns), extras=self._options.metadata)
        return {place: replace(row, index=place) for place, row in zip(raw, rows, strict=True)}


class HostedExecutor:
    """Runs the rows of a rollout in its sandbox, in episode slots of this worker. Implements RolloutExecutor.

    `open` installs what the rollout declares, unless this machine has it, and gets the values of its secrets.
    """

    def __init__(
        self,
        service: Service,
        pool: EpisodePool | None,
        rollout: HostedRollout,
        options: RolloutOptions,
        rows: DatasetVersionRows,
        folder: Path,
        content: Content,
    ) -> None:
        self._service = service
        self._pool = pool
        self._rollout = rollout
        self._options = options
        self._rows = rows
        self._folder = folder
        self._content = content
        self._redactor = Redactor(())
        self._hidden: frozenset[str] = frozenset()
        self._keeper = RunKeeper(service.store, rollout.run_id)
        self._stack = AsyncExitStack()
        self._processes: ProcessExecutor | None = None
        self._slots: RunSlots | None = None

    @property
    def capacity(self) -> int | None:
        """Maximum number of concurrent rows, known after `open`; None is unlimited."""
        return None if self._processes is None else self._processes.capacity

    async def open(self, notice: Callable[[str], None]) -> None:
        """Read the rows, install packages, and start the processes.

        Raises UsageError outside of workers, RunAborted if the rollout or its secrets are at fault.
        """
        if self._pool is None:
            raise UsageError(f"the rollout {self._rollout.name!r} is run by workers, and this process is not one")
        files = Path(self._options.log).parent
        self._stack.push_async_callback(asyncio.to_thread, remove, files)
        try:
            await asyncio.to_thread(files.mkdir, parents=True)
            await self._open(notice)
        except BaseException:
            await self.close()
            raise
        self._slots = self._pool.slots.join()

    async def _open(self, notice: Callable[[str], None]) -> None:
        service, rollout, options = self._service, self._rollout, self._options
        await asyncio.to_thread(self._rows.load)
        try:
            secrets = await asyncio.to_thread(
                secrets_for, service, rollout.workspace_id, rollout.user_id, options.secrets, rollout.run_id
            )
        except (Refusal, InvalidInput) as error:
            raise RunAborted(f"the run has no secrets: {error}") from error
        values = {name: secret.get_secret_value() for name, secret in secrets.items()}
        self._redactor = redactor_for(secrets)
        redact = self._redactor.text
        self._hidden = frozenset(hidden_texts(secrets))
        log = BuildLog(self._folder)
        async with self._keeper.following(BuildOutput(log, redact)):
            try:
                prepared = await prepare_rollout(service.settings, self._folder, log)
            except BuildError as error:
                log.say(str(error))
                raise RunAborted(f"what the rollout {rollout.name!r} needs cannot be installed: {error}") from error
        self._processes = ProcessExecutor(
            self._folder,
            options.entrypoint,
            environment={**options.environment, **values},
            secrets=tuple(values.values()),
            content=self._content,
            workers=options.workers,
            log_file=Path(options.log),
            sandbox=prepared.sandbox,
            python=prepared.python,
        )
        await self._stack.enter_async_context(self._keeper.following(FileOutput(Path(options.log), redact)))
        await self._processes.open(lambda words: notice(redact(words)))

    async def run(self, job: RowJob, log: LineLog) -> RowOutcome:
        """Wait for a slot and run one row. Raises EpisodeError, RunAborted."""
        processes, slots = self._processes, self._slots
        if processes is None or slots is None:
            raise RunAborted(f"the rollout {self._rollout.name!r} was not opened, or is closed")
        await slots.acquire()
        try:
            outcome = await processes.run(job, log)
        finally:
            slots.release()
        await self._keeper.keep_artifacts(job.id, job.artifacts, self._redactor)
        if not self._options.grader:
            # A ready-made grader, which grades after this, reads them where they are.
            await asyncio.to_thread(remove, job.artifacts)
        return outcome

    def secrets(self) -> Collection[str]:
        """Return what must not be seen of the values of the run's secrets, known once they were read."""
        return self._hidden

    def pause(self, paused: bool) -> None:
        """Let other runs use the slots of this run while its model endpoint does not answer."""
        if self._pool is not None and self._slots is not None:
            self._pool.pause(self._slots, paused=paused)

    async def close(self) -> None:
        """End the processes, and store the rest of what they printed."""
        self.pause(False)  # noqa: FBT003
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.end()
        processes, self._processes = self._processes, None
        try:
            if processes is not None:
                await processes.close()
        finally:
            await self._stack.aclose()


def sweep_run_files(settings: Settings, before: float) -> int:
    """Remove the files of runs whose workers were killed, unchanged since a UNIX time; return how many folders."""
    place = settings.data_dir.absolute() / RUN_FILES
    listed = list(place.iterdir()) if place.is_dir() else []
    return sum(remove(folder) for folder in listed if folder.stat().st_mtime < before)
