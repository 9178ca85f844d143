"""Take the pictures that README and docs show: records example runs, serves them, and looks. `make screenshots`."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, Route, expect, sync_playwright
from tests.viewer.conftest import (
    CHROMIUM,
    EXAMPLES,
    FLAGS,
    Server,
    find_episode,
    find_run,
    manifest,
    models,
    play,
    serving,
)
from tests.viewer.evaluating import evaluate, evaluating
from tests.viewer.hosting import Member, Platform, commit, hosting

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZES = ("tiny", "small", "medium", "large")
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
        for size in SIZES:
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


def grid_world(folder: Path, *, waits_s: int = 0) -> Path:
    """Return a repository with the grid world; its adapter takes so long to start."""
    shutil.copytree(EXAMPLES / "grid-world", folder)
    if waits_s:
        adapter = folder / "adapter.py"
        adapter.write_text(f"import time\ntime.sleep({waits_s})\n{adapter.read_text()}")
    return commit(folder)


def sign_in(page: Page, platform: Platform) -> None:
    """Sign the administrator in."""
    page.goto(f"{platform.url}/sign-in")
    page.get_by_label("User name").fill(platform.admin)
    page.get_by_label("Password").fill(platform.password)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name=platform.admin)).to_be_visible()


def platform_pages(page: Page, folder: Path) -> None:
    """Show a domain with its leaderboard, and a build that is being watched, on a platform with a few public runs."""
    names = [f"openai/{size}" for size in SIZES]
    (folder / "data").mkdir(parents=True)
    with models() as url:
        offered = {"builtin/*": "", **{name: f"{name}@{url}" for name in names}}
        with hosting(folder / "data", offered, MESOCOSM_MAX_EPISODES_PER_RUN="100") as platform:
            member = Member(platform, platform.admin, platform.password)
            environment = member.built(member.submit("Grid world", grid_world(folder / "grid-world")))
            for name in (*names, "builtin/random", "builtin/oracle"):
                member.ended(member.run(environment, name, 60, visibility="gallery_public"))
            page.goto(f"{platform.url}/domains/{environment['domain_id']}")
            expect(page.get_by_role("region", name="Ranking").get_by_role("link", name="openai/large")).to_be_visible()
            keep(page, "platform")
            sign_in(page, platform)
            source = grid_world(folder / "night", waits_s=20)
            watched = member.submit("Grid world by night", source)
            page.route("**/api/environments/**", lambda route: call_elsewhere(route, source))
            page.goto(f"{platform.url}/environments/{watched}")
            expect(page.get_by_role("region", name="Build log")).to_contain_text("starting", timeout=60_000)
            keep(page, "build")
            # It would go on asking a platform that is about to end.
            page.close()


def evaluation_pages(page: Page, folder: Path) -> None:
    """Show a configuration of a rollout whose history was evaluated, commit by commit."""
    with evaluating(folder) as team:
        evaluate(team)
        sign_in(page, team.platform)
        page.goto(f"{team.platform.url}{team.path}/configuration?path=configs/eval/sums.toml")
        expect(page.get_by_role("row", name="first")).to_contain_text("the first run")
        keep(page, "configuration")
        page.close()


def call_elsewhere(route: Route, source: Path) -> None:
    """Let a page read of a repository on a host where it lies on this machine."""
    answer = route.fetch()
    body = answer.text().replace(str(source), "https://git.example.org/grid-world-by-night")
    route.fulfill(response=answer, body=body)


def keep(page: Page, name: str) -> None:
    """Write what a page shows, once it has all that it asked for."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    target = IMAGES / f"{name}.png"
    page.screenshot(path=target, animations="disabled")
    if target.stat().st_size > LARGEST:
        sys.exit(f"{target} has {target.stat().st_size:,} bytes; at most {LARGEST:,} are meant to be kept")
    sys.stdout.write(f"{target}: {target.stat().st_size:,} bytes\n")


def record_pages(page: Page, results: Path) -> None:
    """Show recorded runs as a laptop does."""
    record(results)
    with serving(results) as server:
        for look in (runs, run, episode, compare):
            look(page, server)
            page.wait_for_load_state("networkidle")
            keep(page, look.__name__)


def open_page(browser: Browser) -> Page:
    """Return a light page of the size of the pictures."""
    return browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce")


def main() -> None:
    """Write one PNG for each page; with the words `record`, `platform` or `evaluation` those of one of them alone."""
    wanted = set(sys.argv[1:]) or {"record", "platform", "evaluation"}
    IMAGES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        if "record" in wanted:
            record_pages(open_page(browser), Path(place) / "results")
        if "platform" in wanted:
            platform_pages(open_page(browser), Path(place) / "platform")
        if "evaluation" in wanted:
            evaluation_pages(open_page(browser), Path(place) / "evaluation")
        browser.close()


if __name__ == "__main__":
    main()
