"""Runs that go on in other processes while somebody watches: nothing is reloaded, everything moves."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.viewer.conftest import Server, manifest, serving, start

Begin = Callable[..., "subprocess.Popen[str]"]
SLOW_MS = 60_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A viewer that the tests share; each run has a name of its own."""
    with serving(tmp_path_factory.mktemp("live") / "results") as running:
        yield running


@pytest.fixture
def begin(model_url: str) -> Iterator[Begin]:
    """Start a run of so many episodes on a slow model, in a process of its own; a tiny one takes many steps."""
    started: list[subprocess.Popen[str]] = []

    def start_run(server: Server, name: str, episodes: int, model: str = "slow-large") -> subprocess.Popen[str]:
        words = ("--episodes", str(episodes), "--parallel", "2", "--name", name)
        process = start(manifest("grid-world"), f"openai/{model}@{model_url}", server.results, *words)
        started.append(process)
        return process

    yield start_run
    for process in started:
        process.kill()
        process.communicate()


def mark(page: Page) -> None:
    """Leave a sign in the page that a reload would take away."""
    page.evaluate("window.__kept = true")


def kept(page: Page) -> bool:
    return bool(page.evaluate("window.__kept === true"))


def done(page: Page) -> Locator:
    return page.get_by_text(re.compile(r"^[1-9]\d* of \d+$"))


def count(page: Page) -> int:
    return int(done(page).inner_text().split()[0])


def grown(page: Page, than: int) -> None:
    """Wait until the page shows more finished episodes."""
    page.wait_for_function(
        """than => [...document.querySelectorAll('strong')].some(
            strong => Number(/^(\\d+) of \\d+$/.exec(strong.textContent)?.[1] ?? 0) > than)""",
        arg=than,
        timeout=SLOW_MS,
    )


def status(page: Page, word: str) -> Locator:
    return page.locator("header").get_by_text(word, exact=True)


def watch(page: Page, server: Server, begin: Begin, name: str, episodes: int) -> "subprocess.Popen[str]":
    """Open the list, start a run, wait for it to appear, open its page, wait for its first episode."""
    page.goto(server.url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    mark(page)
    process = begin(server, name, episodes)
    page.get_by_role("link", name=name).click(timeout=SLOW_MS)
    expect(done(page)).to_be_visible(timeout=SLOW_MS)
    return process


def test_a_run_of_another_process_appears_moves_and_finishes(page: Page, begin: Begin, tmp_path: Path) -> None:
    with serving(tmp_path / "results") as server:
        page.goto(server.url)
        expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
        watch_to_the_end(page, server, begin)


def watch_to_the_end(page: Page, server: Server, begin: Begin) -> None:
    process = watch(page, server, begin, "moving", 8)
    expect(status(page, "running")).to_be_visible()
    page.go_back()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="moving"))
    bar = row.get_by_role("progressbar", name="Episodes")
    expect(bar).to_have_attribute("aria-valuenow", re.compile("[1-7]"), timeout=SLOW_MS)
    row.get_by_role("link").click()
    grown(page, count(page))
    expect(status(page, "finished")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_text("8 episodes", exact=True).first).to_be_visible()
    expect(page.get_by_role("region", name="goal_rate")).to_contain_text("n = 8/8")
    assert process.wait(timeout=30) == 0
    page.go_back()
    expect(row.get_by_role("img", name=re.compile("passed"))).to_be_visible()
    expect(row.locator("[data-tip='8 of 8 planned episodes scored']")).to_be_visible()
    assert kept(page)


def test_a_run_is_stopped_by_a_button_and_keeps_what_was_played(page: Page, shared: Server, begin: Begin) -> None:
    process = watch(page, shared, begin, "stopped", 300)
    page.get_by_role("button", name="Stop").click()
    expect(status(page, "stopped")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_text(re.compile("This run was stopped before the end"))).to_be_visible()
    assert 0 < count(page) < 300
    process.wait(timeout=30)
    assert kept(page)


def test_a_killed_run_shows_as_interrupted_and_a_button_finishes_it(page: Page, shared: Server, begin: Begin) -> None:
    process = watch(page, shared, begin, "killed", 8)
    process.kill()
    process.wait(timeout=30)
    expect(status(page, "interrupted")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_text(re.compile("The process of this run exited unexpectedly"))).to_be_visible()
    before = count(page)
    page.get_by_role("button", name="Resume").click()
    expect(status(page, "finished")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_text("8 episodes", exact=True).first).to_be_visible()
    assert before < 8
    assert kept(page)


def test_an_episode_that_is_being_played_grows_under_the_readers_eyes(page: Page, shared: Server, begin: Begin) -> None:
    page.goto(shared.url)
    begin(shared, "growing", 40, "slower-tiny")
    page.get_by_role("link", name="growing").click(timeout=SLOW_MS)
    row = page.get_by_role("grid", name="Episodes").get_by_role("row").filter(has_text="running").first
    row.get_by_role("link").click(timeout=SLOW_MS)
    expect(page.get_by_text("In progress. New events appear here.")).to_be_visible()
    # The outline holds only what is in sight, so it cannot be counted.
    place = page.get_by_text(re.compile(r"^Step \d+ of \d+$"))
    last = int(place.inner_text().rpartition(" ")[2])
    expect(place).not_to_have_text(re.compile(rf" of {last}$"), timeout=SLOW_MS)
    assert int(place.inner_text().rpartition(" ")[2]) > last
