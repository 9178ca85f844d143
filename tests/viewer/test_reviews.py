"""People judge episodes in the browser: one round from its queue to its agreement, by keyboard, and for everybody."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect
from tests.viewer.conftest import Server, find_run
from tests.viewer.test_axe import Open, examine, violations

ITEMS = 3


@dataclass
class Round:
    """A round of reviews on a server of its own."""

    server: Server
    id: str

    @property
    def url(self) -> str:
        """Address of its queue."""
        return f"{self.server.url}/reviews/{self.id}"


def send(server: Server, path: str, document: object) -> Any:
    """Post a document; return the answer."""
    body = json.dumps(document).encode()
    asked = Request(f"{server.url}{path}", body, {"Content-Type": "application/json"})
    with urlopen(asked) as answer:
        return json.load(answer)


def open_round(server: Server, name: str) -> Round:
    """Return a new round of three episodes with two reviews each, of which Ben has given his."""
    run = find_run(server.results, "grid-world", "openai/tiny")
    given = {"runs": [run], "sample": ITEMS, "reviews": 2, "reviewer": "Ada", "name": name, "seed": 1}
    found = Round(server, send(server, "/api/reviews", given)["id"])
    path = f"/api/reviews/{found.id}"
    for answer in ("right", "faulty", "faulty"):
        number = send(server, f"{path}/next?reviewer=Ben", {})["item"]["number"]
        send(server, f"{path}/items/{number}/verdicts", {"reviewer": "Ben", "answer": answer})
    return found


@pytest.fixture(scope="module")
def made(own_server: Server) -> Round:
    """A round that no test changes."""
    return open_round(own_server, "Walks")


def queue(page: Page, server: Server) -> None:
    made = next(one for one in rounds(server) if one["name"] == "Walks")
    page.goto(f"{server.url}/reviews/{made['id']}")
    expect(page.get_by_role("heading", name="Review 1 of")).to_be_visible()


def listed(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/reviews")
    expect(page.get_by_role("row", name="Walks")).to_be_visible()


def new_round(page: Page, server: Server) -> None:
    listed(page, server)
    page.get_by_role("button", name="New round").click()
    expect(page.get_by_role("dialog").or_(page.get_by_role("form")).first).to_be_visible()


def agreement(page: Page, server: Server) -> None:
    made = next(one for one in rounds(server) if one["name"] == "Walks")
    page.goto(f"{server.url}/reviews/{made['id']}/agreement")
    expect(page.get_by_role("heading", name="Between people")).to_be_visible()


def rounds(server: Server) -> list[dict[str, Any]]:
    """Return the rounds of a server."""
    with urlopen(f"{server.url}/api/reviews") as answer:
        found: list[dict[str, Any]] = json.load(answer)["items"]
    return found


@pytest.mark.parametrize("open_page", [listed, new_round, queue, agreement], ids=lambda page: str(page.__name__))
def test_axe_finds_nothing_and_no_phone_scrolls_sideways(page: Page, made: Round, open_page: Open) -> None:
    assert examine(page, made.server, open_page) == []


def test_a_round_is_judged_by_keyboard_and_its_agreement_is_read(page: Page, own_server: Server) -> None:
    made = open_round(own_server, "Judged")
    page.goto(made.url)
    expect(page.get_by_role("heading", name="Review 1 of 3")).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("openai/tiny")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Review 2 of 3")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_role("heading", name="Review 1 of 3")).to_be_visible()
    for number in range(1, ITEMS + 1):
        expect(page.get_by_role("heading", name=f"Review {number} of 3")).to_be_visible()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Review", exact=True)).to_be_visible()
    page.goto(f"{made.url}/agreement")
    # One of three agrees: by chance both would as often say the same.
    expect(page.get_by_role("main")).to_contain_text("0.333")
    expect(page.get_by_role("main")).to_contain_text("Ben")
    page.get_by_role("link", name="Settle 2 disputed").click()
    expect(page.get_by_role("main")).to_contain_text("Ben")
    assert violations(page) == []
