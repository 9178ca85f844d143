"""`mesocosm review`: create, list, show and export rounds; people judge in the browser."""

import csv
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.review import Verdict
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played


@pytest.fixture
def there(played: "Played", tmp_path: Path) -> tuple[str, str]:
    """The words that name a copy of the results."""
    return ("--results-dir", str(shutil.copytree(played.results, tmp_path / "results")))


def judge(there: tuple[str, str], **answers: str) -> None:
    """Let people judge the items of the newest round; answers are by item: r, w, f, u."""
    words = {"r": "right", "w": "wrong", "f": "faulty", "u": "unsure"}
    store = open_store(there[1])
    (made, *_) = store.reviews.list()
    for person, said in answers.items():
        for item, answer in zip(store.reviews.items(made.id), said, strict=False):
            verdict = Verdict(
                episode_id=item.episode_id,
                round_id=made.id,
                author=f"person:{person}",
                author_name=person,
                answer=words[answer],  # type: ignore[arg-type]
            )
            store.reviews.save(verdict)
    store.close()


def test_a_round_is_created_listed_and_shown(mesocosm: "Invoke", there: tuple[str, str]) -> None:
    made = mesocosm("review", "create", "last", "--sample", "4", "--seed", "3", *there)

    assert made.code == 0
    assert "4 of 6 drawn at random, 2 verdicts each" in made.out
    assert "mesocosm view    and open /reviews/" in made.out
    listed = mesocosm("review", "list", "--run", "last", "--json", *there).document["rounds"]
    assert [(one["items"], one["seed"], one["blind"]) for one in listed] == [(4, "3", True)]
    assert "0/8" in mesocosm("review", "list", *there).out
    judge(there, ada="rrrr", ben="rrrw")

    shown = mesocosm("review", "show", "last", *there)

    assert shown.code == 0
    assert "8 of 8 verdicts; 4 of 4 complete" in shown.out
    assert "by ada 4, ben 4" in shown.out
    assert "1 disputed episode" in shown.out
    assert "not yet" in shown.out or "not known" in shown.out
    document = mesocosm("review", "show", listed[0]["id"][:20], "--json", *there).document
    assert (document["over"], document["pairs"][0]["n"]) == (4, 4)


def test_labels_come_from_a_file(mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path) -> None:
    file = tmp_path / "labels.toml"
    file.write_text('[[labels]]\nname = "clear"\nkind = "number"\nlow = 1\nhigh = 5\n[guide]\nright = "As the key."\n')

    made = mesocosm("review", "create", "last", "--labels", file, "--open", "--json", *there).document

    assert [(one["name"], one["kind"], one["high"]) for one in made["labels"]] == [("clear", "number", 5.0)]
    assert (made["guide"], made["blind"], made["drawn"]) == ({"right": "As the key."}, False, "all 6")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("labels = 3", "list"),
        ("[[labels]]\nkind = 'flag'", "labels.0.name"),
        ("[[labels]]\nname = 'a'\nkey = '1'", "cannot have the key '1'"),
        ("nonsense", "cannot be read"),
        ("other = 1", "describes no labels"),
    ],
)
def test_labels_that_cannot_be_asked_are_refused(
    mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "labels.toml"
    file.write_text(text)

    done = mesocosm("review", "create", "last", "--labels", file, *there)

    assert done.code == 2
    assert words in done.err
    assert mesocosm("review", "list", *there).out == ""


def test_verdicts_are_exported_whole_or_not_at_all(mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path) -> None:
    mesocosm("review", "create", "last", "--sample", "2", "--reviews", "1", *there)
    judge(there, ada="rw")

    assert mesocosm("review", "export", "last", "-o", tmp_path / "verdicts.csv", *there).code == 0
    rows = list(csv.DictReader((tmp_path / "verdicts.csv").read_text().splitlines()))
    assert [(row["author"], row["answer"]) for row in rows] == [("ada", "right"), ("ada", "wrong")]
    assert len(mesocosm("review", "export", "last", "--format", "jsonl", *there).out.splitlines()) == 2
    failed = mesocosm("review", "export", "last", "-o", tmp_path / "nowhere" / "verdicts.csv", *there)
    assert (failed.code, "choose another file" in failed.err) == (2, True)


def test_without_rounds_the_way_to_one_is_told(mesocosm: "Invoke", there: tuple[str, str]) -> None:
    assert "create one with: mesocosm review create" in mesocosm("review", "list", *there).err
    missing = mesocosm("review", "show", "last", *there)
    assert (missing.code, "no review round" in missing.err) == (2, True)
    assert mesocosm("review", "create", "ffff", *there).code == 2
