"""What `mesocosm bench` ran, in the browser: catalogue, groups, comparisons of models, episodes of every kind."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.viewer.conftest import MadeOnce, Server, ask, find_episode, find_run, models, serving, watched_page
from tests.viewer.hosting import forks
from tests.viewer.test_axe import Open, examine

BENCHMARKS = Path(__file__).parent / "benchmarks"


def bench(*words: str, results: Path, code: int = 0) -> str:
    """Run `mesocosm bench` over the benchmarks of these tests, which exits with `code`; return what it prints."""
    command = [sys.executable, "-m", "mesocosm", "bench", *words, "--results-dir", str(results)]
    if words[0] in {"run", "compare"}:
        command += ["--benchmarks-dir", str(BENCHMARKS), "--quiet"]
    with forks():
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def _record(place: Path) -> None:
    with models() as url:
        bench("run", "--benchmarks", "tiny-qa", "--model", f"openai/small@{url}", results=place)
        orchestrated = ("--benchmarks", "orchestrator_lifecycle", "--max-examples", "2")
        bench("run", *orchestrated, "--model", "builtin/oracle", results=place)
        sides = ("--a", f"openai:large@{url}", "--b", f"openai:small@{url}")
        chosen = ("--benchmarks", "eliza-format,tiny-qa,osworld", "--max-examples", "4")
        # osworld is named, and cannot run here.
        said = bench("compare", *sides, *chosen, "--json", results=place, code=1)
    (place / "comparison").write_text(json.loads(said)["comparison_id"])


@pytest.fixture(scope="session")
def campaign(made_once: MadeOnce) -> Iterator[Server]:
    """The viewer over what two models did on some benchmarks, which no test may change."""
    results = made_once("campaign", _record)
    with serving(results, "--benchmarks-dir", str(BENCHMARKS)) as running:
        yield running


def comparison(server: Server) -> str:
    return (server.results / "comparison").read_text()


def rows(page: Page) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("gridcell"))


def whole_run(server: Server) -> str:
    """Return the first run of the program, which asked all of its questions."""
    return str(ask(server, "/api/runs?benchmark=tiny-qa&sort=created_at")["items"][0]["id"])


def program_episode(server: Server) -> str:
    return find_episode(server, whole_run(server), sort="index")


# Pages


def catalogue(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks?q=osworld")
    expect(page.get_by_text("requirements missing")).to_be_visible()


def never_run(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks/osworld")
    expect(page.get_by_text("Missing requirements:")).to_be_visible()


def of_a_folder(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks/tiny-qa")
    expect(page.get_by_role("region", name="Published scores").first).to_be_visible()


def two_models(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/compare?comparison={comparison(server)}")
    expect(page.get_by_role("heading", name="Missing results and notes")).to_be_visible()


def printed(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/episodes/{program_episode(server)}")
    expect(page.get_by_role("article", name="stdout").first).to_be_visible()


def talk(page: Page, server: Server) -> None:
    run = find_run(server.results, "orchestrator_lifecycle", "builtin/oracle")
    page.goto(f"{server.url}/episodes/{find_episode(server, run)}")
    expect(page.get_by_role("article", name="Observation").first).to_be_visible()


PAGES = (catalogue, never_run, of_a_folder, two_models, printed, talk)


@pytest.mark.parametrize("open_page", PAGES, ids=lambda open_page: open_page.__name__)
def test_axe_finds_nothing_and_no_phone_scrolls_sideways(page: Page, campaign: Server, open_page: Open) -> None:
    assert examine(page, campaign, open_page) == []


def test_a_benchmark_that_was_never_run_tells_what_it_lacks_and_what_runs_it(page: Page, campaign: Server) -> None:
    never_run(page, campaign)
    expect(page.get_by_role("main")).to_contain_text("mesocosm bench run --benchmarks osworld")
    expect(page.get_by_role("region", name="Table of requirements")).to_contain_text("osworld_path")
    expect(page.get_by_role("region", name="Table of parameters")).to_contain_text("max_steps")
    expect(page.get_by_role("heading", name="Leaderboard")).to_have_count(0)


def test_the_catalogue_tells_subsets_from_whole_runs(page: Page, campaign: Server) -> None:
    page.goto(f"{campaign.url}/benchmarks?q=eliza-format")
    expect(rows(page).filter(has_text="eliza-format")).to_contain_text("subset · 4 tasks")
    page.goto(f"{campaign.url}/benchmarks?q=tiny")
    expect(rows(page).filter(has_text="Tiny questions")).to_contain_text("all · 6 tasks")


def test_a_leaderboard_marks_samples(page: Page, campaign: Server) -> None:
    of_a_folder(page, campaign)
    board = page.get_by_role("region", name="Table of models").get_by_role("row")
    expect(board.filter(has_text="large")).to_contain_text("subset")
    expect(board.filter(has_text="small")).not_to_contain_text("subset")


def test_only_fitting_published_scores_are_compared_with(page: Page, campaign: Server) -> None:
    of_a_folder(page, campaign)
    published = page.get_by_role("region", name="Table of published scores").get_by_role("row")
    expect(published.filter(has_text="big-model")).to_contain_text("runs on all tasks")
    expect(published.filter(has_text="other-model")).to_contain_text("different unit or split")
    page.goto(f"{campaign.url}/?columns=published&benchmark=tiny-qa")
    expect(rows(page).filter(has_text="+0.250")).to_have_count(1)
    page.goto(f"{campaign.url}/runs/{whole_run(campaign)}")
    expect(page.get_by_role("region", name="score")).to_contain_text(
        "+0.250 [−0.062, 0.562] compared to the best published score, big-model"
    )


def test_a_run_leads_to_its_group_and_tells_its_parameters(page: Page, campaign: Server) -> None:
    run = find_run(campaign.results, "orchestrator_lifecycle", "builtin/oracle")
    page.goto(f"{campaign.url}/runs/{run}?tab=configuration")
    facts = page.get_by_role("region", name="Benchmark command")
    expect(facts).to_contain_text("orchestrator_lifecycle")
    expect(facts).to_contain_text("max_scenarios")
    page.get_by_role("link", name=re.compile("^rg_")).click()
    expect(page.get_by_text("1 run found")).to_be_visible()
    expect(page).to_have_url(re.compile(r"group=rg_"))


def test_a_comparison_of_two_models_leads_to_its_tasks(page: Page, campaign: Server) -> None:
    two_models(page, campaign)
    table = page.get_by_role("region", name="Table of benchmarks")
    expect(table.get_by_role("row").filter(has_text="osworld")).to_contain_text("incompatible")
    expect(page.get_by_role("main")).to_contain_text("osworld_path is not set")
    page.get_by_role("link", name="eliza-format task by task").click()
    expect(page).to_have_url(re.compile(r"compare\?run=.+&run="))
    expect(page.get_by_role("list").first).to_contain_text("openai/large")


def test_a_comparison_that_is_not_stored_is_told(browser: Browser, campaign: Server) -> None:
    # A page of its own: the console tells of the answer 404.
    with watched_page(browser) as (page, _):
        page.goto(f"{campaign.url}/compare?comparison=cmp_none")
        expect(page.get_by_role("main")).to_contain_text("This comparison could not be loaded")
        expect(page.get_by_role("main")).to_contain_text("cmp_none")


def test_what_a_program_prints_is_one_text_that_unfolds(page: Page, campaign: Server) -> None:
    printed(page, campaign)
    output = page.get_by_role("article", name="stdout").first
    expect(output).to_contain_text("question 0, line 0")
    expect(output).not_to_contain_text("question 0, line 8")
    output.get_by_role("button", name=re.compile("Show all 9 lines")).click()
    expect(output).to_contain_text("question 0, line 8")


def test_calls_of_a_program_tell_how_they_came(page: Page, campaign: Server) -> None:
    printed(page, campaign)
    calls = page.get_by_role("article", name="Model")
    expect(calls.first).to_contain_text("/chat/completions")
    expect(calls.first).not_to_contain_text("streamed")
    expect(calls.nth(1)).to_contain_text("streamed")
    calls.nth(1).get_by_role("button", name="Request and reply").click()
    expect(page.get_by_role("dialog")).to_contain_text("What is 1 + 1?")


def test_a_turn_is_shown_as_a_conversation(page: Page, campaign: Server) -> None:
    talk(page, campaign)
    seen = page.get_by_role("article", name="Observation").first
    expect(seen.get_by_role("article", name="Message of user").first).to_be_visible()
    seen.get_by_role("button", name="JSON", exact=True).click()
    expect(seen.get_by_role("tree")).to_be_visible()
