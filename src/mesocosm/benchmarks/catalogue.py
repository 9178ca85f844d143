"""The catalogue of benchmarks: built in, installed by other packages, and in folders given by flags.

Another package offers benchmarks through an entry point of the group `mesocosm.benchmark_dirs` that loads to a folder,
or to a module in that folder. Each subfolder with a `benchmark.toml` is one benchmark.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.descriptor import FILE, Descriptor, read_descriptor
from mesocosm.core.failure import MesocosmError, UnknownName
from mesocosm.core.folder import from_home
from mesocosm.core.registry import fold, suggestion

BUILTIN = Path(__file__).with_name("builtin")
GROUP = "mesocosm.benchmark_dirs"


@dataclass(frozen=True, slots=True)
class KnownBenchmark:
    """A benchmark and the folder that describes it. `origin` is `built-in`, a distribution, or the given folder."""

    descriptor: Descriptor
    folder: Path
    origin: str

    @property
    def directory(self) -> str:
        """The name of its folder."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class UnusableFolder:
    """A folder that should hold a benchmark but has no descriptor, or one that cannot be used."""

    folder: Path
    reason: str


@dataclass(frozen=True, slots=True)
class BenchmarkCatalogue:
    """All benchmarks, sorted by id, and the folders that could not be used, with the reason."""

    benchmarks: tuple[KnownBenchmark, ...]
    uncovered: tuple[UnusableFolder, ...]

    @property
    def descriptors(self) -> list[Descriptor]:
        """The descriptors of all benchmarks."""
        return [known.descriptor for known in self.benchmarks]

    def find(self, name: str) -> KnownBenchmark:
        """Return a benchmark by id or alias, ignoring case and treating hyphen and underscore alike. Raises
        UnknownName.
        """
        for known in self.benchmarks:
            if fold(name) in map(fold, known.descriptor.names):
                return known
        names = [known.descriptor.id for known in self.benchmarks]
        raise UnknownName(
            f"no benchmark is called {name!r}{suggestion(name, names)} (`mesocosm bench list-benchmarks` lists all)"
        )


def read_catalogue(folders: Sequence[Path] = ()) -> BenchmarkCatalogue:
    """Return the benchmarks that are built in, installed, or in `folders`. On a name clash the earlier one wins.

    Raises UnknownName for a folder that does not exist.
    """
    found: dict[str, KnownBenchmark] = {}
    uncovered: list[UnusableFolder] = []
    for folder, origin in _places(folders, uncovered):
        try:
            descriptor = read_descriptor(folder)
        except MesocosmError as error:
            uncovered.append(UnusableFolder(folder, str(error)))
            continue
        taken = next((name for name in descriptor.names if fold(name) in found), None)
        if taken is not None:
            earlier = found[fold(taken)].folder
            if earlier.resolve() != folder.resolve():
                uncovered.append(UnusableFolder(folder, f"its name {taken!r} is that of a benchmark in {earlier}"))
            continue
        known = KnownBenchmark(descriptor, folder, origin)
        found |= {fold(name): known for name in descriptor.names}
    distinct = {known.descriptor.id: known for known in found.values()}
    return BenchmarkCatalogue(tuple(distinct[name] for name in sorted(distinct)), tuple(uncovered))


def _places(folders: Sequence[Path], uncovered: list[UnusableFolder]) -> Iterator[tuple[Path, str]]:
    """Yield each folder that should hold a benchmark, with its origin; broken entry points are added to `uncovered`."""
    yield from ((folder, "built-in") for folder in _inside(BUILTIN))
    for point in entry_points(group=GROUP):
        origin = point.dist.name if point.dist else "unknown"
        try:
            inside = _inside(_folder(point.load()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code; others must still be found
            reason = f"the entry point {point.name!r} of {origin} gives no folder: {type(error).__name__}: {error}"
            uncovered.append(UnusableFolder(Path(point.value), reason))
            continue
        yield from ((folder, origin) for folder in inside)
    for place in folders:
        root = from_home(place).resolve()
        if not root.is_dir():
            raise UnknownName(f"there is no folder {place}; --benchmarks-dir names one that holds benchmarks")
        inside = [root] if (root / FILE).is_file() else _inside(root)
        yield from ((folder, str(place)) for folder in inside)


def _folder(loaded: Any) -> Path:
    return Path(loaded.__file__).parent if hasattr(loaded, "__file__") else Path(loaded)


def _inside(root: Path) -> list[Path]:
    hidden = ("_", ".")
    return sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith(hidden))
