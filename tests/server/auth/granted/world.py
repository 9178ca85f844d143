"""Four runs with planted secrets, and a caller of each role."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.entry import Blob
from mesocosm.core.event import Kind as EventKind
from mesocosm.core.failure import Boundary, Cause, Failure, UnknownName
from mesocosm.core.ids import digest_bytes
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec
from mesocosm.core.score import Score
from mesocosm.server import adapters
from mesocosm.server.auth.principal import NOBODY, Kind, Principal, Role
from mesocosm.server.permissions.grant import Grant, grant
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service, local_service
from mesocosm.server.settings import read_settings
from mesocosm.store import Store, open_store
from mesocosm.store.run_requests import PRIVATE, PUBLIC, RunRequest

NAMES = ("private", "team", "public")
RUNS = (*NAMES, "shared")
OWNER, MATE, STRANGER, ADMIN = 1, 2, 3, 9
STORE = "store.sqlite"
CALLERS = {
    "nobody": NOBODY,
    "guest": Principal(Kind.GUEST, guest_id="guest"),
    "stranger": Principal(Kind.MEMBER, STRANGER, "stranger"),
    "team mate": Principal(Kind.MEMBER, MATE, "mate"),
    "owner": Principal(Kind.MEMBER, OWNER, "owner"),
    "admin": Principal(Kind.MEMBER, ADMIN, "root", role=Role.ADMIN),
    "local": NOBODY,
}
READS = {
    **dict.fromkeys(("nobody", "guest", "stranger"), ("public",)),
    "team mate": ("team", "public"),
    **dict.fromkeys(("owner", "admin", "local"), NAMES),
}
"""The runs and domains that each role may read."""
CHANGES = {
    **dict.fromkeys(("nobody", "guest", "stranger"), ()),
    "team mate": ("team",),
    **dict.fromkeys(("owner", "admin", "local"), NAMES),
}
"""The runs and domains that each role may change, and therefore sees in full."""
IN_WORKSPACE = {"team mate": ("shared",), **dict.fromkeys(("owner", "admin", "local"), ("shared",))}
"""The runs of a workspace that each role sees in full."""
MAY_CHANGE = {role: (*CHANGES[role], *(IN_WORKSPACE.get(role, ()) if role != "team mate" else ())) for role in CALLERS}
"""The runs that each role may change."""
MAY_READ = {role: (*READS[role], *IN_WORKSPACE.get(role, ())) for role in CALLERS}
"""The runs that each role may read."""
REFUSED = (Refusal, UnknownName)


def secret(name: str) -> str:
    """Return the words that only those who see all of a run may read."""
    return f"swordfish-of-{name}"


def mark(name: str) -> str:
    """Return the words by which even the existence of a run can be known."""
    return f"model-of-{name}"


@dataclass
class World:
    """A server with a private run, one of a team, a public one, and one shared in a workspace.

    The stranger submitted the shared one to be public, and left the workspace: its owner is the owner of the other
    runs, and the team mate a viewer there.
    """

    service: Service
    local: Service
    place: str
    runs: dict[str, str]
    episodes: dict[str, str]
    blobs: dict[str, str]

    def grant(self, role: str) -> Grant:
        """Return what a caller of a role may reach."""
        service = self.local if role == "local" else self.service
        return grant(service, service.nobody if role == "local" else CALLERS[role])

    def hidden(self, role: str) -> set[str]:
        """Return the words that a role must never be shown."""
        whole = {*CHANGES[role], *IN_WORKSPACE.get(role, ())}
        found = {secret(name) for name in RUNS if name not in whole}
        for name in set(RUNS) - set(MAY_READ[role]):
            found |= {mark(name), self.runs[name], self.episodes[name]}
        return found if role in {"admin", "local"} else found | {self.place}

    def readable(self, role: str) -> Iterator[str]:
        """Yield the ids of the runs that a role may read."""
        return (self.runs[name] for name in MAY_READ[role])


@contextlib.contextmanager
def opened(folder: Path, records: Any, write: Callable[..., Any]) -> Iterator[World]:
    """Open a server with the four runs."""
    store = open_store(folder / STORE)
    try:
        place = str(folder / "data")
        service = Service(read_settings(data_dir=place), store)
        world = World(service, local_service(store), place, {}, {}, {})
        for user_id, name in ((OWNER, "owner"), (MATE, "mate"), (STRANGER, "stranger")):
            assert service.store.users.add(name).id == user_id
        team = service.store.teams.add("Reefs", OWNER)
        assert team is not None
        service.store.teams.join(team.join_code, MATE, 4)
        workspace = service.store.workspaces.add("Shoals", OWNER)
        assert workspace is not None
        service.store.workspaces.add_member(workspace.id, MATE, "viewer")
        shared = {"workspace_id": workspace.id, "actor": f"user:{STRANGER}", "actor_name": "stranger"}
        for name in RUNS:
            given = {"team": {"team_id": team.id}, "shared": shared}.get(name, {})
            _plant(world, store, records, write, name, given)
        yield world
    finally:
        store.close()


@contextlib.contextmanager
def reopened(world: World, file: Path) -> Iterator[World]:
    """Open a copy of the store of a server."""
    store = open_store(file)
    try:
        service = Service(read_settings(data_dir=world.place), store)
        # As a server does when it starts; otherwise what is played by workers is unknown here.
        adapters.bind(service)
        yield replace(world, service=service, local=local_service(store))
    finally:
        store.close()


def _plant(
    world: World, store: Store, records: Any, write: Callable[..., Any], name: str, given: dict[str, Any]
) -> None:
    hidden = secret(name)
    spec = RunSpec(
        BenchmarkRef("environment", f"{world.place}/words.json"),
        ModelSettings(mark(name)),
        agent=AgentSettings("loop", {"system_prompt": hidden}),
    )
    run: Run = records.run(spec=spec, model=mark(name), error=hidden, warnings=(hidden,), name=mark(name))
    text = f"{hidden} in {world.place}/file"
    failure = Failure(Cause.AGENT_ERROR, Boundary.AGENT, text)
    score = Score("solved", 1.0, explanation=hidden)
    episode = records.episode(run, failure=failure, scores=(score,), terminal_info={"error": text})
    blob = Blob(digest_bytes(hidden.encode()), "text/plain", hidden.encode())
    events = [
        (0, EventKind.MESSAGE, {"index": 0, "role": "user", "content": hidden}),
        (1, EventKind.MODEL_CALL, {"model": mark(name), "text": hidden, "reasoning": hidden, "messages": [[0, 0]]}),
        (1, EventKind.ACTION, {"action": "go", "reasoning": hidden}),
        (1, EventKind.LOG, {"text": text}),
        (1, EventKind.ERROR, {"cause": "agent_error", "boundary": "agent", "message": text}),
    ]
    write(store, run, [episode], events, [blob])
    store.artifacts.add(run.id, hidden, hidden.encode(), content_type="text/plain")
    store.run_output.add(run.id, f"{text}\n")
    fields: dict[str, Any] = {
        "actor": f"user:{OWNER}",
        "actor_name": "owner",
        "domain_id": "words",
        "vow_version": "1",
        "model": mark(name),
        "visibility": PUBLIC if name in {"public", "shared"} else PRIVATE,
        "state": "ended",
        "created_at": 1.0,
        "config": {"agent_config": {"system_prompt": hidden}},
    }
    request = RunRequest(run_id=run.id, **{**fields, **given})
    world.service.store.run_requests.add(request)
    world.runs[name], world.episodes[name], world.blobs[name] = run.id, episode.id, blob.digest


def dump(value: Any) -> str:
    """Return everything that an answer tells, as text."""
    if isinstance(value, Iterator):
        value = list(value)
    if hasattr(value, "record"):
        value = value.record
    if isinstance(value, dict):
        return " ".join(dump(part) for item in value.items() for part in item)
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(map(dump, value))
    if hasattr(type(value), "__dataclass_fields__"):
        return " ".join(dump(getattr(value, name)) for name in type(value).__dataclass_fields__)
    if isinstance(value, msgspec.Struct):
        return " ".join(dump(part) for part in msgspec.structs.astuple(value))
    return repr(value)
