"""One platform with something of everything on it, and people around it; what is private holds words to look for."""

import asyncio
import hashlib
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from anyio.from_thread import BlockingPortal
from pydantic import SecretStr
from tests.server.routes.conftest import PASSWORD, Hosted, Person
from tests.server.routes.run_requests.conftest import DOMAIN, Runs, World, document_of
from tests.server.runnable_code import add_code, add_dataset

from mesocosm.core.event import Kind
from mesocosm.core.ids import digest_bytes, new_id
from mesocosm.core.review import AskedLabel, Round, Verdict
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.server import adapters
from mesocosm.server.auth.principal import Kind as PrincipalKind
from mesocosm.server.auth.principal import Principal
from mesocosm.server.auth.sign_ins import fingerprint
from mesocosm.server.builds.git_credentials import TOKEN, credential_holder
from mesocosm.server.notifications.delivery import store_target
from mesocosm.server.notifications.signing import new_secret
from mesocosm.server.run_requests.submission import submit_run
from mesocosm.server.schemas.run_request import RunInput
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.server.workers.dataset_checks import check_dataset_version
from mesocosm.server.workers.worker import work
from mesocosm.server.workspace_secrets import set_secret
from mesocosm.store import open_store
from mesocosm.store.batch_runs import BatchRun
from mesocosm.store.datasets import DatasetFile
from mesocosm.store.device_logins import DeviceLogin
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import BuildState, EnvironmentRow, VersionRow
from mesocosm.store.notifications import Delivery, Notification
from mesocosm.store.repositories import Sync, SyncedConfiguration, SyncedRollout, SyncState, new_repository
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.run_imports import RunImport
from mesocosm.store.schedules import Schedule
from mesocosm.store.schema import runs as run_table
from mesocosm.store.snapshot_uploads import SnapshotUpload
from mesocosm.store.tenancy import requests
from mesocosm.store.workspace_secrets import WORKSPACE, personal_holder

SECRET = "the secret of the workers"
ADDRESS = "http://models.canary.example:8021/v1"
"""Where a model is asked."""
SOLO, TEAM = "canary-solo", "canary-team"
"""Words in what is Ann's alone, and in what is her team's."""
DEVICE_CODE, USER_CODE = "of-a-program", "BCDFGHJK"
"""The codes of a program that waits for its login."""
STORED, NOBODY_READS = "STORED_KEY", "canary-value"
"""Name and value of a secret of her workspace."""
HUSHED = "canary-prompt"
"""A word in what insiders of a run may read, however public it is."""
ELSEWHERE = f"openai/canary@{ADDRESS}"
MODELS = [
    {"name": "builtin/random", "guests": True, "full_bench": True},
    {"name": "openai/canary", "served_as": ELSEWHERE},
]
SETTINGS: dict[str, Any] = {
    "cooldown_s": 0.0,
    "max_missing": 1.0,
    "private_env_urls": True,
    "demo_domains": (DOMAIN,),
    "worker_secret": SECRET,
    "sign_up": True,
    "test_episode_s": 0.001,
    "full_bench_episodes": 1,
    "models": MODELS,
}
EPISODES = 2
CONFIGURATION = f"configs/eval/{TEAM}.toml"
DATASET = f"user_prompt,ground_truth\n{TEAM}?,1\n".encode()
"""A file with a word of what is Ann's team's."""


@dataclass(frozen=True)
class Ground:
    """Things of the same people: ids by the names of parameters, and who is inside, owns, changes and reads them."""

    ids: dict[str, str]
    inside: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    changers: frozenset[str] | None = None
    """Who changes them, where that is not everybody inside."""
    open: bool = False


