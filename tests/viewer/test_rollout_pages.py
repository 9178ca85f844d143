"""Rollouts in the web app: what came of them, their samples, one sample with its conversation, two runs compared."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.viewer.conftest import MadeOnce, Server, ask, find_episode, find_run, serving
from tests.viewer.hosting import forks
from tests.viewer.test_axe import Open, examine

SCRIPT = Path(__file__).with_name("arithmetic.py")


def _record(place: Path) -> None:
    with forks():
        subprocess.run([sys.executable, str(SCRIPT), str(place)], check=True, timeout=120, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def rollouts(made_once: MadeOnce) -> Iterator[Server]:
    """The viewer over three runs of a rollout, which no test may change."""
    with serving(made_once("rollouts", _record)) as running:
        yield running


def run_of(server: Server, name: str = "careful") -> str:
    return find_run(server.results, "sums", "sums/", name)


def sample_of(server: Server, row: int, **wanted: str) -> str:
    """Return the id of the first try of a row."""
    digest = next(
        item["task_digest"]
        for item in ask(server, f"/api/runs/{run_of(server)}/episodes?limit=200")["items"]
        if item["task_id"] == str(row)
    )
    return find_episode(server, run_of(server), task=digest, **wanted)


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def rows(page: Page) -> Locator:
    grid = page.get_by_role("grid", name="Samples")
    return grid.get_by_role("row").filter(has=page.get_by_role("gridcell"))


def slices(page: Page) -> Locator:
    return panel(page, "Slices").get_by_role("row").filter(has=page.get_by_role("cell"))


def results(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{run_of(server)}")
    expect(slices(page)).to_have_count(3)


def samples(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{run_of(server)}?tab=samples")
    expect(rows(page).first).to_contain_text("What is 51 + 6?")


def sample(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/episodes/{sample_of(server, 0)}")
    expect(panel(page, "Conversation")).to_contain_text("What is 51 + 6?")


def ungraded(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/episodes/{sample_of(server, 23, outcome='missing')}")
    expect(page.get_by_role("group", name="The grader failed")).to_be_visible()
    expect(panel(page, "Conversation").get_by_role("article").first).to_be_visible()


def broken(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/episodes/{sample_of(server, 5, state='failed')}")
    expect(panel(page, "Conversation")).to_contain_text("until the workflow failed")


def test_a_rollout_shows_what_came_of_its_samples(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    counts = ask(rollouts, f"/api/runs/{run_of(rollouts)}/results")["counts"]
    words = f"{counts['graded']} graded, {counts['passed']} passed, {counts['failed']} failed, 3 skipped, 0 pending"
    expect(panel(page, "Samples")).to_contain_text(words)
    expect(panel(page, "Pass rate")).to_contain_text(re.compile(r"reward ≥ 1\.000.*\[0\.\d{3}, 0\.\d{3}\]"))
    expect(panel(page, "Pass rate")).to_contain_text(f"{counts['passed']} of 117 finished samples")
    expect(panel(page, "Rewards")).to_contain_text(re.compile(r"Median\s*1\.000"))
    expect(panel(page, "Latency and cost")).to_contain_text("p95")
    expect(panel(page, "Named scores").get_by_role("rowheader")).to_have_text(
        [re.compile("clear"), re.compile("steps")]
    )


def test_repeated_rows_have_pass_at_k_and_pass_hat_k(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    table = page.get_by_role("region", name="Table of pass@k and pass^k")
    expect(table.get_by_role("rowheader")).to_have_text(["1", "2", "3"])
    page.get_by_role("figure", name="By number of trials").get_by_role("group").first.press("End")
    expect(page.get_by_role("figure", name="By number of trials").get_by_role("status")).to_contain_text("pass@3")
    page.goto(f"{rollouts.url}/runs/{run_of(rollouts, 'once')}")
    expect(slices(page)).to_have_count(3)
    expect(table).to_have_count(0)


def test_a_failure_leads_to_its_samples(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    panel(page, "Failures by stage").get_by_role("button", name=re.compile("Workflow failed")).click()
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("ValueError: invalid literal")
    expect(page.get_by_role("tab", name="Samples")).to_have_attribute("aria-selected", "true")
    page.reload()
    expect(rows(page)).to_have_count(2)


def test_a_failure_of_the_grader_leads_to_the_samples_without_a_reward(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    panel(page, "Failures by stage").get_by_role("button", name=re.compile("Grader error")).click()
    expect(rows(page).filter(has_text="KeyError")).to_have_count(2)
    expect(rows(page)).to_have_count(4)


def test_samples_that_their_grader_skipped_are_shown(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    panel(page, "Samples").get_by_role("button", name=re.compile("skipped")).click()
    expect(rows(page)).to_have_count(3)
    expect(rows(page).filter(has_text="Skipped")).to_have_count(3)


def test_samples_that_did_not_pass_are_shown(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    part = panel(page, "Samples").get_by_role("button", name=re.compile("not passed"))
    amount = re.findall(r"\d+", part.inner_text())[0]
    part.click()
    expect(page.get_by_role("status").filter(has_text="of 120")).to_have_text(f"{amount} of 120")
    expect(page.get_by_role("button", name="score < 1.000")).to_be_visible()
    for row in rows(page).all():
        expect(row).to_contain_text("Not passed")


def test_the_label_of_the_slices_and_their_order_live_in_the_address(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    panel(page, "Slices").get_by_label("by", exact=True).select_option("operation")
    expect(slices(page).filter(has_text="times")).to_have_count(1)
    panel(page, "Slices").get_by_role("button", name="Value").click()
    expect(slices(page).get_by_role("rowheader")).to_have_text(["minus", "plus", "times"])
    expect(page).to_have_url(re.compile(r"slice=operation.*slices=value"))
    page.reload()
    expect(slices(page).get_by_role("rowheader")).to_have_text(["minus", "plus", "times"])


def test_a_slice_leads_to_its_samples_and_their_neighbours(page: Page, rollouts: Server) -> None:
    results(page, rollouts)
    slice_of = slices(page).filter(has_text="medium")
    _scored, planned = slice_of.get_by_role("cell").first.inner_text().split("/")
    slice_of.get_by_role("button", name="medium").click()
    expect(page.get_by_role("status").filter(has_text="of 120")).to_have_text(f"{planned} of 120")
    for row in rows(page).all():
        expect(row).to_contain_text("medium")
    rows(page).first.get_by_role("link").click()
    expect(panel(page, "Verdict")).to_contain_text("difficulty medium")
    page.get_by_role("link", name="Next episode").or_(page.get_by_role("button", name="Next episode")).click()
    expect(page).to_have_url(re.compile("label=difficulty"))
    expect(panel(page, "Verdict")).to_contain_text("difficulty medium")
    page.go_back()
    page.go_back()
    page.get_by_role("button", name="difficulty=medium").click()
    expect(page.get_by_role("status").filter(has_text="120 samples")).to_be_visible()


def test_a_sample_has_its_row_trial_and_labels(page: Page, rollouts: Server) -> None:
    samples(page, rollouts)
    expect(page.get_by_role("grid", name="Samples").get_by_role("columnheader")).to_have_text(
        [re.compile(name) for name in ("Row", "Trial", "Question", "Expected", "Given", "Verdict", "Reward", "Why")]
        + [re.compile(name) for name in ("Tokens", "Cost", "Duration", "Labels")]
    )
    expect(rows(page).first).to_contain_text("plus · easy")


def test_the_conversation_has_the_results_of_tools_in_their_calls(page: Page, rollouts: Server) -> None:
    sample(page, rollouts)
    said = panel(page, "Conversation").get_by_role("article")
    expect(said).to_have_count(4)
    expect(said.nth(2)).to_contain_text(
        re.compile(r"It is better to calculate this\..*calculate.*51 \+ 6.*57", re.DOTALL)
    )
    expect(said.nth(3)).to_contain_text("The tool says so.")


def test_the_verdict_names_gold_label_scores_labels_and_files(page: Page, rollouts: Server) -> None:
    sample(page, rollouts)
    verdict = panel(page, "Verdict")
    for words in ("1.000", "passed", "57", "clear", "difficulty easy", "artifacts/"):
        expect(verdict).to_contain_text(words)
    expect(panel(page, "Time")).to_contain_text(re.compile(r"Workflow\s*400 ms"))
    expect(page.get_by_role("article", name="Model · judge")).to_contain_text("yes")


def test_a_workflow_that_failed_shows_its_traceback_and_what_was_said_until_then(page: Page, rollouts: Server) -> None:
    broken(page, rollouts)
    failure = page.get_by_role("group", name="The workflow raised an exception").first
    expect(failure).to_contain_text("Output of the workflow")
    expect(failure).to_contain_text('File "main.py", line 31, in run')
    expect(panel(page, "Verdict")).to_contain_text("none; counts as worst")
    expect(panel(page, "Conversation").get_by_role("article")).to_have_count(4)


def test_a_sample_begins_at_its_top(page: Page, rollouts: Server) -> None:
    sample(page, rollouts)
    expect(page.get_by_role("article", name="Start")).to_be_attached()
    assert page.evaluate("window.scrollY") == 0


def test_runs_of_rollouts_are_told_by_dataset_and_rollout(page: Page, rollouts: Server) -> None:
    page.goto(f"{rollouts.url}/?kind=rollout")
    for rollout in ("careful", "hasty"):
        expect(page.get_by_role("main")).to_contain_text(rollout)


def test_flipped_rows_of_two_rollouts_lead_to_both_samples(page: Page, rollouts: Server) -> None:
    runs = "&".join(f"run={run_of(rollouts, name)}" for name in ("careful", "hasty"))
    page.goto(f"{rollouts.url}/compare?{runs}&metric=pass_rate")
    expect(page.get_by_role("main")).to_contain_text("is better than")
    tasks = page.get_by_role("grid", name="Tasks of both runs").get_by_role("row")
    links = tasks.filter(has=page.get_by_role("gridcell")).first.get_by_role("link")
    expect(links).to_have_count(3)
    links.first.click()
    expect(panel(page, "Conversation")).to_contain_text("What is")


@pytest.mark.parametrize("open_page", [results, samples, sample, ungraded, broken])
def test_axe_finds_nothing_and_no_phone_scrolls_sideways(page: Page, rollouts: Server, open_page: Open) -> None:
    assert examine(page, rollouts, open_page) == []


def test_the_results_of_a_run_that_goes_on_grow(page: Page, tmp_path: Path) -> None:
    place = tmp_path / "results"
    with serving(place) as server:
        script = [sys.executable, str(SCRIPT), str(place), "slow"]
        with forks():
            begun = subprocess.Popen(script, stdout=subprocess.DEVNULL)
        with begun as process:
            page.goto(f"{server.url}/")
            page.get_by_role("link", name="watched").click()
            counts = panel(page, "Samples").get_by_text(re.compile(r"^\d+ graded"))
            expect(counts).to_have_text(re.compile(r"^[1-9]"))
            graded = int(counts.inner_text().split()[0])
            page.wait_for_function(
                "than => [...document.querySelectorAll('p')].some(one => parseInt(one.textContent) > than"
                " && one.textContent.includes(' graded'))",
                arg=graded,
            )
            process.kill()
