"""The benchmark kinds of guests, as the registry opens them: `inspect:TASK`, `gym:ID` and so on."""

from mesocosm.core.failure import UsageError
from mesocosm.core.registry import declares_options
from mesocosm.core.run import BenchmarkRef
from mesocosm.guests.benchmark import GuestBenchmark
from mesocosm.guests.interpreter import python_for
from mesocosm.guests.kinds import KINDS, GuestKind
from mesocosm.guests.places import PYTHON
from mesocosm.guests.stepped import SteppedGuest


def open_guest(kind: GuestKind, ref: BenchmarkRef) -> GuestBenchmark:
    """Return the benchmark that a reference names. Raises UsageError, Incompatible."""
    python = ref.options.get(PYTHON, "")
    if not isinstance(python, str):
        raise UsageError(f"python={python!r} is no path of an interpreter")
    if not ref.source:
        raise UsageError(f"which one? Write {kind.name}:{kind.source}")
    ref = BenchmarkRef(ref.kind, *kind.located(ref.source, ref.options))
    found = python_for(kind, python)
    if kind.stepped:
        return SteppedGuest(kind, ref, found)
    return GuestBenchmark(kind, ref, found)


@declares_options(KINDS["inspect"].roles)
def open_inspect(ref: BenchmarkRef) -> GuestBenchmark:
    """Return a task of Inspect."""
    return open_guest(KINDS["inspect"], ref)


@declares_options(KINDS["lm-eval"].roles)
def open_lm_eval(ref: BenchmarkRef) -> GuestBenchmark:
    """Return tasks of lm-evaluation-harness."""
    return open_guest(KINDS["lm-eval"], ref)


@declares_options(KINDS["verifiers"].roles)
def open_verifiers(ref: BenchmarkRef) -> GuestBenchmark:
    """Return a task set of verifiers."""
    return open_guest(KINDS["verifiers"], ref)


@declares_options(KINDS["gym"].roles)
def open_gym(ref: BenchmarkRef) -> GuestBenchmark:
    """Return an environment of Gymnasium."""
    return open_guest(KINDS["gym"], ref)


@declares_options(KINDS["pettingzoo"].roles)
def open_pettingzoo(ref: BenchmarkRef) -> GuestBenchmark:
    """Return an environment of PettingZoo."""
    return open_guest(KINDS["pettingzoo"], ref)


@declares_options(KINDS["textarena"].roles)
def open_textarena(ref: BenchmarkRef) -> GuestBenchmark:
    """Return a game of TextArena."""
    return open_guest(KINDS["textarena"], ref)


@declares_options(KINDS["skyrl"].roles)
def open_skyrl(ref: BenchmarkRef) -> GuestBenchmark:
    """Return an environment of SkyRL-gym."""
    return open_guest(KINDS["skyrl"], ref)
