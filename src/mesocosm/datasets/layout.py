"""Map the files of a hub dataset to configurations and splits, by its card, otherwise by file names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.datasets.hub import HubListing
from mesocosm.datasets.reading import format_of

__all__ = ["chosen_files"]

_SHARD = re.compile(r"(.*?)[-_.](\d{5})-of-(\d{5})(?:-[0-9a-f]+)?")
_PREFERRED = ("parquet", "jsonl", "json", "csv", "tsv")

Splits = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The files of each split of each configuration of a dataset; `default` is its default configuration."""

    subject: str
    configs: Mapping[str, Splits]
    default: str = ""


def chosen_files(subject: str, listing: HubListing, config: str, split: str) -> tuple[str, ...]:
    """Return the data files of a split, sorted by name, in one format if there are several.

    An empty `config` or `split` selects the only one (or the default configuration). Raise UsageError if there is more
    than one, no data file or a missing shard, UnknownName for an unknown name; both list the available names.
    """
    data = [file for file in listing.files if format_of(PurePosixPath(file)) and not _is_hidden(file)]
    if not data:
        raise UsageError(f"{subject} holds no file in a format that is read (CSV, TSV, JSON, JSONL, parquet)")
    choice = _from_card(subject, listing.card, data) or _from_names(subject, data)
    splits = choice.configs[_one("config", subject, choice.configs, config, choice.default)]
    files = splits[_one("split", subject, splits, split)]
    kinds = {format_of(PurePosixPath(file)) for file in files}
    kind = next(kind for kind in _PREFERRED if kind in kinds)
    files = sorted(file for file in files if format_of(PurePosixPath(file)) == kind)
    _check_whole(subject, files)
    return tuple(files)


def _is_hidden(file: str) -> bool:
    return any(part.startswith(".") for part in file.split("/"))


def _one(what: str, subject: str, offered: Mapping[str, Any], named: str, default: str = "") -> str:
    listed = ", ".join(sorted(offered)[:20]) + (", …" if len(offered) > 20 else "")
    if named:
        close = [name for name in offered if named in re.split(r"[-_.]", name)]
        if named in offered or len(close) == 1:
            return named if named in offered else close[0]
        raise UnknownName(f"{subject} has no {what} {named!r}; it has {listed}")
    if len(offered) == 1:
        return next(iter(offered))
    if default in offered:
        return default
    raise UsageError(f"{subject} has several {what}s ({listed}); name one, like {what} = {min(offered)!r}")


def _from_card(subject: str, card: Mapping[str, Any], files: Sequence[str]) -> _Choice | None:
    listed = card.get("configs")
    configs: dict[str, Splits] = {}
    default = ""
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("config_name"), str):
            continue
        splits = _card_splits(entry.get("data_files"), files)
        if splits:
            configs[entry["config_name"]] = splits
        if entry.get("default") is True or (entry["config_name"] == "default" and not default):
            default = entry["config_name"]
    return _Choice(subject, configs, default) if configs else None


def _card_splits(said: Any, files: Sequence[str]) -> Splits:
    entries = said if isinstance(said, list) else [said]
    splits: Splits = {}
    for entry in entries:
        name = str(entry.get("split", "train")) if isinstance(entry, dict) else "train"
        patterns = entry.get("path") if isinstance(entry, dict) else entry
        found = _matching(patterns if isinstance(patterns, list) else [patterns], files)
        if found:
            splits.setdefault(name, []).extend(found)
    return splits


def _matching(patterns: Iterable[Any], files: Sequence[str]) -> list[str]:
    rules = [_rule(pattern) for pattern in patterns if isinstance(pattern, str)]
    return [file for file in files if any(rule.fullmatch(file) for rule in rules)]


def _rule(pattern: str) -> re.Pattern[str]:
    spelled = ""
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./")):
        spelled += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece))
    return re.compile(spelled + ("(?:/.*)?" if "*" not in pattern else ""))


def _from_names(subject: str, files: Sequence[str]) -> _Choice:
    configs: dict[str, Splits] = {}
    for file in files:
        *folders, name = file.split("/")
        stem = name.split(".")[0] if not (shard := _SHARD.match(name)) else shard[1]
        if stem.isdigit() and folders:
            stem = folders.pop()
        config = "/".join(folder for folder in folders if folder != "data") or "default"
        configs.setdefault(config, {}).setdefault(stem, []).append(file)
    return _Choice(subject, configs, "default")


def _check_whole(subject: str, files: Sequence[str]) -> None:
    """Raise UsageError if shards are missing: offline, only files downloaded before are listed."""
    for file in files:
        shard = _SHARD.match(PurePosixPath(file).name)
        if shard and int(shard[3]) != len(files):
            raise UsageError(f"{subject}: only {len(files)} of the {int(shard[3])} files like {file} are there")
