"""Store a run that was pushed: its bundle is checked in a process of its own, then stored in one transaction."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.entry import Entry
from mesocosm.core.failure import InfrastructureError, Problem, UnknownName, UsageError
from mesocosm.core.run import Run
from mesocosm.interop.bundle import Bundle
from mesocosm.sandboxes.scratch import ScratchFolder
from mesocosm.server.auth.redaction import shown_model
from mesocosm.server.service import Service
from mesocosm.server.workers.bundle_check import CheckedBundle
from mesocosm.server.workers.foreign_files import assemble, check_apart
from mesocosm.store.blobs import Artifact
from mesocosm.store.run_imports import ImportTaken, LocalEvaluation, RunImport, foreign_id
from mesocosm.store.run_requests import RunRequest, RunRequestFilter


async def import_run(service: Service, claimed: RunImport) -> bool:
    """Check a claimed import and store its run, or what is wrong with it; return False if the claim was lost meanwhile.

    Raises InfrastructureError if the store cannot be reached, or the disk is full: then the lease expires, and a worker
    checks again.
    """
    store = service.store.run_imports
    scratch = await asyncio.to_thread(ScratchFolder)
    try:
        file = scratch.path / "bundle.zip"
        digests = await asyncio.to_thread(store.parts, claimed.id)
        local = claimed.local
        if local is None:
            found = await assemble(file, digests, claimed.part_count, claimed.digest, store.read_part)
            problems = [found] if isinstance(found, Problem) else []
        else:
            problems = await _converted(service, claimed, local, digests, file)
        problems = problems or await _stored(service, claimed, file)
    except ImportTaken:
        return False
    finally:
        await asyncio.to_thread(scratch.remove)
    return not problems or await asyncio.to_thread(store.refuse, claimed, problems)


async def _converted(
    service: Service, claimed: RunImport, local: LocalEvaluation, digests: Mapping[int, str], bundle: Path
) -> list[Problem]:
    """Write the folder of a run of osmosis-ai, and from that its bundle; return what is wrong with it."""
    folder, read = bundle.parent, service.store.run_imports.read_part
    await asyncio.to_thread((folder / "evaluation.json").write_bytes, claimed.evaluation.encode())
    for file, numbers in claimed.numbered(local):
        place = folder / "files" / file.path
        await asyncio.to_thread(_make_room, place)
        parts = {number - numbers.start + 1: digests.get(number, "") for number in numbers}
        found = await assemble(place, parts, len(parts), file.digest, read)
        if isinstance(found, Problem):
            return [msgspec.structs.replace(found, path=file.path)]
    words = (str(folder), str(bundle), claimed.source)
    module = "mesocosm.server.workers.evaluation_check"
    checked = await check_apart(None, f"evaluation {claimed.id}", module, *words, folder=folder)
    return [checked] if isinstance(checked, Problem) else msgspec.json.decode(checked, type=list[Problem])


def _make_room(place: Path) -> None:
    """Make the folders of a file. Raises InfrastructureError if the disk is full or a path is too long for it."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(f"{place.parent} cannot be made: {error.strerror}; set TMPDIR") from error


async def _stored(service: Service, claimed: RunImport, file: Path) -> list[Problem]:
    """Check a bundle and store its run; return what is wrong with it."""
    folder = file.parent
    words = (str(file), str(folder), claimed.source)
    found = await check_apart(
        None, f"import {claimed.id}", "mesocosm.server.workers.bundle_check", *words, folder=folder
    )
    if isinstance(found, Problem):
        return [found]
    checked = msgspec.json.decode(found, type=CheckedBundle)
    if checked.run is None:
        return list(checked.problems)
    try:
        await asyncio.to_thread(_insert, service, claimed, file, checked)
    except UsageError as error:
        # Two copies of a run that went on, or were scored, separately.
        what = str(error).partition(";")[0]
        return [Problem("", what, f"delete run {claimed.target} on the server, then push it again")]
    return []


