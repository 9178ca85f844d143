"""Take the pictures that README and docs show: records example runs, serves them, and looks. `make screenshots`."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, expect, sync_playwright
from tests.viewer.conftest import CHROMIUM, FLAGS, Server, find_episode, find_run, manifest, models, play, serving

IMAGES = Path(__file__).parents[2] / "docs" / "images"
LARGEST = 200_000
"""Bytes of one picture."""


def record(results: Path) -> None:
    """Record runs of several models on every example."""
    with models() as url, ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(
                play, manifest(example), f"builtin/{model}", results, "--episodes", "100", "--name", "reference"
            )
            for example in ("negotiation", "word-game", "grid-world")
            for model in ("random", "oracle")
        ]
        for size in ("tiny", "small", "medium", "large"):
            words = ("--episodes", "100", "--name", "model sizes", "--tag", "sweep")
            jobs.append(pool.submit(play, manifest("grid-world"), f"openai/{size}@{url}", results, *words))
        for job in jobs:
            job.result()


def runs(page: Page, server: Server) -> None:
    """Show the list of runs."""
    page.goto(server.url)
    expect(page.get_by_role("link", name="model sizes").first).to_be_visible()


def run(page: Page, server: Server) -> None:
    """Show a run in which some episodes failed."""
    page.goto(f"{server.url}/runs/{find_run(server.results, 'grid-world', 'openai/small')}")
    expect(page.get_by_role("link", name="seed-0", exact=True)).to_be_visible()


def episode(page: Page, server: Server) -> None:
    """Show a step of an episode in the replay."""
    found = find_episode(server, find_run(server.results, "grid-world", "openai/small"), sort="-steps")
    page.goto(f"{server.url}/episodes/{found}?step=6&view=replay")
    expect(page.get_by_role("region", name="Replay").get_by_role("table", name="Board of")).to_be_visible()


def compare(page: Page, server: Server) -> None:
    """Show three models against each other."""
    ids = [find_run(server.results, "grid-world", f"openai/{size}") for size in ("small", "medium", "large")]
    page.goto(f"{server.url}/compare?" + "&".join(f"run={one}" for one in ids))
    expect(page.get_by_role("grid", name="Tasks of both runs").get_by_role("link").first).to_be_visible()


def main() -> None:
    """Write one PNG for each page."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        results = Path(place) / "results"
        record(results)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce")
        with serving(results) as server:
            for look in (runs, run, episode, compare):
                look(page, server)
                page.wait_for_load_state("networkidle")
                expect(page.locator("[aria-busy=true]")).to_have_count(0)
                target = IMAGES / f"{look.__name__}.png"
                page.screenshot(path=target, animations="disabled")
                if target.stat().st_size > LARGEST:
                    sys.exit(f"{target} has {target.stat().st_size:,} bytes; at most {LARGEST:,} are meant to be kept")
                sys.stdout.write(f"{target}: {target.stat().st_size:,} bytes\n")
        browser.close()


if __name__ == "__main__":
    main()
