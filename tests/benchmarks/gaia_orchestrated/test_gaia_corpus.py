"""The corpus: search, pages, tables."""

import pytest

from mesocosm.benchmarks.builtin.gaia_orchestrated.corpus import HITS, Corpus, CorpusPage, PageTable, read_corpus
from mesocosm.benchmarks.orchestrated.tool import ToolError
from mesocosm.core.failure import InvalidInput

CORPUS = Corpus(
    (
        CorpusPage("https://a.example/ferry", "Ferries", "How people cross the water, and what a crossing costs."),
        CorpusPage("https://a.example/fares", "Fares", table=PageTable(("line", "fare"), (("F1", 14.5), ("F2", 7)))),
        *(CorpusPage(f"https://a.example/{n}", f"Page {n}", "Nothing but water.") for n in range(9)),
    )
)


def test_a_search_gives_the_best_documents_first() -> None:
    found = CORPUS.search("cost of a crossing over the water")
    assert found.startswith("Ferries (page)\nhttps://a.example/ferry")
    assert found.count("https://") == HITS


def test_a_search_without_a_hit_says_so() -> None:
    assert CORPUS.search("zebra") == CORPUS.search("") == "Nothing was found. Try other words."


def test_a_page_is_opened_by_its_address() -> None:
    assert "what a crossing costs" in CORPUS.browse("https://A.example/ferry/ ")


def test_rows_of_a_table_are_chosen_by_a_column() -> None:
    assert CORPUS.read("https://a.example/fares").endswith("line | fare\nF1 | 14.5\nF2 | 7\n(2 rows)")
    assert CORPUS.read("https://a.example/fares", "line", "f2").endswith("line | fare\nF2 | 7\n(1 rows)")


@pytest.mark.parametrize(
    ("address", "column"),
    [("https://b.example", ""), ("https://a.example/ferry", ""), ("https://a.example/fares", "x")],
)
def test_what_is_not_there_cannot_be_read(address: str, column: str) -> None:
    with pytest.raises(ToolError):
        CORPUS.read(address, column, "1")


def test_every_row_that_is_no_document_is_named() -> None:
    with pytest.raises(InvalidInput, match="2 problems") as found:
        read_corpus("corpus", [{"url": "u", "title": "t"}, {"url": 1, "title": "t"}, {}])
    assert [problem.path for problem in found.value.problems] == ["row 2", "row 3"]
