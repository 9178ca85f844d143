"""The benchmark kinds of guests, as the registry opens them: `inspect:TASK`, `gym:ID` and so on."""

from mesocosm.core.failure import UsageError
from mesocosm.core.registry import OptionRoles, declares_options
from mesocosm.core.run import BenchmarkRef
from mesocosm.guests.benchmark import PYTHON, GuestBenchmark
from mesocosm.guests.interpreter import python_for
from mesocosm.guests.kinds import KINDS, GuestKind
from mesocosm.guests.stepped import SteppedGuest


def open_guest(kind: GuestKind, ref: BenchmarkRef) -> GuestBenchmark:
    """Return the benchmark that a reference names. Raises UsageError, Incompatible."""
    python = ref.options.get(PYTHON, "")
    if not isinstance(python, str):
        raise UsageError(f"python={python!r} is no path of an interpreter")
    if not ref.source:
        raise UsageError(f"which one? Write {kind.name}:{kind.source}")
    found = python_for(kind, python)
    if kind.stepped:
        return SteppedGuest(kind, ref, found)
    return GuestBenchmark(kind, ref, found)


_local = declares_options(OptionRoles(local=frozenset({PYTHON})))


@_local
def open_inspect(ref: BenchmarkRef) -> GuestBenchmark:
    """Return a task of Inspect."""
    return open_guest(KINDS["inspect"], ref)


@_local
def open_lm_eval(ref: BenchmarkRef) -> GuestBenchmark:
    """Return tasks of lm-evaluation-harness."""
    return open_guest(KINDS["lm-eval"], ref)


@_local
def open_verifiers(ref: BenchmarkRef) -> GuestBenchmark:
    """Return a task set of verifiers."""
    return open_guest(KINDS["verifiers"], ref)


@_local
def open_gym(ref: BenchmarkRef) -> GuestBenchmark:
    """Return an environment of Gymnasium."""
    return open_guest(KINDS["gym"], ref)


@_local
def open_pettingzoo(ref: BenchmarkRef) -> GuestBenchmark:
    """Return an environment of PettingZoo."""
    return open_guest(KINDS["pettingzoo"], ref)


@_local
def open_textarena(ref: BenchmarkRef) -> GuestBenchmark:
    """Return a game of TextArena."""
    return open_guest(KINDS["textarena"], ref)


@_local
def open_skyrl(ref: BenchmarkRef) -> GuestBenchmark:
    """Return an environment of SkyRL-gym."""
    return open_guest(KINDS["skyrl"], ref)
