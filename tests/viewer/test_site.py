"""A site of chosen runs: files on any web server, below any address, and nobody to ask."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.viewer.conftest import MadeOnce, Server, find_episode, find_run, mesocosm


class Quiet(SimpleHTTPRequestHandler):
    """Hands out files and keeps what was asked for."""

    def __init__(self, *arguments: Any, asked: list[str], **more: Any) -> None:
        self.asked = asked
        super().__init__(*arguments, **more)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        self.asked.append(f"{code} {self.path}")

    def log_error(self, *arguments: Any) -> None:
        pass


class Site:
    """An exported site behind an ordinary web server."""

    def __init__(self, url: str, runs: dict[str, str], asked: list[str]) -> None:
        self.url = url
        self.runs = runs
        self.asked = asked


@pytest.fixture(scope="module")
def site(recorded: Path, made_once: MadeOnce) -> Iterator[Site]:
    """Three runs below an address of their own."""
    runs = {model: find_run(recorded, "grid-world", model) for model in ("openai/small", "openai/large")}
    runs["picture"] = find_run(recorded, "grid-world-image", "builtin/oracle")

    def fill(place: Path) -> None:
        place.mkdir()
        mesocosm("export", *runs.values(), "--site", str(place / "pages"), results=recorded)

    place = made_once("web", fill)
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, asked=asked, directory=str(place)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield Site(f"http://127.0.0.1:{server.server_port}/pages/", runs, asked)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def home(page: Page, site: Site) -> Iterator[Page]:
    """The site's first page; whatever a test does next must ask for files only, and for those that are there."""
    site.asked.clear()
    page.goto(site.url)
    expect(page.get_by_role("grid", name="Runs").get_by_role("link")).to_have_count(3)
    yield page
    page.wait_for_load_state("networkidle")
    assert not [line for line in site.asked if "/v1" in line]
    assert not [line for line in site.asked if not line.startswith(("200", "304"))]


def test_the_list_is_sorted_filtered_and_searched(home: Page) -> None:
    links = home.get_by_role("grid", name="Runs").get_by_role("link")
    home.get_by_role("searchbox", name="Search runs").fill("sweep")
    expect(links).to_have_count(2)
    home.get_by_role("columnheader", name="Score").get_by_role("button").click()
    first = home.get_by_role("row").filter(has=home.get_by_role("checkbox")).first
    expect(first).to_contain_text("large")
    home.get_by_role("columnheader", name="Score").get_by_role("button").click()
    expect(first).to_contain_text("small")


def test_a_run_is_opened_with_score_episodes_and_charts(home: Page) -> None:
    home.get_by_role("row").filter(has_text="small").get_by_role("link").click()
    expect(home.get_by_role("region", name="goal_rate")).to_contain_text("n = 60/60")
    expect(home.get_by_role("link", name="seed-0", exact=True)).to_be_visible()
    home.get_by_role("tab", name="Charts and metrics").click()
    expect(home.get_by_role("figure", name="Tokens over time").get_by_role("img").first).to_be_visible()


def test_what_needs_a_server_is_not_offered(home: Page) -> None:
    home.get_by_role("row").filter(has_text="small").get_by_role("link").click()
    expect(home.get_by_role("region", name="goal_rate")).to_be_visible()
    for name in ("Stop", "Resume", "More"):
        expect(home.get_by_role("button", name=name)).to_have_count(0)


def test_a_link_to_a_step_of_an_episode_works(page: Page, home: Page, site: Site, server: Server) -> None:
    episode = find_episode(server, site.runs["openai/small"], sort="-steps")
    home.goto(f"{site.url}#/episodes/{episode}?step=12")
    home.reload()
    timeline = home.get_by_role("region", name="Timeline")
    expect(timeline.get_by_role("heading", name="Step 12 ")).to_be_in_viewport()
    home.keyboard.press("j")
    expect(timeline.get_by_role("heading", name="Step 13 ")).to_be_in_viewport()


def test_a_picture_is_there(home: Page, site: Site) -> None:
    home.goto(f"{site.url}#/runs/{site.runs['picture']}")
    home.get_by_role("grid", name="Episodes").get_by_role("link").first.click()
    picture = home.get_by_role("article", name="Observation").first.get_by_role("img")
    expect(picture).to_be_visible()
    home.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=picture.element_handle())


def test_two_runs_are_compared_down_to_the_flipped_tasks(home: Page) -> None:
    for size in ("small", "large"):
        home.get_by_role("row").filter(has_text=size).get_by_role("checkbox").check()
    home.get_by_role("button", name="Compare").click()
    expect(home.get_by_role("main")).to_contain_text("is better than")
    tasks = home.get_by_role("grid", name="Tasks of both runs")
    expect(tasks.get_by_role("link", name="Both side by side").first).to_be_visible()
    tasks.get_by_role("link", name="Both side by side").first.click()
    expect(home.get_by_role("region", name="Episode B", exact=True)).to_be_visible()


def test_benchmarks_are_there(home: Page) -> None:
    home.get_by_role("navigation", name="Pages").get_by_role("link", name="Benchmarks").click()
    home.get_by_role("link", name="Grid world", exact=True).click()
    expect(home.get_by_role("region", name="Leaderboard").get_by_role("checkbox")).to_have_count(2)