class Landscape(Runs):
    """Ann's things: public, of her team or workspace (with Bob), and hers alone; Cid, a guest and nobody outside."""

    def __init__(self, hosted: Hosted, world: World, place: Path) -> None:
        world.failing = {1}
        super().__init__(hosted, world)
        self.place = place
        self.team_code = self.service.store.teams.get(self.team).join_code  # type: ignore[union-attr]
        self.dee = self.member("dee")
        self.people = {
            "anonymous": hosted.anonymous,
            "guest": hosted.guest(),
            "member": self.cid,
            "mate": self.bob,
            "owner": self.ann,
            "admin": self.member("root", "admin"),
            "token": self._token(),
            "worker": Person(hosted, SECRET),
        }
        self.grounds = self._grounds()
        self.sign_in = self._sign_in()
        self._start_device()
        self._kept = place / "kept.db"
        self._reader = sqlite3.connect(self._live, check_same_thread=False)
        self._read: tuple[int, dict[str, list[Any]]] = (-1, {})
        self.keep()

    def member(self, name: str, role: str = "member") -> Person:
        """Return a new member with a password."""
        return self.hosted.member(name, role)

    @property
    def _live(self) -> Path:
        return self.place / DATABASE_NAME

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        with closing(sqlite3.connect(source)) as a, closing(sqlite3.connect(target)) as b:
            a.backup(b)

    def keep(self) -> None:
        """Let `restore` lead here."""
        self._copy(self._live, self._kept)

    def restore(self) -> None:
        """Make everything as it was in the beginning."""
        self._copy(self._kept, self._live)

    def content(self) -> dict[str, list[Any]]:
        """Return every row of what people have; not counters of tries, and not when somebody was last seen."""
        names = (
            "orders runs run_tags domains environments environment_versions teams memberships jobs users guests "
            "workspaces workspace_members workspace_secrets datasets dataset_versions dataset_parts "
            "dataset_additions repositories syncs snapshot_uploads run_imports run_import_parts device_logins"
        )
        ask = self._reader.execute
        (version,) = ask("PRAGMA data_version").fetchone()
        # Most requests are refused: nobody has written since.
        if version != self._read[0]:
            known = {row[0] for row in ask("SELECT name FROM sqlite_master WHERE type = 'table'")}
            assert set(names.split()) <= known, sorted(known)
            tokens = ask("SELECT id, name, scope FROM personal_tokens ORDER BY 1").fetchall()
            rows = {name: ask(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names.split()}
            self._read = (version, {"personal_tokens": tokens, **rows})
        return self._read[1]

    def close(self) -> None:
        """Close what it reads with."""
        self._reader.close()

    def _token(self) -> Person:
        made = self.ann.post("/api/tokens", {"name": SOLO, "scope": "read"}).json()
        self.token_id = made["id"]
        return Person(self.hosted, made["token"], self.ann.user_id, "ann")

    def _repository(self, workspace_id: str) -> str:
        """Connect a workspace with a repository that was synced once; return its id."""
        store = self.service.store
        row = store.repositories.connect(
            new_repository(workspace_id, f"github.com/a/{TEAM}", f"https://github.com/a/{TEAM}", branch=TEAM)
        )
        assert row is not None
        store.syncs.add(Sync(repository_id=row.id, number=0, branch=TEAM))
        claimed = store.syncs.claim("worker", 30.0)
        assert claimed is not None
        found = {"author": TEAM, "message": TEAM, "rollouts": (SyncedRollout(TEAM),)}
        found |= {"configurations": (SyncedConfiguration(CONFIGURATION, valid=True),)}
        over = {"state": SyncState.SUCCESS, "ended_at": time.time(), "commit_id": "a" * 40}
        over["snapshot"] = add_code(self.service, CONFIGURATION)
        add_dataset(self.service, workspace_id, self.ann.user_id)
        assert store.syncs.save(msgspec.structs.replace(claimed, **found, **over))
        token = SecretStr(f"x-access-token:{NOBODY_READS}")
        set_secret(self.service, workspace_id, credential_holder(row.id), TOKEN, token, self.ann.user_id)
        return row.id

    def _session(self) -> str:
        """Return the id of a sign-in of Ann's."""
        user = self.service.store.users.get(self.ann.user_id or 0)
        assert user is not None
        self.service.accounts.signins.start_web(user, SOLO)
        (session,) = self.ann.get("/api/sessions").json()
        return str(session["id"])

    def _sign_in(self) -> dict[str, str]:
        """Return a cookie of a browser and a refresh token, of Dee."""
        user = self.service.store.users.get(self.dee.user_id or 0)
        assert user is not None
        signins = self.service.accounts.signins
        return {"web": signins.start_web(user, ""), "refresh": signins.start_refresh(user, "")[1]}

    def _start_device(self) -> None:
        """Start the login of a program, which waits longer than all tests."""
        now = time.time()
        login = DeviceLogin("osmosis-cli/1", "laptop", "203.0.113.9", now, now + 86_400)
        assert self.service.store.device_logins.add(login, fingerprint(DEVICE_CODE), fingerprint(USER_CODE))

    def _grounds(self) -> dict[str, Ground]:
        ann, mates = {"owner", "admin", "token"}, {"owner", "mate", "admin", "token"}
        played = (
            (self._ask(visibility="gallery_public", name="Shown"), HUSHED),
            (self._ask(team_id=self.team, name=TEAM, tags=[TEAM]), TEAM),
            (self._ask(name=SOLO, tags=[SOLO]), SOLO),
            (self._ask(visibility="gallery_public", name=TEAM, tags=[TEAM]), TEAM),
        )
        test = submit_run(
            self.service, self.service.viewer(self._principal), self._input(name=SOLO), purpose="test"
        ).run_id
        self._play()
        public, team, solo, shared_run = (self._played(run_id, word) for run_id, word in played)
        for run_id in (public["run_id"], solo["run_id"], shared_run["run_id"]):
            self._serve_elsewhere(run_id)
        for domain_id, status, word, given in (
            ("draft-game", "draft", SOLO, {}),
            ("team-game", "draft", TEAM, {"environment_id": "env-team"}),
            ("old-game", "archived", SOLO, {}),
        ):
            self._domain(domain_id, status, word, **given)
        solo |= self._environment("env-solo", "draft-game", SOLO) | {"domain_id": "draft-game"}
        team |= self._environment("env-team", "team-game", TEAM, team_id=self.team) | {"domain_id": "team-game"}
        waiting, cancelled = (self._ids(self._ask(name=SOLO)) for _ in range(2))
        assert self.ann.post(f"/api/runs/{cancelled['run_id']}/stop").status_code == 200
        guests = self.ask(self.people["guest"], num_episodes=1)["id"]
        job = BatchRun(
            id="job-solo",
            environment_id="env-solo",
            user_id=self.ann.user_id,
            created_at=time.time(),
            source=f"https://github.com/a/{SOLO}",
            results=[{"model": "builtin/random", "run_id": waiting["run_id"]}],
        )
        self.service.store.batch_runs.add(job)
        failed = self._environment("env-failed", "draft-game", SOLO, failed=True)
        workspace = self.service.store.workspaces.add(TEAM, self.ann.user_id)
        assert workspace is not None
        self.service.store.workspaces.add_member(workspace.id, self.bob.user_id or 0, "member")
        for holder in (WORKSPACE, *(personal_holder(one.user_id or 0) for one in (self.ann, self.bob))):
            set_secret(self.service, workspace.id, holder, STORED, SecretStr(NOBODY_READS), self.ann.user_id)
        self._share(shared_run["run_id"], workspace.id)
        hook_id = self._repository(workspace.id)
        shared = {"workspace": workspace.id, "name": STORED, "number": "1", "hook_id": hook_id}
        shared["workspace_run"] = shared_run["run_id"]
        shared |= self._automation(workspace.id)
        own = frozenset(ann)
        return {
            "public": Ground(public | {"domain_id": DOMAIN}, own, own, open=True),
            "team": Ground(team | {"team_id": self.team}, frozenset(mates), own),
            "workspace": Ground(shared, frozenset(mates), own),
            "shared run": Ground(shared_run, frozenset(mates), own, changers=own),
            "snapshot": Ground(
                {"workspace": workspace.id, "snapshot_id": self._snapshot(workspace.id)}, frozenset(mates), own
            ),
            "dataset": Ground({"workspace": workspace.id, **self.dataset(workspace.id, TEAM)}, frozenset(mates), own),
            "import": Ground({"import_id": self._import(), "part": "1"}, own, own),
            "solo": Ground(solo | {"batch_id": job.id}, own, own),
            "round": Ground(self._round(solo["run_id"]), own, own),
            "waiting": Ground(waiting, own, own),
            "cancelled": Ground(cancelled, own, own),
            "guest": Ground(self._ids(guests), frozenset({"guest", "admin"}), frozenset({"guest"})),
            "test": Ground(self._ids(test), own, own),
            "failed": Ground(failed, own, own),
            "archived": Ground({"domain_id": "old-game"}, own, own),
            "session": Ground({"session_id": self._session()}, frozenset({"owner"}), frozenset({"owner"})),
            "token": Ground({"token_id": self.token_id}, frozenset({"owner", "token"}), frozenset({"owner", "token"})),
        }

    def _automation(self, workspace_id: str) -> dict[str, str]:
        """Return the ids of a schedule of Ann's, a notification, and a message for it."""
        store = self.service.store
        fields: dict[str, Any] = {"workspace_id": workspace_id, "name": TEAM, "created_by": self.ann.user_id}
        schedule = store.schedules.add(Schedule(id="", configuration=CONFIGURATION, trigger="sync", **fields), 9)
        hook = Notification(id=new_id(), host=TEAM, format="slack", events=("failed",), **fields)
        assert schedule is not None
        assert store.notifications.add(hook, 9) is not None
        store_target(self.service, hook, SecretStr(f"https://8.8.8.8/{NOBODY_READS}"), new_secret())
        message = store.deliveries.add(Delivery(id="", notification_id=hook.id, event="failed", body=TEAM))
        return {"schedule": schedule.id, "notification": hook.id, "message_id": message.id}

    def _round(self, run_id: str) -> dict[str, str]:
        """Return the ids of a review round of a run of Ann's, of which she has judged the first episode."""
        store = self.service.store
        ann = f"user:{self.ann.user_id}"
        made = Round(id="", name=SOLO, created_by=ann, reviews=1, labels=(AskedLabel(SOLO),), blind=False)
        found = store.reviews.add(made, [episode.id for episode in store.episodes.list(run_id).items])
        (first, *_) = store.reviews.items(found.id)
        for round_id in (found.id, ""):
            mine = Verdict(episode_id=first.episode_id, round_id=round_id, author=ann, author_name="ann")
            said = msgspec.structs.replace(mine, answer="right", note=SOLO)
            store.reviews.save(said)
        return {"round_id": found.id, "number": "1"}

    def _import(self) -> str:
        """Return the id of an import of Ann's whose only part is there."""
        size, digest = len(DATASET), hashlib.sha256(DATASET).hexdigest()
        fields: dict[str, Any] = {
            "actor": f"user:{self.ann.user_id}",
            "source": SOLO,
            "host": SOLO,
            "size": size,
            "digest": digest,
        }
        begun = self.service.store.run_imports.begin(RunImport(**fields), most_bytes=size)
        assert self.service.store.run_imports.add_part(begun, 1, DATASET)
        return begun.id

    def _snapshot(self, workspace_id: str) -> str:
        """Return the id of a snapshot of Ann's that is uploaded."""
        store = self.service.store
        file = SnapshotFile(TEAM, digest_bytes(DATASET), len(DATASET))
        snapshot = store.snapshots.add([file], lambda _: DATASET)
        wanted = SnapshotUpload(
            id="", workspace_id=workspace_id, digest=snapshot.digest, changes=TEAM, created_by=self.ann.user_id
        )
        upload = store.snapshot_uploads.begin(wanted)
        store.snapshot_uploads.complete(upload, snapshot)
        return upload.id

    def dataset(self, workspace_id: str, name: str) -> dict[str, str]:
        """Return the ids of a dataset of Ann's with an uploaded version, and one that is being uploaded."""
        store = self.service.store.datasets
        dataset_id = ""
        first = DATASET.replace(TEAM.encode(), name.encode())
        for data in (first, first + b"more?,2\n"):
            digest = hashlib.sha256(data).hexdigest()
            file = DatasetFile(
                name=name, file_name=f"{name}.csv", format="csv", size=len(data), digest=digest, overwrite=True
            )
            version = store.begin(workspace_id, file, by=self.ann.user_id, most_bytes=10**6).version
            assert version is not None
            store.add_part(version, 1, data)
            if not dataset_id:
                store.submit(version)
                claimed = store.claim_check("worker", 60.0)
                assert claimed is not None
                asyncio.run(check_dataset_version(self.service, claimed))
            dataset_id = version.dataset_id
        return {"dataset": dataset_id, "number": "2", "part": "1"}

    @property
    def _principal(self) -> Principal:
        return Principal(PrincipalKind.MEMBER, self.ann.user_id, "ann")

    def _input(self, **given: Any) -> RunInput:
        prompt = {"system_prompt": HUSHED, "techniques": [{"technique_id": "memory", "params": {}}]}
        return RunInput.model_validate(self.body(num_episodes=EPISODES, agent_config=prompt, **given))

    def _ask(self, *, purpose: str = "run", **given: Any) -> str:
        viewer = self.service.viewer(self._principal)
        return submit_run(self.service, viewer, self._input(**given), purpose=purpose).run_id

    def _played(self, run_id: str, word: str) -> dict[str, str]:
        """Return the ids of a run that was played, with content beside it."""
        (first, *_) = self.service.store.episodes.list(run_id).items
        artifact = self.service.store.artifacts.add(
            run_id, "notes.txt", f"{word} of {run_id}".encode() * 100, content_type="text/plain", episode_id=first.id
        )
        return {**self._ids(run_id), "digest": artifact.digest}

    def _play(self) -> None:
        asyncio.run(work(self.service, once=True))
        adapters.bind(self.service)

    def _ids(self, run_id: str) -> dict[str, str]:
        rows = self.service.store.episodes.list(run_id).items
        if not rows:
            return {"run_id": run_id, "episode_id": f"{run_id}.0", "other_id": f"{run_id}.1"}
        calls = [event.seq for event in self.service.store.traces.events(rows[0].id) if event.kind is Kind.MODEL_CALL]
        return {"run_id": run_id, "episode_id": rows[0].id, "other_id": rows[1].id, "seq": str(calls[0])}

    def _serve_elsewhere(self, run_id: str) -> None:
        """Let a run be one of a model at an address of the operator's."""
        spec = self.service.store.runs.get(run_id).spec
        spec = msgspec.structs.replace(spec, model=msgspec.structs.replace(spec.model, name=ELSEWHERE))
        text = msgspec.json.encode(spec).decode()
        statement = run_table.update().where(run_table.c.id == run_id).values(spec=text)
        self.service.store.database.write(lambda connection: connection.execute(statement))

    def _share(self, run_id: str, workspace_id: str) -> None:
        """Let a run that Cid submitted to be public be one of a workspace that he is not in any more."""
        owned = {"workspace_id": workspace_id, "actor": f"user:{self.cid.user_id}", "actor_name": "cid"}
        statement = requests.update().where(requests.c.run_id == run_id).values(owned)
        self.service.store.database.write(lambda connection: connection.execute(statement))

    def _domain(self, domain_id: str, status: str, word: str, environment_id: str | None = None) -> None:
        document, now = (
            document_of(domain_id, self.world.url, status=status, name=word, detail=word, published_at=None),
            time.time(),
        )
        row = DomainRow(domain_id, self.ann.user_id, environment_id, status, word, document, now, now)
        assert self.service.store.domains.add(row)

    def _environment(
        self, env_id: str, domain_id: str, word: str, *, team_id: str | None = None, failed: bool = False
    ) -> dict[str, str]:
        domain = self.service.store.domains.get(domain_id)
        assert domain is not None
        source = f"https://github.com/a/{word}-{env_id}"
        row = EnvironmentRow(
            id=env_id,
            holder_key=f"team:{team_id}" if team_id else f"user:{self.ann.user_id}",
            owner_id=self.ann.user_id,
            team_id=team_id,
            domain_id=None if failed else domain_id,
            name=word,
            description=word,
            source=source,
            status="failed" if failed else "ready",
            error=word if failed else "",
            ready_version=None if failed else 2,
            version=2,
        )
        manifest = msgspec.json.encode({**domain.document, "adapter": "adapter.py"}).decode()
        state = BuildState.FAILED if failed else BuildState.READY
        version = VersionRow(
            environment_id=env_id, version=2, state=state, manifest=manifest, digest="d" * 32, log=f"line: {word}",
            commit_id="c" * 40, source=source,
        )  # fmt: skip
        self.service.store.environments.add(row, version)
        return {"environment_id": env_id, "env_id": env_id}


def open_landscape(
    place: Path, empty: Path, portal: BlockingPortal, world: World
) -> tuple[Landscape, Callable[[], None]]:
    """Return a landscape in a folder, and what closes it."""
    place.mkdir()
    shutil.copyfile(empty, place / DATABASE_NAME)
    store = open_store(place)
    hosted = Hosted(Service(read_settings(data_dir=place / "data", **SETTINGS), store), portal)
    land = Landscape(hosted, world, place)

    def close() -> None:
        land.close()
        store.close()

    return land, close


__all__ = ["PASSWORD", "Ground", "Landscape", "open_landscape"]
