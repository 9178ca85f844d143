"""What benchmarks of other frameworks look like: their catalogue, and observations with legal actions and boards."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.viewer.conftest import MadeOnce, Server, mesocosm, serving

from mesocosm.store import open_store

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
        {"run": "gym:Taxi-v4", "title": "Taxi", "description": "", "tasks": None, "needs": [], "licence": "", "tags": []},
    ],
    "found": 2,
    "frameworks": [
        {"name": "inspect", "title": "Inspect", "benchmarks": 252},
        {"name": "gym", "title": "Gymnasium", "benchmarks": 30},
    ],
}
GAME = '''
import mesocosm as mc


class Column(mc.Env):
    """Drop a stone."""

    actions = ["0", "1", "2"]

    def reset(self, seed=0):
        self.left = 2
        return self.seen()

    def step(self, action):
        self.left -= 1
        return self.seen(), 1.0, self.left == 0

    def seen(self):
        maze = [[0, 1, 0], [1, 0, self.left]]
        return {"seat": "player_0", "legal_actions": ["0", "2"], "metadata": {"maze": maze, "status": "playing"}}
'''


def listed(page: Page) -> None:
    """Let the page see these benchmarks, whatever this machine has installed."""

    def answer(route: Route) -> None:
        route.fulfill(body=json.dumps(FOUND), content_type="application/json")

    page.route(re.compile(r"/api/framework-benchmarks\?"), answer)


def test_benchmarks_of_frameworks_tell_their_size_needs_licence_and_command(page: Page, server: Server) -> None:
    listed(page)
    page.goto(f"{server.url}/benchmarks")
    row = page.get_by_role("region", name="Benchmarks of other frameworks").get_by_role("row").filter(has_text="Tau2")
    for words in ("50", "docker, download", "Inspect · MIT"):
        expect(row).to_contain_text(words)
    expect(row.get_by_text("mesocosm bench run inspect:inspect_evals/tau2_airline -m MODEL")).to_be_visible()
    expect(row.get_by_role("button", name="Copy the command")).to_be_visible()


def test_a_phone_shows_the_commands_of_frameworks_without_scrolling_sideways(page: Page, server: Server) -> None:
    listed(page)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{server.url}/benchmarks")
    command = page.get_by_text("mesocosm bench run gym:Taxi-v4 -m MODEL")
    command.scroll_into_view_if_needed()
    box = command.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
