"""A corpus of documents that can be searched, opened and queried without a network."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from mesocosm.benchmarks.orchestrated.tool import ToolError
from mesocosm.core.failure import InvalidInput, Problem

_WORD = re.compile(r"[^\W_]+")
_K, _B = 1.2, 0.75
"""Usual constants of BM25 (Robertson & Zaragoza 2009)."""
HITS = 5
_SNIPPET = 160


class PageTable(msgspec.Struct, frozen=True):
    """A table: column names, and rows of cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]


class CorpusPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page to browse, or a document with a table."""

    url: str
    title: str
    text: str = ""
    table: PageTable | None = None

    @property
    def words(self) -> list[str]:
        """Its words in the form used for search."""
        columns = " ".join(self.table.columns) if self.table is not None else ""
        cells = " ".join(str(cell) for row in self.table.rows for cell in row) if self.table is not None else ""
        return words(f"{self.title} {self.title} {self.text} {columns} {cells}")

    def written(self) -> str:
        """Return the whole document as text."""
        table = self.table
        rows = [" | ".join(map(str, row)) for row in (table.columns, *table.rows)] if table is not None else []
        return "\n".join([self.title, self.url, "", self.text, *rows, ""])


def words(text: str) -> list[str]:
    """Return the words of a text in the form used for search: lower case, without a plural's s."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(text.lower())]


def read_corpus(subject: str, rows: Sequence[Mapping[str, Any]]) -> "Corpus":
    """Return the corpus in `rows`. Raises InvalidInput listing every row that is not a document."""
    documents: list[CorpusPage] = []
    problems: list[Problem] = []
    for place, row in enumerate(rows, 1):
        try:
            documents.append(msgspec.convert(row, CorpusPage))
        except msgspec.ValidationError as error:
            problems.append(Problem(f"row {place}", str(error)))
    if problems:
        raise InvalidInput(subject, problems)
    return Corpus(tuple(documents))


@dataclass(frozen=True)
class Corpus:
    """Documents by address, ranked for a query by BM25."""

    documents: tuple[CorpusPage, ...]

    @cached_property
    def _by_url(self) -> dict[str, CorpusPage]:
        return {_address(document.url): document for document in self.documents}

    @cached_property
    def _counts(self) -> list[Counter[str]]:
        return [Counter(document.words) for document in self.documents]

    @cached_property
    def _lengths(self) -> list[int]:
        return [counts.total() for counts in self._counts]

    @cached_property
    def _spread(self) -> Counter[str]:
        return Counter(word for counts in self._counts for word in counts)

    def search(self, query: str) -> str:
        """Return the best documents for a query as text: title, address and beginning of each."""
        ranked = sorted(self._ranked(set(words(query))), reverse=True)[:HITS]
        if not ranked:
            return "Nothing was found. Try other words."
        return "\n\n".join(_hit(self.documents[-place]) for _, place in ranked)

    def _ranked(self, query: set[str]) -> Iterator[tuple[float, int]]:
        """Yield a positive score and the negated index of every document that has a word of the query."""
        average = sum(self._lengths) / max(len(self._lengths), 1)
        for place, counts in enumerate(self._counts):
            score = 0.0
            norm = _K * (1 - _B + _B * self._lengths[place] / average)
            for word in query & counts.keys():
                rarity = math.log(1 + (len(self._counts) - self._spread[word] + 0.5) / (self._spread[word] + 0.5))
                score += rarity * counts[word] * (_K + 1) / (counts[word] + norm)
            if score > 0:
                yield score, -place

    def browse(self, url: str) -> str:
        """Return a page as text. Raises ToolError for an unknown address."""
        document = self._open(url)
        table = "\n\n(This address holds a table; look it up with read_document.)" if document.table else ""
        return f"# {document.title}\n\n{document.text}{table}"

    def read(self, url: str, column: str = "", equals: str = "") -> str:
        """Return the table of a document, or only the rows with a given value in a column. Raises ToolError."""
        document = self._open(url)
        if document.table is None:
            raise ToolError(f"{document.url} holds no table; open it with web_browse")
        table, rows = document.table, document.table.rows
        if column:
            if column not in table.columns:
                raise ToolError(f"there is no column {column[:80]!r}; there are {', '.join(table.columns)}")
            place = table.columns.index(column)
            rows = tuple(row for row in rows if words(str(row[place])) == words(equals))
        lines = [" | ".join(table.columns), *(" | ".join(map(str, row)) for row in rows)]
        return f"{document.title}\n{document.text}\n\n" + "\n".join(lines) + f"\n({len(rows)} rows)"

    def holds_table(self, url: str) -> bool:
        """Return whether a document has a table. Raises ToolError for an unknown address."""
        return self._open(url).table is not None

    def _open(self, url: str) -> CorpusPage:
        document = self._by_url.get(_address(url))
        if document is None:
            raise ToolError(f"there is nothing at {url[:200]!r}; use an address that web_search or a page gave")
        return document


def _address(url: str) -> str:
    return url.strip().rstrip("/").lower()


def _hit(document: CorpusPage) -> str:
    kind = "table" if document.table is not None else "page"
    return f"{document.title} ({kind})\n{document.url}\n{document.text[:_SNIPPET]}"
