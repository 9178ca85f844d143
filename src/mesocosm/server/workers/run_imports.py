"""Store a run that was pushed: its bundle is checked in a process of its own, then stored in one transaction."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mesocosm.core.entry import Entry
from mesocosm.core.failure import Problem, UsageError
from mesocosm.interop.bundle import Bundle
from mesocosm.sandboxes.scratch import ScratchFolder
from mesocosm.server.auth.redaction import shown_model
from mesocosm.server.service import Service
from mesocosm.server.workers.bundle_check import CheckedBundle
from mesocosm.server.workers.foreign_files import assemble, check_apart
from mesocosm.store.blobs import Artifact
from mesocosm.store.run_imports import ImportTaken, RunImport, foreign_id
from mesocosm.store.run_requests import RunRequest


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
        found = await assemble(file, digests, claimed.part_count, claimed.digest, store.read_part)
        problems = [found] if isinstance(found, Problem) else await _stored(service, claimed, file)
    except ImportTaken:
        return False
    finally:
        await asyncio.to_thread(scratch.remove)
    return not problems or await asyncio.to_thread(store.refuse, claimed, problems)


async def _stored(service: Service, claimed: RunImport, file: Path) -> list[Problem]:
    """Check a bundle and store its run; return what is wrong with it."""
    folder = file.parent
    words = (str(file), str(folder), claimed.source)
    found = await check_apart(f"import {claimed.id}", "mesocosm.server.workers.bundle_check", *words, folder=folder)
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
        config={"imported": origin},
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
        service.store.bundles.insert(
            here, _entries(bundle, run.id, target), bundle.blobs(run.id), artifacts, ending=ending
        )


def _entries(bundle: Bundle, run_id: str, target: str) -> Iterator[Entry]:
    """Yield the entries of a bundle with the ids that they have here, without checksums, which cover ids."""
    for entry in bundle.entries(run_id):
        episode = msgspec.structs.replace(entry.episode, id=foreign_id(entry.episode.id, target), run_id=target)
        yield Entry(episode, entry.chunks, entry.blobs, link=entry.link)
