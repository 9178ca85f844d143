"""A platform with a domain whose environment answers on loopback, people, and a worker in this process."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from tests.server.routes.conftest import Hosted, OpenHosted, Person

from mesocosm.server import adapters
from mesocosm.server.workers.worker import work
from mesocosm.store.domains import DomainRow

DOMAIN = "word-game"
PROMPT = "swordfish: the environment's own prompt"


class World:
    """An environment on loopback: two steps an episode; the first step of a seed in `held` waits until `release`."""

    def __init__(self) -> None:
        self.held: set[int] = set()
        self.failing: set[int] = set()
        self.reached = threading.Event()
        self.release = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self.release.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seeds: ClassVar[dict[str, int]] = {}

    def __init__(self, world: World, *given: Any) -> None:
        self.world = world
        super().__init__(*given)

    def do_GET(self) -> None:
        self._answer(200, {"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path == "/reset":
            self.seeds[body["episode_id"]] = body["seed"]
            self._answer(200, {"data": {"board": "start", "seed": body["seed"]}, "system_prompt": PROMPT})
        elif self.path == "/step":
            self._step(body)
        else:
            self._answer(200, {})

    def _step(self, body: dict[str, Any]) -> None:
        seed, world = self.seeds[body["episode_id"]], self.world
        if seed in world.failing:
            self._answer(500, {"detail": "account acct-4711 at /srv/secret/place is closed"})
            return
        if seed in world.held:
            world.reached.set()
            world.release.wait(60)
        known = self.seeds.setdefault(f"{body['episode_id']}-steps", 0) + 1
        self.seeds[f"{body['episode_id']}-steps"] = known
        info = {"won": True, "error": "account acct-4711"} if known == 2 else {}
        self._answer(
            200, {"observation": {"data": {"board": known}}, "reward": 0.5, "terminated": known == 2, "info": info}
        )

    def _answer(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


def document_of(domain_id: str, url: str, **given: Any) -> dict[str, Any]:
    """Return the document of a domain."""
    return {
        "id": domain_id,
        "name": "The word game",
        "owner_id": "",
        "binding_vow": {
            "id": "vow",
            "domain_id": domain_id,
            "version": "1.0.0",
            "tier": "tier1",
            "description": "",
            "observation_space": {"type": "json"},
            "action_space": {"type": "discrete", "enum_values": ["left", "right"]},
            "reward": {"type": "scalar"},
            "episode": {"max_steps": 5},
            "techniques": [{"technique_id": "memory"}],
        },
        "endpoint": {"mode": "remote", "url": url},
        "scoring": {
            "primary_metric": "reward",
            "metrics": [{"name": "reward", "type": "episode_reward", "aggregation": "mean"}],
        },
        "tags": [],
        "detail": "",
        "status": "published",
        **given,
    }


class Runs:
    """The platform, its people, its domain, and ways to ask for runs and have them played."""

    def __init__(self, hosted: Hosted, world: World) -> None:
        self.hosted, self.service, self.world = hosted, hosted.service, world
        adapters.bind(self.service)
        self.ann, self.bob, self.cid = self.member("ann"), self.member("bob"), self.member("cid")
        assert self.ann.user_id is not None
        assert self.bob.user_id is not None
        team = self.service.store.teams.add("Reefs", self.ann.user_id)
        assert team is not None
        self.service.store.teams.join(team.join_code, self.bob.user_id, 4)
        self.team = team.id
        self.domain(DOMAIN)

    def member(self, name: str, role: str = "member") -> Person:
        """Return a new member who never signs in with a password: hashing one takes a tenth of a second."""
        user = self.service.store.users.add(name, role=role)
        return Person(self.hosted, self.service.accounts.access_token(user), user.id, name)

    def domain(self, domain_id: str, status: str = "published", **given: Any) -> str:
        """Add a domain of Ann's."""
        document, now = document_of(domain_id, self.world.url, status=status, **given), time.time()
        row = DomainRow(domain_id, self.ann.user_id, None, status, document["name"], document, now, now)
        assert self.service.store.domains.add(row)
        return domain_id

    def body(self, **given: Any) -> dict[str, Any]:
        """Return the body of a request for a run."""
        agent = {"model": "builtin/random", "system_prompt": "play like a swordfish", **given.pop("agent_config", {})}
        wanted = {"domain_id": DOMAIN, "binding_vow_version": "1.0.0", "num_episodes": 2, "agent_config": agent}
        return {**wanted, **given}

    def ask(self, person: Person, **given: Any) -> dict[str, Any]:
        """Return a run that somebody asked for."""
        answer = person.post("/v1/runs", self.body(**given))
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def play(self) -> None:
        """Play everything that waits."""
        asyncio.run(work(self.service, once=True))
        adapters.bind(self.service)

    def played(self, person: Person, **given: Any) -> str:
        """Return the id of a run that somebody asked for and that was played."""
        run_id = self.ask(person, **given)["id"]
        self.play()
        return str(run_id)


@pytest.fixture
def world() -> Iterator[World]:
    """An environment that runs elsewhere."""
    made = World()
    yield made
    made.close()


@pytest.fixture
def open_runs(open_hosted: OpenHosted, world: World) -> Callable[..., Runs]:
    """Return what opens a platform with other settings."""
    return lambda **given: Runs(open_hosted(**{"private_env_urls": True, "demo_domains": (DOMAIN,), **given}), world)


@pytest.fixture
def runs(open_runs: Callable[..., Runs]) -> Runs:
    """A platform with its ordinary settings."""
    return open_runs()
