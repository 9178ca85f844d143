"""Blocks of the search index: the words of up to 2,048 episodes of a run, in pages that are read one by one.

A page holds all words whose first two letters have the same hash, sorted, and for each word the episodes that contain
it, by the places where it was said. Sets of episodes are integers: bit n is the nth episode of the block.
"""

import struct
import zlib
from array import array
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import zstandard

SIZE = 2_048
"""Positions of a plan that a block covers. More share words better; fewer are rewritten sooner while a run grows."""

_MOST = 1_500_000
"""Words, counted for each episode, after which a block ends early: it takes about 100 MB while it is made."""

_MOST_EPISODES = 65_000
"""Episodes of a block, if those of a foreign run share positions: numbers are of 16 bits."""

_PAGE = 16_384
"""Bytes of a page before compression, about. Smaller pages compress worse, larger ones take longer to search."""

_MANY = 127
"""Episodes of a word that are listed one by one; more are stored as bits."""

_LEVEL = 6
_HEAD = struct.Struct("<II")
_GROUP = struct.Struct("<BB")

Hits: TypeAlias = list[tuple[int, int]]
"""Places (bits of `search_words.Said`), each with the set of the episodes in which a word was said there."""


class BlockBuilder:
    """Collects the words of episodes."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._words: dict[int, dict[str, list[int]]] = {}
        self._count = 0

    def add(self, episode_id: str, words: Mapping[int, Collection[str]]) -> None:
        """Add an episode with its words by their places."""
        # One object for all words, to save memory and time.
        number = len(self.ids)
        for places, some in words.items():
            self._count += len(some)
            found = self._words.get(places)
            if found is None:
                found = self._words[places] = defaultdict(list)
            for word in some:
                found[word].append(number)
        self.ids.append(episode_id)

    @property
    def full(self) -> bool:
        """Whether the block should end here."""
        return self._count >= _MOST or len(self.ids) >= _MOST_EPISODES

    def pages(self) -> tuple[int, dict[int, bytes]]:
        """Return the count of pages, a power of two, and those that are not empty by number."""
        size = (len(self.ids) + 7) // 8
        found: dict[str, list[bytes]] = defaultdict(list)
        for places, words in sorted(self._words.items()):
            for word, numbers in words.items():
                found[word].append(_group(places, numbers, size))
        entries = [(word, b"".join(found[word])) for word in sorted(found)]
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

    def find(self, word: str, *, prefix: bool = False) -> Hits:
        """Return where a word, or every word that begins with it, was said."""
        key = b"\n" + word.encode("utf-8", "replace") + (b"" if prefix else b"\n")
        found: Hits = []
        place = self._words.find(key)
        if place < 0:
            return found
        number = self._words.count(b"\n", 0, place)
        start = self._start + sum(self._lengths[:number])
        while place >= 0:
            end = start + self._lengths[number]
            found += _groups(self._raw[start:end])
            place = self._words.find(key, place + 1) if prefix else -1
            # Words are sorted, so those with one prefix follow each other.
            number, start = number + 1, end
        return found


def _group(places: int, numbers: Sequence[int], size: int) -> bytes:
    """Return the episodes in which a word was said in these places: a count and their numbers (count 0: as bits)."""
    if len(numbers) <= _MANY:
        return _GROUP.pack(places, len(numbers)) + array("H", numbers).tobytes()
    return _GROUP.pack(places, 0) + size.to_bytes(4, "little") + bits(numbers).to_bytes(size, "little")


def _groups(entry: bytes) -> Hits:
    found: Hits = []
    place = 0
    while place < len(entry):
        places, count = _GROUP.unpack_from(entry, place)
        place += _GROUP.size
        if count:
            end = place + 2 * count
            found.append((places, bits(array("H", entry[place:end]))))
        else:
            size = int.from_bytes(entry[place : place + 4], "little")
            place += 4
            end = place + size
            found.append((places, int.from_bytes(entry[place:end], "little")))
        place = end
    return found


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
