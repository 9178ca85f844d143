"""Whatever bytes a file holds, it becomes a table or an error that people can act on."""

import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.core.failure import UsageError
from mesocosm.datasets import open_table
from mesocosm.datasets.front_matter import BadFrontMatter, front_matter
from mesocosm.datasets.summary import summarize
from mesocosm.rollouts.rows import read_rows

PIECES = st.sampled_from(
    [
        *(b'{"a": 1}', b"[", b"]", b"{", b"}", b'"', b",", b"\n", b"\r", b"\t", b"\x00", b":", b'"data"', b"1e999"),
        *(b"NaN", b"null", b'"\\ud800"', b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xe9", b"user_prompt", b"PAR1"),
        *(b"---\n", b"+++\n", b"a = nan\n", b"a: |\n", b"  - x\n", b"metadata", b"\xed\xa0\x80", b"9" * 30),
    ]
)
CONTENT = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=25).map(b"".join))
NAMES = ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.json.gz", "a.parquet.gz"]


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None)
@given(content=CONTENT, packed=st.booleans())
def test_bytes_become_a_table_or_an_error_of_use(name: str, content: bytes, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(gzip.compress(content) if packed and name.endswith(".gz") else content)
        try:
            table = open_table(path)
            assert summarize(table).rows == len(table) > 0
            for row in read_rows(table):
                assert row.prompt or row.metadata or row.label
        except UsageError:
            return


@settings(deadline=None)
@given(content=CONTENT)
def test_heads_of_texts_are_read_or_refused(content: bytes) -> None:
    text = content.decode(errors="replace")
    try:
        facts, rest = front_matter(text)
    except BadFrontMatter:
        return
    assert rest in text
    json.dumps(facts, allow_nan=False)
