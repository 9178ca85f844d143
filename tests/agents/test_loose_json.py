import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.agents.loose_json import DEEPEST, scan, whole, without_surrogates


def values(text: str) -> list[object]:
    return [found.value for found in scan(text).values]


def test_finds_values_between_prose() -> None:
    assert values('First {"a": 1}, then [2, 3] and done.') == [{"a": 1}, [2, 3]]


def test_reads_a_fenced_block_as_the_whole_text() -> None:
    found = whole('```json\n{"a": 1}\n```')
    assert found is not None
    assert found.value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("[1, 2,]", [1, 2]),
        ("{'a': 'it\\'s \"so\"'}", {"a": 'it\'s "so"'}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ("{a: 1, b-c: 2}", {"a": 1, "b-c": 2}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('{"a": "C:\\dir"}', {"a": "C:\\dir"}),
        ("[+1, .5, 2.]", [1, 0.5, 2.0]),
    ],
)
def test_tolerates_what_models_write_and_says_that_it_did(text: str, value: object) -> None:
    (found,) = scan(text).values
    assert found.value == value
    assert not found.strict


def test_marks_plain_json_as_strict() -> None:
    assert scan('see {"a": [1, -2.5e3, "\\u00e9", true, null]}').values[0].strict


@pytest.mark.parametrize("text", ["[NaN]", "[Infinity]", "[1e999]", "{1, 2, 3}", "[word]", '{"a" 1}', "{'a': 'don't'}"])
def test_refuses_what_has_no_plain_meaning(text: str) -> None:
    assert values(text) == []


def test_goes_on_after_a_broken_value() -> None:
    assert values('the set {1, 2} gives {"a": 1}') == [{"a": 1}]


@pytest.mark.parametrize("text", ['{"a": {"b": 1}', '[1] and {"a": "cu', '{"moves": [{"x": 1}, {"x": 2}'])
def test_says_when_the_text_ends_inside_a_value(text: str) -> None:
    assert scan(text).flaw == "is cut off"


def test_offers_no_inner_part_of_a_value_that_is_cut_off() -> None:
    assert values('{"moves": [{"x": 1}, {"x": 2}') == []


def test_an_opening_bracket_in_prose_is_no_value_under_way() -> None:
    assert scan('{"a": 1} and then (see [').flaw == ""


def test_refuses_nesting_beyond_its_limit_without_recursion() -> None:
    assert values("[" * DEEPEST + "]" * DEEPEST) != []
    assert "nested" in scan("[" * 100_000).flaw


def test_whole_takes_scalars_but_no_prose() -> None:
    five = whole(" 5 ")
    assert five is not None
    assert five.value == 5
    assert whole("five") is None
    assert whole('{"a": 1} and more') is None


def test_integers_beyond_the_limit_of_python_do_not_raise() -> None:
    assert values(f"[{'9' * 6000}]") == []
    assert whole("9" * 6000) is None


def test_replaces_lone_surrogates() -> None:
    assert without_surrogates("a\ud800b") == "a\ufffdb"
    assert values('["\\ud800"]') == [["\ufffd"]]


NESTED = f"is nested deeper than {DEEPEST}"
HOSTILE = [
    ("[", NESTED, 0),
    ("{", "", 0),
    ('["', "is cut off", 0),
    ("['", "is cut off", 0),
    ('{"a":', NESTED, 0),
    ("{a'", "", 0),
    ('{a"', "", 0),
    ("[1,", NESTED, 0),
    ("[1.", "is cut off", 0),
    ('["\\', "is cut off", 0),
    ('["[\\"', "", 0),
    ("[]", "", 50_000),
    ("['[\"", "is cut off", 0),
    ("[[[[x", "", 0),
]


@pytest.mark.parametrize(("piece", "flaw", "count"), HOSTILE)
def test_reads_hostile_text_of_100_kilobytes(piece: str, flaw: str, count: int) -> None:
    """A reader of quadratic time would take minutes for each of these."""
    found = scan(piece * (100_000 // len(piece)))
    assert (found.flaw, len(found.values)) == (flaw, count)


@given(st.text(alphabet=st.sampled_from(list("{}[]\",':\\\n 1.eE-aTrue\ud800€")), max_size=60))
def test_never_raises(text: str) -> None:
    scan(text)
    whole(text)
