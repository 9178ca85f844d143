"""The names of all tasks of lm-evaluation-harness, kept between processes: its own reading of 14,000 files is slow."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

_HEADING = re.compile(r"^#\s+(.+?)\s*$", re.MULTILINE)
_PAPER = re.compile(r"^\s*(?:Paper )?Title:\s*`?([^`\n]+?)`?\s*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FILES = frozenset({"json", "csv", "text", "parquet", "arrow"})
"""What `datasets` reads from files, as the name of a data set."""
_FORM = 4
"""The form of the kept file; another one is made anew."""


class TaskNames:
    """All tasks, groups and tags of the installed package, by name.

    Each is `{"kind", "path", "tags", "about"}`: the name of a `lm_eval.tasks._index.Kind`, the YAML file below the
    folder of the tasks (None for a tag), the tags (of a tag: its tasks), and facts for people.
    """

    def __init__(self, version: str) -> None:
        import lm_eval.tasks

        self.root = Path(lm_eval.tasks.__file__).parent
        self._version = version
        self._entries: dict[str, dict[str, Any]] | None = None

    @property
    def entries(self) -> Mapping[str, dict[str, Any]]:
        """Everything by name."""
        if self._entries is None:
            state = _state(self.root)
            file = self._file()
            kept = _kept(file)
            if kept.get("state") == state:
                self._entries = kept["entries"]
            else:
                self._entries = read_tasks(self.root)
                _keep(file, {"state": state, "entries": self._entries})
        assert self._entries is not None
        return self._entries

    def index(self) -> dict[str, Any]:
        """Return them as the index of a `TaskManager`."""
        return _Index(self)

    def catalogue(self) -> Iterator[dict[str, Any]]:
        """Yield an entry of the catalogue for each: groups, then tags, then tasks."""
        order = ("GROUP", "TAG", "TASK", "PY_TASK")
        for name, entry in sorted(self.entries.items(), key=lambda one: (order.index(one[1]["kind"]), one[0])):
            yield _shown(name, entry)

    def _file(self) -> Path:
        caches = os.environ.get("XDG_CACHE_HOME", "")
        folder = (Path(caches) if caches else Path.home() / ".cache") / "mesocosm" / "lm-eval"
        place = hashlib.sha256(str(self.root).encode()).hexdigest()[:8]
        return folder / f"tasks-{self._version}-{place}.json"


class _Index(dict[str, Any]):
    """The names as `TaskIndex.build` returns them; an entry is made when it is asked for."""

    def __init__(self, names: TaskNames) -> None:
        super().__init__()
        self._names = names

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._names.entries

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __missing__(self, name: str) -> Any:
        from lm_eval.tasks._index import Entry, Kind

        entry = self._names.entries[name]
        path = None if entry["path"] is None else self._names.root / entry["path"]
        made = self[name] = Entry(name=name, kind=Kind[entry["kind"]], yaml_path=path, tags=set(entry["tags"]))
        return made


def _state(root: Path) -> str:
    """Return a digest of the names, sizes and times of all files below a folder that tasks are read from."""
    whole = hashlib.sha256(f"{_FORM}\n".encode())
    folders = [str(root)]
    while folders:
        with os.scandir(folders.pop()) as found:
            for entry in sorted(found, key=lambda one: one.name):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.name.endswith((".pyc", ".py")):
                    facts = entry.stat()
                    whole.update(f"{entry.path}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode("utf-8", "replace"))
    return whole.hexdigest()


def _kept(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep(file: Path, content: Mapping[str, Any]) -> None:
    """Write the file whole or not at all; without it the names are only slower to find."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(number, "w") as written:
            json.dump(content, written)
        Path(name).replace(file)
    except OSError:
        return


def read_tasks(root: Path) -> dict[str, dict[str, Any]]:
    """Read all tasks below a folder, as `TaskIndex.build` does, but each included file once."""
    from lm_eval.tasks._index import TaskIndex

    reader = _Reader()
    index: dict[str, Any] = {}
    for path in TaskIndex._iter_yaml_files(root):
        try:
            TaskIndex.process_cfg(reader.load(path), path, index)
        except Exception:  # noqa: BLE001,S112 -- theirs skips unreadable files too
            continue
    return {
        name: {
            "kind": entry.kind.name,
            "path": None if entry.yaml_path is None else str(entry.yaml_path.relative_to(root)),
            "tags": sorted(entry.tags),
            "about": {} if entry.cfg is None else reader.about(entry.cfg, entry.yaml_path.parent, root),
        }
        for name, entry in index.items()
    }


