"""A run on its page: score, causes, charts, episodes, and the command that repeats it."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.viewer.conftest import EPISODES, Server, find_run, watched_page


@pytest.fixture
def small(page: Page, server: Server) -> Page:
    """The page of a run in which some episodes failed by the agent's own doing."""
    page.goto(f"{server.url}/runs/{find_run(server.results, 'grid-world', 'openai/small')}")
    expect(page.get_by_role("heading", level=1, name="sweep")).to_be_visible()
    expect(rows(page).first).to_contain_text("seed-0")
    return page


def episodes(page: Page) -> Locator:
    return page.get_by_role("grid", name="Episodes")


def rows(page: Page) -> Locator:
    return episodes(page).get_by_role("row").filter(has=page.get_by_role("gridcell"))


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("columnheader", name=name, exact=True)


def values(page: Page, name: str) -> list[int]:
    """Return the numbers that stand in a column of the drawn rows."""
    heads = page.get_by_role("grid", name="Episodes").get_by_role("columnheader").all_inner_texts()
    place = [head.strip() for head in heads].index(name)
    return [int(row.get_by_role("gridcell").nth(place).inner_text()) for row in rows(page).all()]


def tab(page: Page, name: str) -> Locator:
    page.get_by_role("tab", name=name).click()
    return page.get_by_role("tabpanel", name=name)


def numbers(page: Page, chart: str) -> Locator:
    """Open the table of a chart; return its rows without the head."""
    figure = page.get_by_role("figure", name=chart, exact=True)
    figure.get_by_text("Numbers", exact=True).click()
    return figure.get_by_role("row").filter(has=page.get_by_role("cell"))


def test_the_score_has_its_interval_and_both_denominators(small: Page) -> None:
    score = small.get_by_role("region", name="goal_rate")
    expect(score).to_contain_text(re.compile(r"0\.\d{3}\s*\[0\.\d{3}, 0\.\d{3}\]\s*n = 60/60"))


def test_episodes_that_have_no_score_are_counted_with_their_cause(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{find_run(server.results, 'content-gallery', 'builtin')}")
    expect(page.get_by_role("region", name="mean_reward").first).to_contain_text("n = 1/2")
    trouble = page.get_by_role("region", name="Errors")
    expect(trouble.get_by_role("button", name=re.compile("Environment error"))).to_contain_text("excluded")


def test_a_cause_filters_the_episodes_and_the_address_keeps_it(small: Page) -> None:
    cause = small.get_by_role("button", name=re.compile("Malformed action.*counts as worst"))
    failed = int(re.findall(r"\d+", cause.inner_text())[0])
    cause.click()
    expect(episodes(small)).to_have_attribute("aria-rowcount", str(failed + 1))
    expect(rows(small).first).to_contain_text("Malformed action")
    small.reload()
    expect(episodes(small)).to_have_attribute("aria-rowcount", str(failed + 1))
    expect(small.get_by_role("status").filter(has_text="of 60")).to_have_text(f"{failed} of 60")


def test_a_bar_of_the_distribution_filters_the_episodes(small: Page) -> None:
    bar = small.get_by_role("region", name="Distribution").get_by_role("button", name=re.compile("^Not passed"))
    failed = re.findall(r"\d+", bar.inner_text())[0]
    bar.click()
    expect(small.get_by_role("status").filter(has_text="of 60")).to_have_text(f"{failed} of 60")
    expect(small).to_have_url(re.compile("outcome=fail|high="))


def test_charts_can_be_read_as_tables(small: Page) -> None:
    panel = tab(small, "Charts and metrics")
    for chart in ("goal_rate by position in the plan", "Episodes over time", "Tokens over time"):
        expect(panel.get_by_role("figure", name=chart).get_by_role("img").first).to_be_visible()
    ordinary = numbers(small, "Episodes over time").evaluate_all(
        "rows => rows.map(row => [...row.cells].slice(1).map(cell => Number(cell.textContent.replaceAll(',', ''))))"
    )
    assert sum(sum(row[:2]) for row in ordinary) == EPISODES


def test_the_metrics_table_has_every_metric_with_what_is_missing(small: Page) -> None:
    table = tab(small, "Charts and metrics").get_by_role("region", name="Metrics").last
    for metric in ("goal_rate", "path_efficiency", "mean_reward"):
        expect(table.get_by_role("row", name=metric)).to_contain_text(re.compile(r"\d+/60"))


def test_episodes_are_sorted_by_a_header_and_back_restores_the_plan(small: Page) -> None:
    column(small, "Steps").get_by_role("button").click()
    expect(column(small, "Steps")).to_have_attribute("aria-sort", "descending")
    expect(small).to_have_url(re.compile("sort=-steps"))
    expect(small.get_by_role("link", name="seed-0", exact=True)).to_have_count(0)
    steps = values(small, "Steps")
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > steps[-1]
    small.go_back()
    expect(rows(small).first).to_contain_text("seed-0")


def test_free_text_finds_an_episode_by_its_task(small: Page) -> None:
    small.get_by_role("button", name="Task, ID").click()
    small.get_by_role("searchbox", name="Search episodes").fill("seed-57")
    expect(rows(small)).to_have_count(1)
    expect(small).to_have_url(re.compile("q=seed-57"))


def test_the_table_draws_what_one_scrolls_to_and_nothing_else(small: Page) -> None:
    last = small.get_by_role("link", name="seed-59", exact=True)
    expect(last).to_have_count(0)
    small.get_by_role("grid", name="Episodes").focus()
    small.keyboard.press("End")
    expect(last).to_be_visible()
    expect(small.get_by_role("link", name="seed-0", exact=True)).to_have_count(0)
    assert rows(small).count() < 50


def test_why_an_episode_failed_is_three_clicks_from_home(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/?builtin=shown")
    page.get_by_role("row").filter(has_text="Content gallery").get_by_role("link").click()
    page.get_by_role("button", name=re.compile("Environment error")).click()
    rows(page).first.get_by_role("link").click()
    failure = page.get_by_role("group", name="The environment crashed").first
    expect(failure).to_contain_text("environment_error")
    expect(failure).to_contain_text("the board is gone")


def test_the_example_of_a_cause_leads_to_the_failed_episode(small: Page) -> None:
    small.get_by_role("region", name="Failures").get_by_role("link").first.click()
    expect(small.get_by_role("main").get_by_text("malformed_action", exact=True).first).to_be_visible()


def test_the_command_that_repeats_the_run_is_copied(browser: Browser, server: Server) -> None:
    run = find_run(server.results, "word-game", "builtin/random")
    allowed = ["clipboard-read", "clipboard-write"]
    with watched_page(browser, permissions=allowed) as (page, _):
        page.goto(f"{server.url}/runs/{run}?tab=configuration")
        line = page.get_by_role("definition").filter(has_text="mesocosm run local")
        line.get_by_role("button", name="Copy the command").click()
        expect(line.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
    assert "--model builtin/random --episodes 10" in copied
    assert "--name example" in copied


def test_downloads_are_offered_and_the_table_of_episodes_has_them_all(small: Page) -> None:
    small.get_by_role("button", name="Download").click()
    with small.expect_download() as download:
        small.get_by_role("menuitem", name=re.compile("CSV")).click()
    assert len(download.value.path().read_text().splitlines()) == EPISODES + 1


def test_a_run_that_is_not_there_says_so(browser: Browser, server: Server) -> None:
    with watched_page(browser) as (page, _):
        page.goto(f"{server.url}/runs/no-such-run")
        expect(page.get_by_role("main")).to_contain_text(re.compile("no run|not found|no such", re.IGNORECASE))
