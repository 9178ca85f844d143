"""Evidence of capabilities."""

import pytest

from mesocosm.benchmarks.orchestrated.capability import Evidence, check_capabilities, read_evidence
from mesocosm.core.failure import UsageError


def test_compliance_is_the_share_of_required_capabilities_that_were_used() -> None:
    assert Evidence(("code.read", "code.edit"), (), ("code.edit", "code.shell")).compliance == 0.5
    assert Evidence((), ()).compliance == 1.0


def test_evidence_is_read_back_as_it_was_kept() -> None:
    evidence = Evidence(("code.read",), ("code.edit",), ("code.edit",))
    assert read_evidence(evidence.data()) == evidence
    assert read_evidence(None) == Evidence((), ())


def test_each_capability_counts_once_and_must_be_known() -> None:
    assert check_capabilities("b", ["code.read", "code.read"]) == ("code.read",)
    with pytest.raises(UsageError, match=r"code\.reed.*code\.read"):
        check_capabilities("b", ["code.reed"])