class _Reader:
    def __init__(self) -> None:
        import yaml

        class Loader(getattr(yaml, "CSafeLoader", yaml.FullLoader)):  # type: ignore[misc]
            pass

        def name_of(loader: Any, node: Any) -> Any:
            return loader.construct_scalar(node)

        yaml.add_constructor("!function", name_of, Loader=Loader)
        read: Any = yaml.load
        self._read: Callable[[Path], Any] = lambda path: read(path.read_bytes(), Loader=Loader)
        self._included: dict[Path, dict[str, Any]] = {}
        self._titles: dict[Path, str] = {}

    def load(self, path: Path, seen: frozenset[Path] = frozenset()) -> dict[str, Any]:
        """Return a configuration with everything that it includes. Raises ValueError."""
        path = path.resolve()
        if path in seen:
            raise ValueError(f"{path} includes itself")
        found = self._read(path)
        if not isinstance(found, dict):
            raise TypeError(f"{path} holds no mapping")
        included = found.pop("include", None)
        if included is None:
            return found
        merged: dict[str, Any] = {}
        for name in included if isinstance(included, list) else [included]:
            place = path.parent / name
            if place not in self._included:
                self._included[place] = self.load(place, seen | {path})
            merged.update({key: value for key, value in self._included[place].items() if key != "task_list"})
        return merged | found

    def about(self, configuration: Mapping[str, Any], folder: Path, root: Path) -> dict[str, Any]:
        """Return what people want to know of a task or group."""
        said = {name: configuration.get(name) for name in ("output_type", "dataset_path", "dataset_name")}
        if isinstance(configuration.get("group"), str) and isinstance(configuration.get("task"), list):
            said["members"] = len(configuration["task"])
        said["num_fewshot"] = configuration.get("num_fewshot")
        said["download"] = said["dataset_path"] not in _FILES or "://" in str(configuration.get("dataset_kwargs"))
        said["title"] = self._title(folder, root)
        return {name: value for name, value in said.items() if isinstance(value, str | int) and value != ""}

    def _title(self, folder: Path, root: Path) -> str:
        """Return the title in the nearest README above a file, with that of its paper."""
        known = self._titles.get(folder)
        if known is None:
            try:
                text = (folder / "README.md").read_text(errors="replace")[:4000]
                heading, paper = _plain(_HEADING.search(text)), _plain(_PAPER.search(text))
                known = paper if heading in paper else ": ".join(filter(None, (heading, paper)))
            except OSError:
                known = "" if folder in {root, root.parent} else self._title(folder.parent, root)
            self._titles[folder] = known
        return known


def _plain(found: re.Match[str] | None) -> str:
    """Return a title without marks of Markdown."""
    return "" if found is None else _LINK.sub(r"\1", found[1]).strip("`* ")


def _shown(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    about = entry["about"]
    kind = {"GROUP": "group", "TAG": "tag"}.get(entry["kind"], "task")
    form = about.get("output_type", "")
    data = "/".join(str(about[key]) for key in ("dataset_path", "dataset_name") if key in about)
    words = [about.get("title", "")]
    if kind == "group" and "members" in about:
        words.append(f"{about['members']} parts")
    if kind == "tag":
        words.append(f"the tag of {len(entry['tags'])} tasks")
    if form:
        words.append(f"{form}{f' on {data}' if data else ''}")
    facts = [form] if form else []
    facts += [] if form in {"generate_until", ""} else ["logprobs"]
    return {
        "id": f"lm-eval/{name}",
        "title": about.get("title") or name,
        "description": "; ".join(word for word in words if word),
        "tasks": None,
        "needs": ["download"] if about.get("download", True) else [],
        "licence": "",
        # What the model must be able to do is no need of the machine.
        "tags": list(dict.fromkeys([kind, *facts, *(entry["tags"] if kind == "task" else ())])),
        "run": f"lm-eval:{name}",
    }
