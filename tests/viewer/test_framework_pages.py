"""What benchmarks of other frameworks look like: their catalogue, and observations with legal actions and boards."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.viewer.conftest import MadeOnce, Server, ask, find_episode, mesocosm, serving
from tests.viewer.test_axe import examine

FOUND = {
    "items": [
        {
            "run": "inspect:inspect_evals/tau2_airline",
            "title": "Tau2",
            "description": "Conversations in an environment that both sides control",
            "tasks": 50,
            "needs": ["docker", "download"],
            "licence": "MIT",
            "tags": [],
        },
        {
            "run": "gym:Taxi-v4",
            "title": "Taxi",
            "description": "",
            "tasks": None,
            "needs": [],
            "licence": "",
            "tags": [],
        },
    ],
    "found": 2,
    "frameworks": [
        {"name": "inspect", "title": "Inspect", "benchmarks": 252},
        {"name": "gym", "title": "Gymnasium", "benchmarks": 30},
    ],
}
GAME = '''
import struct
import zlib
from base64 import b64encode

import mesocosm as mc


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


head = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
body = zlib.compress((b"\\0" + bytes(48)) * 16)
chunks = chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
PICTURE = b64encode(b"\\x89PNG\\r\\n\\x1a\\n" + chunks).decode()


class Column(mc.Environment):
    """Drop a stone into a column."""

    max_steps = 2
    action_space = {"type": "discrete", "enum_values": ["0", "1", "2"]}

    def reset(self, seed=None, **params):
        return {
            "seat": "player_0",
            "image": PICTURE,
            "legal_actions": ["0", "2"],
            "metadata": {"maze": [[0, 1, 0], [1, 0, 1]], "status": "playing"},
        }

    def step(self, action):
        return mc.StepResult(self.reset(), 1.0, False, False, {"action_mask": [1, 0, 1]})
'''


def listed(page: Page) -> None:
    """Let the page see these benchmarks, whatever this machine has installed."""

    def answer(route: Route) -> None:
        route.fulfill(body=json.dumps(FOUND), content_type="application/json")

    page.route(re.compile(r"/api/framework-benchmarks\?"), answer)


def test_benchmarks_of_frameworks_tell_their_size_needs_licence_and_command(page: Page, game: Server) -> None:
    listed(page)
    page.goto(f"{game.url}/benchmarks")
    row = page.get_by_role("region", name="Benchmarks of other frameworks").get_by_role("row").filter(has_text="Tau2")
    for words in ("50", "docker, download", "Inspect · MIT"):
        expect(row).to_contain_text(words)
    expect(row.get_by_text("mesocosm bench run inspect:inspect_evals/tau2_airline -m MODEL")).to_be_visible()
    expect(row.get_by_role("button", name="Copy the command")).to_be_visible()


def test_a_phone_shows_the_commands_of_frameworks_without_scrolling_sideways(page: Page, game: Server) -> None:
    listed(page)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{game.url}/benchmarks")
    command = page.get_by_text("mesocosm bench run gym:Taxi-v4 -m MODEL")
    command.scroll_into_view_if_needed()
    box = command.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


@pytest.fixture(scope="module")
def game(made_once: MadeOnce) -> Iterator[Server]:
    """A viewer over one run of a game whose observations are objects."""

    def play(place: Path) -> None:
        place.mkdir(parents=True)
        (place / "game.py").write_text(GAME)
        mesocosm("run", f"{place / 'game.py'}:Column", "-m", "builtin/random", "--limit", "1", results=place)

    with serving(made_once("game-of-objects", play)) as running:
        yield running


def open_game(page: Page, server: Server) -> None:
    run = ask(server, "/api/runs")["items"][0]["id"]
    page.goto(f"{server.url}/episodes/{find_episode(server, run)}")
    expect(page.get_by_role("article", name="Observation").first).to_be_visible()


def test_an_observation_shows_its_picture_legal_actions_and_board(page: Page, game: Server) -> None:
    open_game(page, game)
    seen = page.get_by_role("article", name="Observation").first
    expect(seen.get_by_role("img", name="PNG of the episode, 16 × 16 pixels")).to_be_visible()
    expect(seen.get_by_role("list", name="Legal actions").get_by_role("listitem")).to_have_text(["0", "2"])
    expect(seen.get_by_role("table", name="Board of 2 × 3 cells")).to_be_visible()
    expect(seen).not_to_contain_text("iVBOR")


def test_a_list_of_numbers_stands_on_one_line(page: Page, game: Server) -> None:
    open_game(page, game)
    expect(page.get_by_role("article", name="Result").first).to_contain_text("[1,0,1]")


def test_everybody_can_read_such_observations(page: Page, game: Server) -> None:
    assert examine(page, game, open_game) == []


def test_everybody_can_read_the_benchmarks_of_frameworks(page: Page, game: Server) -> None:
    def open_list(page: Page, server: Server) -> None:
        page.goto(f"{server.url}/benchmarks?q=t")
        expect(page.get_by_role("region", name="Benchmarks of other frameworks")).to_be_visible()

    listed(page)
    assert examine(page, game, open_list) == []
