"""The catalogue of benchmarks, and the page of one: leaderboard, history, what it promises."""

import re

from playwright.sync_api import Locator, Page, expect
from tests.viewer.conftest import Server


def entries(page: Page) -> Locator:
    return page.get_by_role("region", name="Leaderboard").get_by_role("row").filter(has=page.get_by_role("checkbox"))


def test_the_catalogue_has_every_benchmark_with_its_best_result(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks")
    row = page.get_by_role("row").filter(has_text="Take the key, open the door")
    expect(row).to_contain_text(re.compile(r"0\.983 \[0\.\d+, 0\.\d+\]"))
    expect(row).to_contain_text("openai/large")
    expect(page.get_by_role("row").filter(has_text="GSM8K")).to_contain_text("never run")


def test_the_catalogue_is_searched(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks")
    page.get_by_role("searchbox", name="Search benchmarks").fill("pictures")
    expect(page.get_by_role("row").filter(has=page.get_by_role("gridcell"))).to_have_count(1)


def test_the_leaderboard_ranks_models_between_floor_and_ceiling(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks")
    page.get_by_role("link", name="Grid world", exact=True).click()
    expect(entries(page)).to_have_count(5)
    texts = entries(page).all_inner_texts()
    order = [re.search(r"builtin/\w+|openai/\w+", text)[0] for text in texts]  # type: ignore[index]
    assert order == ["builtin/oracle", "openai/large", "openai/small", "openai/tiny", "builtin/random"]
    expect(entries(page).first).to_contain_text("ceiling")
    expect(entries(page).last).to_contain_text("floor")
    expect(entries(page).nth(1)).to_contain_text(re.compile(r"0\.983\s*\[0\.\d+, 0\.\d+\].*60/60", re.DOTALL))


def test_models_of_the_leaderboard_are_chosen_and_compared(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks/grid-world")
    for model in ("large", "small"):
        page.get_by_role("checkbox", name=f"Select openai/{model}").check()
    page.get_by_role("button", name="Compare 2").click()
    expect(page.get_by_role("main")).to_contain_text("is better than")


def test_the_history_can_be_read_as_a_table(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks/grid-world")
    chart = page.get_by_role("figure", name="goal_rate of every finished run")
    expect(chart.get_by_role("img").first).to_be_visible()
    chart.get_by_text("Numbers", exact=True).click()
    expect(chart.get_by_role("row").filter(has=page.get_by_role("cell"))).to_have_count(5)


def test_a_benchmark_tells_what_its_environment_promises(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks/grid-world")
    vow = page.get_by_role("region", name="Binding vow")
    expect(vow).to_contain_text("You walk through a maze")
    expect(vow.get_by_role("list", name="choices").get_by_role("listitem")).to_have_count(4)


def test_a_benchmark_leads_to_its_runs(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks/negotiation")
    page.get_by_role("link", name="All runs of this benchmark").click()
    expect(page.get_by_text("2 runs found")).to_be_visible()
    expect(page).to_have_url(re.compile(r"benchmark=negotiation"))
