"""Write JUnit XML (the de facto schema of Ant and Jenkins), which continuous integration shows as tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mesocosm.core.failure import writable
from mesocosm.core.folder import SUITES


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One check: its group and name, the failure (empty if it passed), its output, and its duration in seconds.

    `error` is why the check could not be performed or decided.
    """

    group: str
    name: str
    failure: str = ""
    output: str = ""
    seconds: float = 0.0
    error: str = ""


def junit(suite: str, cases: Sequence[JUnitCase]) -> bytes:
    """Return a document with one suite. Characters that XML cannot represent are replaced."""
    failures = sum(bool(case.failure) for case in cases)
    errors = sum(bool(case.error) for case in cases)
    numbers = {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors)}
    root = Element("testsuites", {"name": SUITES, **numbers})
    inner = SubElement(root, "testsuite", {"name": _clean(suite), **numbers})
    for case in cases:
        names = {"classname": _clean(case.group), "name": _clean(case.name), "time": f"{case.seconds:.3f}"}
        element = SubElement(inner, "testcase", names)
        for kind, words in (("failure", case.failure), ("error", case.error)):
            if words:
                wrong = SubElement(element, kind, {"message": _clean(words.splitlines()[0])})
                wrong.text = _clean(words)
        if case.output:
            SubElement(element, "system-out").text = _clean(case.output)
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _clean(text: str) -> str:
    return "".join(sign if _writable(sign) else "\ufffd" for sign in writable(text))


def _writable(sign: str) -> bool:
    return sign in "\t\n\r" or " " <= sign < "\ufffe" or sign > "\uffff"