def _insert(service: Service, claimed: RunImport, file: Path, checked: CheckedBundle) -> None:
    run, target, at = checked.run, claimed.target, time.time()
    assert run is not None
    here = msgspec.structs.replace(run, id=target, chain="")
    origin = {
        "run": claimed.source,
        "host": claimed.host,
        "at": at,
        "signature": run.signature,
        "chain": run.chain,
        "digest": claimed.digest,
        "episodes": checked.finished,
        "recomputed": not run.unverified,
    }
    request = RunRequest(
        run_id=target,
        actor=claimed.actor,
        actor_name=claimed.actor_name,
        team_id=claimed.team_id,
        workspace_id=claimed.workspace_id,
        model=shown_model(run.model),
        visibility=claimed.visibility,
        kind="imported",
        name=_free_name(service, claimed),
        **_of_evaluation(claimed.local),
        config={"imported": origin, **_settings(claimed.local)},
        state="ended",
        created_at=at,
        ended_at=at,
    )
    with Bundle(file) as bundle:
        artifacts = [
            Artifact(
                foreign_id(item.id, target),
                target,
                item.name,
                item.digest,
                item.created_at,
                foreign_id(item.episode_id, target) if item.episode_id else "",
            )
            for item in bundle.artifacts(run.id)
        ]
        ending = service.store.run_imports.ending(claimed, request)
        if claimed.local is not None and claimed.local.replaces:
            with suppress(UnknownName):
                service.store.runs.delete(target)
        _check_numbers(service, run, target)
        service.store.bundles.insert(
            here, _entries(bundle, run.id, target), bundle.blobs(run.id), artifacts, ending=ending, same_scores=True
        )


def _free_name(service: Service, claimed: RunImport) -> str:
    """Return the name of a run of osmosis-ai in its workspace: its own, or one made of it if another run has that."""
    local, target = claimed.local, claimed.target
    if local is None or claimed.workspace_id is None:
        return ""
    for name in (local.name, f"{local.name}-{claimed.source[:8]}"):
        wanted = RunRequestFilter(workspace_id=claimed.workspace_id, name=name)
        if all(one.run_id == target for one in service.store.run_requests.list(wanted, limit=1)):
            return name
    return f"{local.name}-{target}"


def _of_evaluation(local: LocalEvaluation | None) -> dict[str, Any]:
    if local is None:
        return {}
    return {"commit_id": local.commit, "branch": local.branch, "configuration": local.configuration}


def _settings(local: LocalEvaluation | None) -> dict[str, Any]:
    """Return the settings of a run of osmosis-ai, named as those of runs that were submitted."""
    if local is None:
        return {}
    evaluation = {"n": local.n, "pass_threshold": local.pass_threshold}
    return {
        "config": {"evaluation": evaluation},
        "rollout": local.rollout,
        "entrypoint": local.entrypoint,
        "dataset": local.dataset,
        "dataset_digest": local.dataset_digest,
        "rows": local.rows,
        "dirty": local.dirty,
    }


def _check_numbers(service: Service, run: Run, target: str) -> None:
    """Raise UsageError if the run is there with the same episodes and other numbers, which would stay."""
    with suppress(UnknownName):
        there = service.store.runs.get(target)
        if there.counts.done == run.counts.done and there.metrics != run.metrics:
            raise UsageError(
                "it is here already with as many episodes, and other numbers: it was rescored since it was pushed"
            )


def _entries(bundle: Bundle, run_id: str, target: str) -> Iterator[Entry]:
    """Yield the entries of a bundle with the ids that they have here, without checksums, which cover ids."""
    for entry in bundle.entries(run_id):
        episode = msgspec.structs.replace(entry.episode, id=foreign_id(entry.episode.id, target), run_id=target)
        yield Entry(episode, entry.chunks, entry.blobs, link=entry.link)
