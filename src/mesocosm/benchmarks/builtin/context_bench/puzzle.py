"""Facts with codes, a question about one of them, and misleading facts of the same form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

_CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"
_PLACES = [
    "boathouse",
    "greenhouse",
    "observatory",
    "bakery",
    "library",
    "armoury",
    "infirmary",
    "granary",
    "chapel",
    "workshop",
    "cellar",
    "stable",
    "watchtower",
    "laundry",
    "printing house",
    "ice house",
]
_TOWNS = [
    "Aldmere",
    "Brekholt",
    "Corvane",
    "Dunfell",
    "Eskarra",
    "Farrowby",
    "Glimsund",
    "Harwick",
    "Istrel",
    "Jorvath",
    "Kelmsley",
    "Lorne Bay",
    "Marrowdale",
    "Norrund",
    "Ostrava Ford",
    "Pellgate",
]
_FIRST = "Ada|Boris|Celia|Dario|Edda|Felix|Greta|Hugo|Irma|Jonas|Karin|Leon|Mona|Nils|Olga|Pavel|Rosa|Sven|Tilda|Viktor"
_LAST = "Achterberg|Bellweather|Cormack|Dunaway|Eastman|Fairholm|Grieg|Hallorann|Ibsen|Jarvis|Kestrel|Lindqvist|Moreau"
_ITEMS = [
    "silver compass",
    "ivory chessboard",
    "green ledger",
    "glass violin",
    "bronze astrolabe",
    "velvet cloak",
    "amber necklace",
    "leather atlas",
    "jade seal",
    "crystal inkwell",
    "ebony flute",
    "pewter goblet",
]
_HOUSES = [
    "Heron Lodge",
    "Thistle Court",
    "Amber House",
    "Raven Hall",
    "Willow Manor",
    "Lantern Inn",
    "Quarry Cottage",
    "Falcon Tower",
    "Juniper Farm",
    "Compass Villa",
    "Marble Arcade",
    "Orchard Mews",
]
TRADES = (
    ("spends every clear night watching stars through a telescope", "the astronomer"),
    ("bakes loaves and rolls long before sunrise", "the person who makes bread"),
    ("mends shoes and boots beside the old fountain", "the cobbler"),
    ("pulls aching teeth for a silver coin", "the dentist"),
    ("puts out burning barns with hose and bucket", "the firefighter"),
    ("shaves beards and trims hair on the square", "the barber"),
    ("catches herring and cod with a patched net", "the fisher"),
    ("cures sick cows and lame horses", "the veterinarian"),
    ("defends accused people before the judges", "the lawyer"),
    ("carves figures out of marble blocks", "the sculptor"),
    ("digs coal deep below the hills", "the miner"),
    ("sews coats and gowns to measure", "the tailor"),
)
"""An occupation, and a paraphrase that shares no word with it."""
HOLDINGS = (
    ("receives letters in pigeonhole {code}", "Into which mailbox does correspondence for {who} go?"),
    ("parks a bicycle at stand {code}", "Which rack holds the two-wheeler owned by {who}?"),
    ("hides savings inside strongbox {code}", "Which safe contains the money put aside by {who}?"),
    ("rents lodgings behind door {code}", "Which apartment is occupied by {who}?"),
)
"""Where a person's object is, and a question about it that shares no word."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """`facts` lead to the answer, which the last one holds; `rivals` and `distractors` are facts of the same form.

    Each of the `rivals` holds another code. Without the question the codes are indistinguishable.
    """

    question: str
    answer: str
    facts: tuple[str, ...]
    rivals: tuple[str, ...]
    distractors: tuple[str, ...] = ()


def code(rng: Random) -> str:
    """Return a random code of four letters and four digits, one of 1.6 billion."""
    return "".join(rng.choices(_CONSONANTS, k=4)) + "-" + "".join(rng.choices("0123456789", k=4))


def _codes(rng: Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[code(rng)] = None
    return list(found)


def _people(rng: Random, count: int) -> list[str]:
    firsts, lasts = _FIRST.split("|"), _LAST.split("|")
    return [f"{first} {rng.choice(lasts)}" for first in rng.sample(firsts, count)]


def needle(rng: Random) -> Puzzle:
    """Return a literal question; each of three places has a different code in each of three towns."""
    places, towns = rng.sample(_PLACES, 3), rng.sample(_TOWNS, 3)
    spots = [(place, town) for place in places for town in towns]
    codes = _codes(rng, len(spots))
    facts = [
        f"The access code of the {place} in {town} is {word}." for (place, town), word in zip(spots, codes, strict=True)
    ]
    question = f"What is the access code of the {places[0]} in {towns[0]}?"
    return Puzzle(question, codes[0], (facts[0],), tuple(facts[1:]))


def semantic(rng: Random) -> Puzzle:
    """Return a question that paraphrases its fact; all five people own the same two kinds of things."""
    trades, people = rng.sample(TRADES, 5), _people(rng, 5)
    holdings = rng.sample(HOLDINGS, 2)
    codes = _codes(rng, len(people) * len(holdings))
    owners = [(name, trade[0], held) for held, _ in holdings for name, trade in zip(people, trades, strict=True)]
    facts = [
        f"{name}, who {does}, {held.format(code=word)}." for (name, does, held), word in zip(owners, codes, strict=True)
    ]
    return Puzzle(holdings[0][1].format(who=trades[0][1]), codes[0], (facts[0],), tuple(facts[1:]))


def two_hops(rng: Random) -> Puzzle:
    """Return a question about a thing, its keeper, and the keeper's code."""
    items, people, codes = rng.sample(_ITEMS, 8), _people(rng, 8), _codes(rng, 8)
    chains = [
        (f"The {item} was handed over to {name}.", f"The locker of {name} opens with the code {word}.")
        for item, name, word in zip(items, people, codes, strict=True)
    ]
    return _chained(f"Which code opens the locker of whoever was given the {items[0]}?", codes[0], chains)


def three_hops(rng: Random) -> Puzzle:
    """Return a question about a thing, its keeper, the keeper's house, and the code of the house."""
    items, people, codes = rng.sample(_ITEMS, 8), _people(rng, 8), _codes(rng, 8)
    chains = [
        (
            f"The {item} was handed over to {name}.",
            f"Since last year {name} has been living at {house}.",
            f"The door of {house} opens with the code {word}.",
        )
        for item, name, house, word in zip(items, people, rng.sample(_HOUSES, 8), codes, strict=True)
    ]
    question = f"Which code opens the door of the house where the keeper of the {items[0]} lives?"
    return _chained(question, codes[0], chains)


def _chained(question: str, answer: str, chains: Sequence[tuple[str, ...]]) -> Puzzle:
    rivals = tuple(chain[-1] for chain in chains[1:])
    return Puzzle(question, answer, chains[0], rivals, tuple(fact for chain in chains[1:] for fact in chain[:-1]))


FAMILIES: dict[str, Callable[[Random], Puzzle]] = {
    "needle": needle,
    "semantic": semantic,
    "multi_hop_2": two_hops,
    "multi_hop_3": three_hops,
}
"""Generators of the question families by name."""
