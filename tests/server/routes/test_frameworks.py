"""`/api/framework-benchmarks`: what frameworks offer, from what was last read of them."""

from pathlib import Path

import msgspec
import pytest
from tests.server.routes.conftest import Hosted

from mesocosm.guests.messages import CatalogueEntry

ENTRIES = [
    CatalogueEntry("FrozenLake-v1", "gym:FrozenLake-v1", "Frozen lake", tags=("toy text",)),
    CatalogueEntry("CartPole-v1", "gym:CartPole-v1", "Cart pole", needs=("pygame",)),
]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Gymnasium offered when it was last asked."""
    monkeypatch.setenv("MESOCOSM_GUESTS_DIR", str(tmp_path / "guests"))
    file = tmp_path / "guests" / "catalogue" / "gym-0123.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(msgspec.json.encode(ENTRIES))
    return file


@pytest.mark.usefixtures("kept")
def test_words_are_found_in_names_and_tags(hosted: Hosted) -> None:
    found = hosted.member("alice").get("/api/framework-benchmarks?q=toy").json()
    assert [found["found"], [item["run"] for item in found["items"]]] == [1, ["gym:FrozenLake-v1"]]


@pytest.mark.usefixtures("kept")
def test_a_framework_that_was_never_asked_has_no_number(hosted: Hosted) -> None:
    known = {
        one["name"]: one["benchmarks"]
        for one in hosted.member("alice").get("/api/framework-benchmarks").json()["frameworks"]
    }
    assert [known["gym"], known["inspect"]] == [2, None]


def test_a_file_that_cannot_be_read_is_left_out(hosted: Hosted, kept: Path) -> None:
    kept.write_text("[{")
    assert hosted.member("alice").get("/api/framework-benchmarks").json()["found"] == 0
