"""Identity of tasks."""

import msgspec

from mesocosm.core.ids import digest
from mesocosm.core.task import Task


def test_name_metadata_and_cluster_are_no_part_of_the_identity() -> None:
    plain = Task("a", input={"q": 1}, target=2)
    named = Task("b", input={"q": 1}, target=2, cluster="c", metadata={"row": 7})
    assert plain.digest() == named.digest()


def test_input_target_seed_and_occurrence_are() -> None:
    base = Task("a", input="q", target="t", seed=1)
    changed = [
        msgspec.structs.replace(base, input="r"),
        msgspec.structs.replace(base, target="u"),
        msgspec.structs.replace(base, seed=2),
        msgspec.structs.replace(base, occurrence=1),
    ]
    assert len({task.digest() for task in [base, *changed]}) == 5


def test_the_short_way_for_seeds_gives_the_general_digest() -> None:
    assert Task("seed-12", seed=12).digest() == digest({"seed": 12})
    assert Task("seed--3", seed=-3).digest() == digest({"seed": -3})
