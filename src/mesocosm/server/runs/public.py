"""Runs as they may be published: without what tells of the machine that they were made on."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import mesocosm
from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelName
from mesocosm.core.run import BenchmarkRef, Run

_PRIVATE = frozenset({"command", "host", "holder", "user", "cwd", "changes", "files"})
"""Entries of a run's provenance that stay at home."""
_OPTIONS = frozenset({"env_url", "explicit_env_url", "pass_env"})
_SHORTEST = 6
"""Shorter paths (`/root`, `/srv`) are words that any text may have."""


def public(run: Run) -> Run:
    """Return a run without command line, process, addresses of its model and adapter, and paths of its files."""
    spec, model = run.spec, run.spec.model
    return msgspec.structs.replace(
        run,
        model=_model(run.model),
        holder=None,
        stop_requested=False,
        provenance={name: value for name, value in run.provenance.items() if name not in _PRIVATE},
        spec=msgspec.structs.replace(
            spec,
            benchmark=_benchmark(spec.benchmark),
            model=msgspec.structs.replace(model, name=_model(model.name), cache=Path(model.cache).name),
        ),
    )


def _benchmark(ref: BenchmarkRef) -> BenchmarkRef:
    options: dict[str, Any] = {name: value for name, value in ref.options.items() if name not in _OPTIONS}
    source = re.split(r"[/\\]", ref.source)[-1] if _is_path(ref.source) else ref.source
    return BenchmarkRef(ref.kind, source, options)


def _model(name: str) -> str:
    """Return a model's name without its address, and of a file only the last part."""
    try:
        parsed = ModelName.parse(name)
    except UsageError:  # a name from elsewhere
        return name
    return ModelName(parsed.provider, parsed.model).shown()


def _addresses(run: Run) -> list[str]:
    with suppress(UsageError):
        return [ModelName.parse(run.spec.model.name).base_url]
    return []


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", "\\\\")) or re.match(r"[A-Za-z]:[/\\]", text) is not None


def _installed() -> Iterator[Path]:
    """Yield where Python and this package are: paths in tracebacks begin with them."""
    package = Path(mesocosm.__file__).absolute().parent
    # In a checkout the package is in `src`; elsewhere its neighbours are other packages.
    yield package.parents[1] if package.parent.name == "src" else package.parent
    yield Path(sys.prefix)


@dataclass(frozen=True, slots=True)
class Mask:
    """Takes what tells of this machine out of text: what was recorded may name it anywhere, as tracebacks do."""

    pattern: re.Pattern[bytes] | None

    @classmethod
    def of(cls, runs: Sequence[Run], places: Iterable[Path]) -> "Mask":
        """Return a mask for the person's home, this installation, what runs were made from and with, and `places`."""
        sources = [Path(run.spec.benchmark.source).parent for run in runs if _is_path(run.spec.benchmark.source)]
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - unlike Path.home() it never fails
        found = {str(path.absolute()) for path in [home, *_installed(), *sources, *places]}
        found.update(address for run in runs for address in _addresses(run))
        words = sorted((path for path in found if len(path) >= _SHORTEST), key=len, reverse=True)
        listed = b"|".join(re.escape(word.encode("utf-8", "surrogateescape")) for word in words)
        return cls(re.compile(b"(?:" + listed + rb")(?![\w.-])") if words else None)

    def __call__(self, data: bytes) -> bytes:
        """Return `data` with `…` in place of each of these paths."""
        return data if self.pattern is None else self.pattern.sub("…".encode(), data)
