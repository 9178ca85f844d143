"""The list of runs: found, sorted, chosen, tagged and deleted, with all of it in the address."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.viewer.conftest import SCRIPT_NAME, Server

ALL = 12


@pytest.fixture
def runs(page: Page, server: Server) -> Page:
    """The list of runs, those of built-in agents too."""
    page.goto(f"{server.url}?builtin=shown")
    expect(rows(page)).to_have_count(ALL)
    return page


def rows(page: Page) -> Locator:
    return page.get_by_role("grid", name="Runs").get_by_role("row").filter(has=page.get_by_role("checkbox"))


def facet(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name).first


def filters(page: Page) -> None:
    """Show the filters."""
    button = page.get_by_role("button", name="Filters")
    if button.get_attribute("aria-expanded") == "false":
        button.click()


def choose(page: Page, name: str, *values: str) -> None:
    filters(page)
    facet(page, name).click()
    for value in values:
        page.get_by_role("checkbox", name=re.compile(value)).check()
    page.keyboard.press("Escape")


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("columnheader", name=name, exact=True)


def models(page: Page) -> list[str]:
    return [re.search(r"(oracle|random|large|small|tiny)", text)[0] for text in rows(page).all_inner_texts()]  # type: ignore[index]


def test_every_run_shows_its_score_with_interval_and_denominators(runs: Page) -> None:
    row = rows(runs).filter(has_text="large")
    expect(row).to_contain_text(re.compile(r"0\.\d{3}\s*0\.\d{3} – [01]\.\d{3}"))
    expect(row.locator("[data-tip='60 of 60 planned episodes scored']")).to_be_visible()
    expect(row.get_by_role("img", name=re.compile("passed"))).to_be_visible()
    expect(row).not_to_contain_text("finished")


def test_a_facet_filters_by_its_values_and_says_how_many_each_has(runs: Page) -> None:
    filters(runs)
    facet(runs, "Benchmark").click()
    option = runs.get_by_role("checkbox", name=re.compile("^negotiation"))
    expect(option).to_have_accessible_name(re.compile("2$"))
    option.check()
    expect(rows(runs)).to_have_count(2)
    expect(runs.get_by_text("2 runs found")).to_be_visible()
    expect(runs).to_have_url(re.compile(r"\?builtin=shown&benchmark=negotiation$"))


def test_two_facets_narrow_and_two_values_of_one_widen(runs: Page) -> None:
    choose(runs, "Benchmark", "negotiation", r"^grid-world\s")
    expect(rows(runs)).to_have_count(7)
    choose(runs, "Model", "oracle")
    expect(rows(runs)).to_have_count(2)


def test_free_text_finds_names_models_and_tags(runs: Page) -> None:
    field = runs.get_by_role("searchbox", name="Search runs")
    for text, found in (("other", 1), ("sweep small", 1), ("negotiation", 2)):
        field.fill(text)
        expect(rows(runs)).to_have_count(found)


def test_text_that_nothing_matches_offers_the_way_back(runs: Page) -> None:
    runs.get_by_role("searchbox", name="Search runs").fill("nothing is called so")
    expect(rows(runs)).to_have_count(0)
    runs.get_by_role("main").get_by_role("button", name=re.compile("[Cc]lear")).last.click()
    expect(rows(runs)).to_have_count(ALL)


def test_a_header_sorts_and_pressed_again_turns_the_order(runs: Page) -> None:
    choose(runs, "Benchmark", r"^grid-world\s")
    expect(rows(runs)).to_have_count(5)
    column(runs, "Score").get_by_role("button").click()
    expect(column(runs, "Score")).to_have_attribute("aria-sort", "descending")
    expect(rows(runs).first).to_contain_text("oracle")
    expect(rows(runs).last).to_contain_text("random")
    assert models(runs) == ["oracle", "large", "small", "tiny", "random"]
    column(runs, "Score").get_by_role("button").click()
    expect(column(runs, "Score")).to_have_attribute("aria-sort", "ascending")
    expect(rows(runs).first).to_contain_text("random")


def test_a_reload_and_the_browsers_back_restore_filter_order_and_text(runs: Page) -> None:
    choose(runs, "Benchmark", r"^grid-world\s")
    column(runs, "Score").get_by_role("button").click()
    expect(rows(runs).first).to_contain_text("oracle")
    runs.get_by_role("searchbox", name="Search runs").fill("sweep")
    expect(rows(runs)).to_have_count(3)
    runs.reload()
    expect(rows(runs)).to_have_count(3)
    expect(runs.get_by_role("searchbox", name="Search runs")).to_have_value("sweep")
    expect(column(runs, "Score")).to_have_attribute("aria-sort", "descending")
    rows(runs).first.get_by_role("link").click()
    expect(runs.get_by_role("heading", level=1, name="sweep")).to_be_visible()
    runs.go_back()
    expect(rows(runs)).to_have_count(3)
    assert models(runs) == ["large", "small", "tiny"]


def test_a_chip_takes_its_filter_away(runs: Page) -> None:
    choose(runs, "Benchmark", "negotiation")
    expect(rows(runs)).to_have_count(2)
    runs.get_by_role("list", name="Active filters").get_by_role("button", name=re.compile("negotiation")).click()
    expect(rows(runs)).to_have_count(ALL)


def test_a_column_that_was_chosen_joins_those_that_are_shown_and_is_in_the_address(runs: Page) -> None:
    expect(column(runs, "Kind")).to_have_count(0)
    choose(runs, "Columns", "Kind")
    expect(column(runs, "Kind")).to_be_visible()
    expect(column(runs, "Outcome")).to_be_visible()
    expect(runs).to_have_url(re.compile("columns=outcome.*columns=kind"))
    facet(runs, "Columns").click()
    runs.get_by_role("checkbox", name="Outcome").uncheck()
    expect(column(runs, "Outcome")).to_have_count(0)
    expect(runs).to_have_url(re.compile("^(?!.*columns=outcome).*columns=kind"))


def test_keys_search_move_and_open(runs: Page) -> None:
    runs.keyboard.press("/")
    field = runs.get_by_role("searchbox", name="Search runs")
    expect(field).to_be_focused()
    runs.keyboard.type("negotiation")
    expect(rows(runs)).to_have_count(2)
    first, second = (row.get_by_role("link").get_attribute("href") for row in rows(runs).all())
    field.evaluate("element => element.blur()")
    for key in ("j", "j", "k", "j", "Enter"):
        runs.keyboard.press(key)
    assert first != second
    expect(runs).to_have_url(re.compile(f"{second}$"))


def test_keys_choose_two_runs_and_compare_them(runs: Page) -> None:
    for key in ("j", "x", "j", "x"):
        runs.keyboard.press(key)
    expect(runs.get_by_text("2 runs selected")).to_be_visible()
    runs.keyboard.press("c")
    expect(runs.get_by_role("heading", level=1, name="Compare")).to_be_visible()
    expect(runs).to_have_url(re.compile(r"/compare\?run=[\w-]+&run=[\w-]+$"))


def test_the_question_mark_lists_the_shortcuts(runs: Page) -> None:
    runs.keyboard.press("?")
    dialog = runs.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_text("Next row")).to_be_visible()
    runs.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_boxes_choose_runs_to_compare(runs: Page) -> None:
    compare = runs.get_by_role("button", name="Compare")
    for size in ("large", "tiny"):
        rows(runs).filter(has_text=size).get_by_role("checkbox").check()
    compare.click()
    chosen = runs.get_by_role("region", name="Compared runs")
    expect(chosen.get_by_role("listitem").nth(0)).to_contain_text("large")
    expect(chosen.get_by_role("listitem").nth(1)).to_contain_text("tiny")


def test_one_run_alone_cannot_be_compared(runs: Page) -> None:
    rows(runs).first.get_by_role("checkbox").check()
    expect(runs.get_by_role("button", name="Compare")).to_be_disabled()


def test_a_run_is_deleted_after_a_question(page: Page, own_server: Server) -> None:
    page.goto(f"{own_server.url}?builtin=shown")
    rows(page).filter(has_text=SCRIPT_NAME).get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(SCRIPT_NAME)
    dialog.get_by_role("button", name="Delete 1 run").click()
    expect(rows(page)).to_have_count(ALL - 1)
    page.reload()
    expect(rows(page)).to_have_count(ALL - 1)


def test_a_tag_that_was_added_is_there_after_a_reload_and_filters(page: Page, own_server: Server) -> None:
    page.goto(f"{own_server.url}?builtin=shown")
    rows(page).filter(has_text="other seeds").get_by_role("checkbox").check()
    page.get_by_role("button", name="Tag", exact=True).last.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Add tags, separated by commas").fill("good, for later")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    page.reload()
    choose(page, "Tag", "for later")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("other seeds")


def test_built_in_agents_are_left_out_where_there_are_others_until_asked_for(page: Page, server: Server) -> None:
    page.goto(server.url)
    expect(rows(page).first).to_be_visible()
    chip = page.get_by_role("list", name="Active filters").get_by_role("button", name="built-in agents hidden")
    expect(rows(page).filter(has_text="oracle")).to_have_count(0)
    chip.click()
    expect(rows(page).filter(has_text="oracle")).not_to_have_count(0)


def test_runs_stand_below_their_benchmark_with_floor_and_ceiling_and_fold_away(runs: Page) -> None:
    head = runs.get_by_role("row").filter(has=runs.get_by_role("button", name="Hide runs of Grid world", exact=True))
    expect(head).to_contain_text(re.compile(r"5 runs · floor 0\.\d{3} random · ceiling 1\.000 oracle, n 60 each"))
    head.get_by_role("button").click()
    expect(rows(runs)).to_have_count(ALL - 5)
    runs.get_by_role("button", name="Show runs of Grid world", exact=True).click()
    expect(rows(runs)).to_have_count(ALL)


def test_a_key_makes_a_run_the_baseline_of_its_benchmark(runs: Page) -> None:
    choose(runs, "Benchmark", r"^grid-world\s")
    expect(rows(runs)).to_have_count(5)
    small = rows(runs).filter(has_text="small")
    runs.keyboard.press("j")
    while not small.get_attribute("data-active"):
        runs.keyboard.press("j")
    runs.keyboard.press("b")
    expect(small).to_contain_text("baseline")
    expect(runs).to_have_url(re.compile("baseline="))
    expect(rows(runs).filter(has_text="large").locator("[data-better]").first).to_be_attached()


def test_a_run_is_renamed_in_place_and_its_page_says_so(page: Page, own_server: Server) -> None:
    page.goto(f"{own_server.url}?q=other+seeds&builtin=shown")
    expect(rows(page)).to_have_count(1)
    for key in ("j", "r"):
        page.keyboard.press(key)
    field = page.get_by_role("textbox", name=re.compile("^Name of run"))
    field.fill("<b>nightly</b>")
    field.press("Enter")
    link = page.get_by_role("link", name="<b>nightly</b>")
    link.click()
    expect(page.get_by_role("heading", level=1, name="<b>nightly</b>")).to_be_visible()


def test_a_view_is_saved_and_opened_again(page: Page, own_server: Server) -> None:
    page.goto(f"{own_server.url}?q=negotiation&builtin=shown&by=none")
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name of the view").fill("Deals")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    views = page.get_by_role("navigation", name="Views")
    expect(views.get_by_role("link", name="Deals")).to_have_attribute("aria-current", "page")
    views.get_by_role("link", name="All runs").click()
    views.get_by_role("link", name="Deals").click()
    expect(page).to_have_url(re.compile(r"q=negotiation"))


def test_the_matrix_is_moved_through_by_arrows_and_opens_runs(runs: Page) -> None:
    runs.get_by_role("button", name="Matrix").click()
    matrix = runs.get_by_role("grid", name="Runs by benchmark and model")
    expect(matrix.get_by_role("row").filter(has_text="Grid world").first).to_contain_text("1.000")
    cell = matrix.locator("td[data-run]").first
    cell.focus()
    runs.keyboard.press("ArrowRight")
    expect(cell).not_to_be_focused()
    runs.keyboard.press("ArrowLeft")
    expect(cell).to_be_focused()
    runs.keyboard.press("Enter")
    expect(runs).to_have_url(re.compile("/runs/"))


def test_a_column_is_made_wider_by_keys_and_its_width_is_in_the_address(runs: Page) -> None:
    edge = runs.get_by_role("separator", name="Width of Outcome")
    edge.focus()
    edge.press("ArrowRight")
    expect(runs).to_have_url(re.compile("width=outcome%3A148"))


def test_the_palette_opens_a_run_by_its_name_and_gives_the_focus_back(runs: Page) -> None:
    button = runs.get_by_role("button", name="Search or jump to")
    button.click()
    field = runs.get_by_role("combobox", name="Search or jump to")
    field.press("Escape")
    expect(button).to_be_focused()
    runs.keyboard.press("Control+k")
    field.fill("grid oracle")
    expect(runs.get_by_role("option", name=re.compile("oracle.*Run$")).first).to_be_visible()
    field.press("Enter")
    expect(runs).to_have_url(re.compile("/runs/"))
    expect(field).to_have_count(0)
