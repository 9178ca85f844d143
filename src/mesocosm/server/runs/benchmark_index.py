"""The benchmarks of this installation, and which of their requirements this machine lacks."""

import os
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mesocosm.benchmarks.catalogue import BenchmarkCatalogue, KnownBenchmark, read_catalogue
from mesocosm.benchmarks.descriptor import Descriptor
from mesocosm.benchmarks.parameters import settle
from mesocosm.benchmarks.requirements import missing
from mesocosm.core.folder import from_home

KEPT_S = 60.0
"""Seconds for which the catalogue and the check of requirements are cached."""

PATIENCE_S = 0.1
"""Seconds that a request waits for the check of requirements: docker may take three seconds to fail."""


@dataclass(frozen=True, slots=True)
class Found:
    """A benchmark of the catalogue, and for each of its requirements what is missing (empty: nothing).

    `each` is None until the requirements have been checked.
    """

    known: KnownBenchmark
    each: tuple[str, ...] | None

    @property
    def descriptor(self) -> Descriptor:
        """The benchmark's descriptor."""
        return self.known.descriptor

    @property
    def lacking(self) -> list[str] | None:
        """What is missing, without duplicates; None until the requirements have been checked."""
        return None if self.each is None else [*dict.fromkeys(sentence for sentence in self.each if sentence)]

    @property
    def command(self) -> str:
        """The command that runs the benchmark."""
        words = ["mesocosm", "bench", "run", "--benchmarks", self.descriptor.id]
        if from_home(self.known.origin) in (self.known.folder, self.known.folder.parent):
            words += ["--benchmarks-dir", self.known.origin]
        return f"{shlex.join(words)} --model builtin/random"


@dataclass(frozen=True, slots=True)
class _Look:
    """A check of a benchmark's requirements, and the clock's time until which its result is valid."""

    work: "Future[tuple[str, ...]]"
    until: float


class BenchmarkIndex:
    """The catalogue of an installation. Thread-safe; nothing is read before the first call."""

    def __init__(
        self,
        folders: Sequence[Path] = (),
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders = tuple(folders)
        self._environ = environ
        self._clock = clock
        self._catalogue: tuple[float, BenchmarkCatalogue] | None = None
        self._looks: dict[str, _Look] = {}
        self._former: dict[str, tuple[str, ...]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def known(self) -> tuple[KnownBenchmark, ...]:
        """Return all benchmarks, by id; reading them takes some 40 ms, at most once a minute."""
        with self._lock:
            now = self._clock()
            if self._catalogue is None or now >= self._catalogue[0]:
                self._catalogue = (now + KEPT_S, read_catalogue(self._folders))
            return self._catalogue[1].benchmarks

    def found(self, known: Sequence[KnownBenchmark]) -> list[Found]:
        """Return benchmarks with what they lack, as far as that is known within `PATIENCE_S`."""
        works = [self._look(one) for one in known]
        end = self._clock() + PATIENCE_S
        return [Found(one, self._wait(one, work, end)) for one, work in zip(known, works, strict=True)]

    def close(self) -> None:
        """Cancel the checks of requirements without waiting for a running one; the next call starts them again."""
        with self._lock:
            pool, self._pool = self._pool, None
            self._looks.clear()
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _look(self, known: KnownBenchmark) -> "Future[tuple[str, ...]]":
        name = str(known.folder)
        with self._lock:
            look = self._looks.get(name)
            if look is None or (look.work.done() and self._clock() >= look.until):
                if look is not None and look.work.exception() is None:
                    self._former[name] = look.work.result()
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="requirements")
                look = _Look(self._pool.submit(_lacking, known, self._environ), self._clock() + KEPT_S)
                self._looks[name] = look
            return look.work

    def _wait(self, known: KnownBenchmark, work: "Future[tuple[str, ...]]", end: float) -> tuple[str, ...] | None:
        try:
            return work.result(max(end - self._clock(), 0))
        except TimeoutError:
            return self._former.get(str(known.folder))


class EmptyBenchmarkIndex(BenchmarkIndex):
    """An index without benchmarks, for lists that show only benchmarks with runs."""

    def known(self) -> tuple[KnownBenchmark, ...]:
        """Return an empty tuple."""
        return ()


def _lacking(known: KnownBenchmark, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is missing for each requirement of a benchmark with default parameters; empty if nothing is."""
    descriptor = known.descriptor
    (settings,) = settle([descriptor], {}, [descriptor])
    alone = (descriptor.model_copy(update={"requirement": (one,)}) for one in descriptor.requirement)
    found = (missing(KnownBenchmark(one, known.folder, known.origin), settings.parameters, environ) for one in alone)
    return tuple("; ".join(sentences) for sentences in found)
