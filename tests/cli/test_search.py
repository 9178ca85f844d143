"""`mesocosm search`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played


def test_what_was_said_is_found_in_all_runs(mesocosm: "Invoke", mine: "Played") -> None:
    found = mesocosm("search", "guess*", "--limit", "2", *mine.there)

    assert found.code == 0
    count, _accuracy, head, *rows = found.out.splitlines()
    assert count.startswith("6 of 6 episodes: 6 passed")
    assert head.split() == ["episode", "run", "verdict", "in", "step", "said"]
    assert rows[0].startswith(f"{mine.run_id}/0")
    assert "[guess" in rows[0].lower()


def test_the_json_is_that_of_the_server(mesocosm: "Invoke", mine: "Played") -> None:
    from mesocosm.server.schemas.search import SearchPage

    document = mesocosm("search", "guess*", "--run", "last", "--in", "question", *mine.there, "--json").document

    page = SearchPage.model_validate(document)
    assert page.matching is not None
    assert page.matching.episodes == len(page.items) == 6
    assert {hit.place for hit in page.items} == {"question"}


def test_nothing_found_says_in_how_many_episodes(mesocosm: "Invoke", mine: "Played") -> None:
    found = mesocosm("search", "xylophone", *mine.there)

    assert (found.code, found.out) == (0, "nobody said this in 6 episodes\n")


def test_the_index_can_be_made_without_a_search(mesocosm: "Invoke", mine: "Played") -> None:
    assert mesocosm("search", "--index", *mine.there).out == "everything is indexed\n"


def test_a_search_needs_a_text(mesocosm: "Invoke", mine: "Played") -> None:
    outcome = mesocosm("search", *mine.there)

    assert outcome.code == 2
    assert "give what to find" in outcome.err
