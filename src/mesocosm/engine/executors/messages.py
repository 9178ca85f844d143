"""What a session and its workers send each other: one msgspec document for each message.

Parts of the record that may hold any JSON value (rows of episodes, tasks) travel as JSON, as they are stored.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from mesocosm.core.backoff import Backoff
from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import Episode
from mesocosm.core.failure import InfrastructureError, MesocosmError, RunAborted, UsageError
from mesocosm.core.ports import Planned
from mesocosm.core.run import Run
from mesocosm.core.usage import NOTHING, Usage


class Amount(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """An amount that model calls may spend: tokens and US dollars; None is unlimited."""

    tokens: float | None = None
    usd: float | None = None


class OpenRun(msgspec.Struct, frozen=True, tag=True):
    """Open the parts of a run, as the worker called `name`."""

    run: Run
    name: str
    backoff: Backoff


class Share(msgspec.Struct, frozen=True, tag=True):
    """Play at most `parallel` episodes at a time, and use `rate` (0 to 1) of the run's limits per minute.

    Results may wait `every` seconds for others before they are reported. `number` counts the shares of a worker; its
    reports say which is the last that it has.
    """

    parallel: int
    rate: float
    every: float
    number: int


class PlayShard(msgspec.Struct, frozen=True, tag=True):
    """Play the episodes of a shard; `episodes` is JSON, see `packed`."""

    shard: int
    episodes: bytes


class GiveBack(msgspec.Struct, frozen=True, tag=True):
    """Report the episodes that have not started as unplayed: another worker has room for them."""


class GrantBudget(msgspec.Struct, frozen=True, tag=True):
    """Spend `more`, or nothing any more because of `over`, the reason."""

    more: Amount = Amount()
    over: str = ""


class StopWork(msgspec.Struct, frozen=True, tag=True):
    """Start no further episodes; cancel the running ones after `grace` seconds, and report when all have ended."""

    grace: float


Order = OpenRun | Share | PlayShard | GiveBack | GrantBudget | StopWork


class WireEntry(msgspec.Struct, frozen=True, array_like=True):
    """A core.entry.Entry whose episode is JSON."""

    episode: bytes
    chunks: Sequence[Chunk]
    blobs: Sequence[Blob]


class EpisodeEnded(msgspec.Struct, frozen=True, array_like=True):
    """The episode with position `index` in the plan, of a shard, has ended; its last entry came before."""

    shard: int
    index: int
    episode_id: str


class WorkerReport(msgspec.Struct, omit_defaults=True, tag=True):
    """What happened since the last report.

    `running` episodes are in progress, under the share with number `share`. `leaving`: it plays what is running to its
    end, and nothing else. The episodes in `unplayed` (shard and position in the plan) are for others. `spent` is the
    usage of calls. `returned` is what was granted and is given back, `short` that calls wait for more. `down` says
    whether a server does not answer, `outages` are messages about that. `stop` is a reason to stop the run, with the
    seconds of grace in `grace`. `idle`: after StopWork, no episode is running any more.
    """

    entries: list[WireEntry] = []
    ended: list[EpisodeEnded] = []
    running: int = 0
    share: int = 0
    unplayed: list[tuple[int, int]] = []
    leaving: bool = False
    spent: Usage = NOTHING
    returned: Amount | None = None
    short: bool = False
    down: bool = False
    notices: list[str] = []
    outages: list[str] = []
    warnings: list[str] = []
    served: list[str] = []
    judge_served: list[str] = []
    stop: str = ""
    grace: float = 0.0
    idle: bool = False


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The parts are open, on the machine `host`."""

    host: str


class Broken(msgspec.Struct, frozen=True, tag=True):
    """The worker cannot go on, because of an exception of the class called `kind`."""

    kind: str
    message: str

    def error(self) -> Exception:
        """Return the exception to raise in the session."""
        return _RAISED.get(self.kind, RuntimeError)(self.message)


News = Ready | WorkerReport | Broken

_RAISED: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (RunAborted, InfrastructureError, UsageError, MesocosmError)
}
_encoder = msgspec.msgpack.Encoder()
_orders: msgspec.msgpack.Decoder[Order] = msgspec.msgpack.Decoder(Order)
_news: msgspec.msgpack.Decoder[News] = msgspec.msgpack.Decoder(News)
_json = msgspec.json.Encoder()
_planned = msgspec.json.Decoder(list[Planned])
_episode = msgspec.json.Decoder(Episode)

encode = _encoder.encode


def broken(error: BaseException) -> Broken:
    """Return the message for an exception."""
    for kind in type(error).__mro__:
        if kind.__name__ in _RAISED:
            return Broken(kind.__name__, str(error))
    return Broken("", f"{type(error).__name__}: {error}")


def decode_order(data: bytes) -> Order:
    """Return what a session sent. Raises msgspec.DecodeError."""
    return _orders.decode(data)


def decode_news(data: bytes) -> News:
    """Return what a worker sent. Raises msgspec.DecodeError."""
    return _news.decode(data)


def packed(episodes: Iterable[Planned]) -> bytes:
    """Return planned episodes as JSON."""
    return _json.encode(list(episodes))


def unpacked(data: bytes) -> list[Planned]:
    """Return what `packed` was given."""
    return _planned.decode(data)


def sent(entry: Entry) -> WireEntry:
    """Return an entry to send."""
    return WireEntry(_json.encode(entry.episode), entry.chunks, entry.blobs)


def received(entry: WireEntry) -> Entry:
    """Return an entry that was sent."""
    return Entry(_episode.decode(entry.episode), entry.chunks, entry.blobs)


@dataclass(slots=True)
class Shard:
    """Episodes that go to a worker together; `left` are those that have not ended, by their position in the plan.

    `deaths` counts the workers that ended while they had it, `deaths_alone` those that had nothing else than its only
    episode.
    """

    number: int
    left: dict[int, Planned]
    deaths: int = 0
    deaths_alone: int = 0
