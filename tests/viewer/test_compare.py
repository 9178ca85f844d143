"""Runs against each other: who is better and whether that could be chance, task by task, in words and numbers."""

import re

from playwright.sync_api import Locator, Page, expect
from tests.viewer.conftest import EPISODES, Server, find_run


def compared(page: Page, server: Server, *runs: str) -> Page:
    page.goto(f"{server.url}/compare?" + "&".join(f"run={run}" for run in runs))
    expect(page.get_by_role("region", name="Other differences")).to_be_visible()
    return page


def grid(server: Server, *models: str) -> list[str]:
    return [find_run(server.results, "grid-world", model) for model in models]


def tasks(page: Page) -> Locator:
    table = page.get_by_role("grid", name="Tasks of both runs")
    return table.get_by_role("row").filter(has=page.get_by_role("gridcell"))


def test_a_winner_is_named_with_the_difference_its_interval_and_p(page: Page, server: Server) -> None:
    compared(page, server, *grid(server, "openai/tiny", "openai/large"))
    words = page.get_by_role("main")
    expect(words).to_contain_text(
        re.compile(r"B\s*openai/large is better than A\s*openai/tiny by\s*0\.\d+ \[0\.\d+, 0\.\d+\], p < 0\.001")
    )
    row = page.get_by_role("row").filter(has_text="openai/large").filter(has_text="better")
    expect(row).to_contain_text(re.compile(r"\+0\.\d+\s*\[0\.\d+, 0\.\d+\]"))


def test_a_tie_is_called_a_tie_and_tells_what_could_have_been_shown(page: Page, server: Server) -> None:
    compared(page, server, *grid(server, "openai/large", "builtin/oracle"))
    expect(page.get_by_role("main")).to_contain_text("the difference is not significant")
    expect(page.get_by_role("main")).to_contain_text("can detect a difference of")
    expect(page.get_by_role("row").filter(has_text="builtin/oracle").first).to_contain_text("tie")


def test_flipped_tasks_are_listed_and_lead_to_both_episodes_side_by_side(page: Page, server: Server) -> None:
    compared(page, server, *grid(server, "openai/small", "openai/large"))
    tab = page.get_by_role("tab", name=re.compile("Flipped"))
    expect(tab).to_have_attribute("aria-selected", "true")
    flipped = int(re.findall(r"\d+", tab.inner_text())[0])
    assert flipped > 5
    expect(page.get_by_role("grid", name="Tasks of both runs")).to_have_attribute("aria-rowcount", str(flipped + 1))
    task = tasks(page).first.get_by_role("gridcell").first.inner_text()
    tasks(page).first.get_by_role("link", name=re.compile("side by side")).click()
    expect(page.get_by_role("region", name="Episode A", exact=True)).to_contain_text("small")
    expect(page.get_by_role("region", name="Episode B", exact=True)).to_contain_text("large")
    expect(page.get_by_role("heading", level=1)).to_contain_text(task)


def test_the_four_fields_of_passed_and_failed_add_up(page: Page, server: Server) -> None:
    compared(page, server, *grid(server, "openai/small", "openai/large"))
    fields = page.get_by_role("table", name="Tasks passed and failed by both runs").get_by_role("cell")
    expect(fields).to_have_count(4)
    assert sum(int(field.get_by_role("strong").inner_text()) for field in fields.all()) == EPISODES


def test_what_else_differs_is_told(page: Page, server: Server) -> None:
    compared(page, server, *grid(server, "openai/small", "openai/large"))
    expect(page.get_by_role("region", name="Settings that differ")).to_contain_text("openai/large")


def test_the_baseline_is_swapped_and_the_address_follows(page: Page, server: Server) -> None:
    small, large = grid(server, "openai/small", "openai/large")
    compared(page, server, small, large)
    page.get_by_role("button", name="Swap").click()
    expect(page).to_have_url(re.compile(f"run={large}&run={small}"))
    expect(page.get_by_role("row").filter(has_text="openai/small").first).to_contain_text("worse")


def test_another_metric_is_compared_and_kept_in_the_address(page: Page, server: Server) -> None:
    compared(page, server, *grid(server, "openai/small", "openai/large"))
    page.get_by_role("combobox", name="Metric").select_option("mean_reward")
    expect(page.get_by_role("columnheader", name="mean_reward")).to_be_visible()
    expect(page).to_have_url(re.compile("metric=mean_reward"))


def test_three_runs_are_compared_with_the_first_and_adjusted(page: Page, server: Server) -> None:
    small, large, chance = grid(server, "openai/small", "openai/large", "builtin/random")
    compared(page, server, small, large, chance)
    expect(page.get_by_role("columnheader", name="p adjusted")).to_be_visible()
    rows = page.get_by_role("region", name=re.compile("Scores and differences")).get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.nth(2)).to_contain_text("better")
    expect(rows.nth(3)).to_contain_text("worse")
    page.get_by_role("combobox", name="Against").select_option(chance)
    expect(page.get_by_role("heading", name="Task by task: A against C")).to_be_visible()


def test_runs_on_other_tasks_are_compared_unpaired_and_it_says_so(page: Page, server: Server) -> None:
    ones = [find_run(server.results, "word-game", "builtin/oracle", name) for name in ("example", "other seeds")]
    compared(page, server, *ones)
    expect(page.get_by_role("main")).to_contain_text("unpaired")
    expect(page.get_by_role("grid", name="Tasks of both runs")).to_have_count(0)


def test_runs_are_added_by_searching_for_them(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/compare")
    expect(page.get_by_role("heading", name="Select two or more runs")).to_be_visible()
    for words in ("small sweep", "large sweep"):
        page.get_by_role("searchbox", name="Search runs to add").fill(words)
        page.get_by_role("button", name=re.compile(f"Add.*{words.split()[0]}")).click()
        add = page.get_by_role("button", name="Add a run")
        if words.startswith("small"):
            expect(page.get_by_role("heading", name="Select one more run")).to_be_visible()
        else:
            expect(add).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("is better than")
