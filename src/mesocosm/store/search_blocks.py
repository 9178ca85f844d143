"""Blocks of the search index: the words of up to 2,048 episodes of a run, in pages that are read one by one.

A page holds all words whose first two letters have the same hash, sorted, and for each word the episodes that contain
it, by the places where it was said. Sets of episodes are integers: bit n is the nth episode of the block.
"""

import struct
import zlib
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

import zstandard

SIZE = 2_048
"""Positions of a plan that a block covers. More share words better; fewer are rewritten sooner while a run grows."""

_MOST = 1_500_000
"""Words, counted for each episode, after which a block ends early: it takes about 100 MB while it is made."""

_MOST_EPISODES = 65_000
"""Episodes of a block, if those of a foreign run share positions: numbers are of 16 bits."""

_PAGE = 16_384
"""Bytes of a page before compression, about. Smaller pages compress worse, larger ones take longer to search."""

_LEVEL = 6
_HEAD = struct.Struct("<II")
_LISTED, _MAPPED = b"\x00", b"\x01"


class BlockBuilder:
    """Collects the words of episodes."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._words: dict[str, list[int]] = defaultdict(list)
        self._count = 0

    def add(self, episode_id: str, words: Mapping[str, int]) -> None:
        """Add an episode with its words and their places."""
        found = self._words
        # One object for all words with the same places, to save memory and time.
        numbers = {places: len(self.ids) << 8 | places for places in set(words.values())}
        for word, places in words.items():
            found[word].append(numbers[places])
        self.ids.append(episode_id)
        self._count += len(words)

    @property
    def full(self) -> bool:
        """Whether the block should end here."""
        return self._count >= _MOST or len(self.ids) >= _MOST_EPISODES

    def pages(self) -> tuple[int, dict[int, bytes]]:
        """Return the count of pages, a power of two, and those that are not empty by number."""
        entries = [(word, _entry(self._words[word], len(self.ids))) for word in sorted(self._words)]
        room = sum(len(word) + len(entry) + 5 for word, entry in entries)
        count = 1 << (room // _PAGE).bit_length()
        paged: dict[int, list[tuple[str, bytes]]] = defaultdict(list)
        for entry in entries:
            paged[page_number(entry[0], count)].append(entry)
        pack = zstandard.ZstdCompressor(level=_LEVEL).compress
        return count, {number: pack(_page(some)) for number, some in paged.items()}


def page_number(word: str, count: int) -> int:
    """Return which of `count` pages holds the words with the first two letters of `word`."""
    return zlib.crc32(word[:2].encode("utf-8", "replace")) & (count - 1)


class PageReader:
    """Finds words in a page."""

    def __init__(self, data: bytes) -> None:
        raw = zstandard.ZstdDecompressor().decompress(data)
        letters, number = _HEAD.unpack_from(raw)
        start = _HEAD.size + letters
        self._words = raw[_HEAD.size : start]
        self._lengths = array("I", raw[start : start + 4 * number])
        self._start = start + 4 * number
        self._raw = raw

    def find(self, word: str, *, prefix: bool = False) -> "list[WordReader]":
        """Return where a word, or each word that begins with it, was said."""
        key = b"\n" + word.encode("utf-8", "replace") + (b"" if prefix else b"\n")
        found: list[WordReader] = []
        place = self._words.find(key)
        if place < 0:
            return found
        number = self._words.count(b"\n", 0, place)
        start = self._start + sum(self._lengths[:number])
        while place >= 0:
            end = start + self._lengths[number]
            found.append(WordReader(self._raw[start:end]))
            place = self._words.find(key, place + 1) if prefix else -1
            # Words are sorted, so those with one prefix follow each other.
            number, start = number + 1, end
        return found


class WordReader:
    """Tells in which episodes of a block a word was said."""

    def __init__(self, entry: bytes) -> None:
        self._numbers: array[int] | None = None
        if entry[:1] == _MAPPED:
            self._places = entry[1:]
            return
        count = len(entry) // 3
        self._places = entry[1 : 1 + count]
        numbers = bytearray(2 * count)
        numbers[::2], numbers[1::2] = entry[1 + count : 1 + 2 * count], entry[1 + 2 * count :]
        self._numbers = array("H", bytes(numbers))

    def episodes(self, places: int) -> int:
        """Return the set of episodes in which the word was said in one of these places (bits of `SaidIn`)."""
        here = self._places.translate(_of_places(places))
        if self._numbers is None:
            return int(here[::-1], 2)
        return bits([number for number, there in zip(self._numbers, here, strict=True) if there == _YES])


_YES = ord("1")


@cache
def _of_places(places: int) -> bytes:
    """Return the table that turns bits of places into 1 for those among `places`, else 0, as digits."""
    return bytes(_YES if bits & places else ord("0") for bits in range(256))


def _entry(numbers: Sequence[int], episodes: int) -> bytes:
    """Return the episodes of a word, given as numbers with their places in the lowest byte.

    All places first, then all lower and all upper bytes of numbers: this compresses better, and needs no loop. A word
    of more than a quarter of all episodes has the places of every episode instead, 0 for those that do not say it.
    """
    if 4 * len(numbers) > episodes > 64:
        mapped = bytearray(episodes)
        for number in numbers:
            mapped[number >> 8] = number & 255
        return _MAPPED + bytes(mapped)
    raw = array("I", numbers).tobytes()
    return b"".join((_LISTED, raw[::4], raw[1::4], raw[2::4]))


def bits(numbers: Sequence[int]) -> int:
    """Return a set of episodes, given by their numbers in order, as bits."""
    if not numbers:
        return 0
    found = bytearray(numbers[-1] // 8 + 1)
    for number in numbers:
        found[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(found, "little")


def numbers_of(found: int) -> list[int]:
    """Return the numbers of a set of episodes, in order."""
    numbers = []
    while found:
        low = found & -found
        numbers.append(low.bit_length() - 1)
        found ^= low
    return numbers


def _page(entries: Sequence[tuple[str, bytes]]) -> bytes:
    words = b"\n" + b"".join(word.encode("utf-8", "replace") + b"\n" for word, _entry in entries)
    lengths = array("I", [len(entry) for _word, entry in entries])
    return b"".join((_HEAD.pack(len(words), len(entries)), words, lengths.tobytes(), *(e for _word, e in entries)))
