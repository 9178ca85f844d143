"""JUnit documents."""

from xml.etree import ElementTree

from mesocosm.interop.junit import JUnitCase, junit


def test_checks_and_failures_are_counted() -> None:
    root = ElementTree.fromstring(junit("suite", [JUnitCase("g", "one"), JUnitCase("g", "two", "it fell\nby 3")]))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    (failure,) = root.iter("failure")
    assert (failure.get("message"), failure.text) == ("it fell", "it fell\nby 3")


def test_no_text_can_break_the_document() -> None:
    hostile = "<script>&\x00\x1b[0m\ud800 ]]> \ufffe"
    root = ElementTree.fromstring(junit(hostile, [JUnitCase(hostile, hostile, hostile, hostile)]))
    assert "<script>&" in (next(root.iter("testcase")).get("name") or "")
