"""Output of runs, and the files of episodes, as workers leave them in the store."""

from typing import TYPE_CHECKING

from mesocosm.core.entry import Blob
from mesocosm.core.ids import digest_bytes
from mesocosm.store import Store
from mesocosm.store.run_output import MOST_PIECES, PIECE

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def test_output_is_read_in_pieces_after_a_number(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    assert store.run_output.add(run.id, "one\n")
    assert store.run_output.add(run.id, "two\n" * (PIECE // 2))
    found = store.run_output.after(run.id, 0, 10)
    assert [piece.number for piece in found] == [1, 2, 3]
    assert "".join(piece.text for piece in found) == "one\n" + "two\n" * (PIECE // 2)
    assert [piece.number for piece in store.run_output.after(run.id, 2, 10)] == [3]
    assert store.run_output.after(run.id, 3, 10) == ()


def test_only_the_newest_pieces_are_kept(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    for number in range(MOST_PIECES + 5):
        store.run_output.add(run.id, f"{number}\n")
    found = store.run_output.after(run.id, 0, 1_000)
    assert (len(found), found[0].number, found[-1].text) == (MOST_PIECES, 6, f"{MOST_PIECES + 4}\n")


def test_a_deleted_run_has_no_output(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.run_output.add(run.id, "text with \0 and \ud800\n")
    store.runs.delete(run.id)
    assert store.run_output.after(run.id, 0, 10) == ()
    assert not store.run_output.add(run.id, "late\n")


async def test_files_of_an_episode_replace_those_of_an_earlier_attempt(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entry = samples.entry(run.id)
    await samples.write(store, run.id, [entry])
    episode = entry.episode

    def files(**texts: str) -> dict[str, Blob]:
        return {name: Blob(digest_bytes(text.encode()), "text/plain", text.encode()) for name, text in texts.items()}

    assert store.artifacts.keep(run.id, episode.id, files(a="one", b="two"))
    assert store.artifacts.keep(run.id, episode.id, files(a="three"))
    (kept,) = store.artifacts.of_run(run.id)
    assert (kept.name, kept.episode_id, store.blobs.get(kept.digest).data) == ("a", episode.id, b"three")
    assert store.artifacts.keep(run.id, episode.id, {})
    assert store.artifacts.of_run(run.id) == ()
    assert not store.artifacts.keep(run.id, "none", files(a="four"))
