"""List and download files of datasets on the Hugging Face hub at a fixed commit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.core.failure import Incompatible, UnknownName, UsageError

__all__ = ["HubDataset", "HubListing", "HubReference", "download", "list_files"]

_WHOLE = re.compile(r"[0-9a-f]{40}")
_PREFIX = re.compile(r"[0-9a-f]{6,39}")
_REFERENCE = re.compile(
    r"hf:(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[^:]+))?(?P<parts>(?::[^:]*){0,2})", re.ASCII
)
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HubDataset:
    """Files of a dataset on the Hugging Face hub: repository, revision, paths.

    The hub accepts full commit ids and branch names; the first 6 or more digits of a commit id are resolved here.
    """

    repository: str
    revision: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HubReference:
    """A dataset on the hub in one word, `hf:ORG/NAME[@REVISION][:CONFIG][:SPLIT]`; a single part may be either.

    `parts` are what stands behind the colons.
    """

    repository: str
    revision: str
    parts: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> "HubReference":
        """Return the reference that a word is. Raises UsageError."""
        found = _REFERENCE.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{text!r} is no dataset of the hub; write hf:ORG/NAME, or hf:ORG/NAME@REVISION:CONFIG:SPLIT"
            )
        parts = found["parts"].split(":")[1:]
        return cls(found["name"], found["revision"] or "", tuple(parts))

    def choices(self) -> tuple[tuple[str, str], ...]:
        """Return the configuration and the split that the parts may mean, the likelier first."""
        if len(self.parts) == 2:
            return ((self.parts[0], self.parts[1]),)
        if not self.parts or not self.parts[0]:
            return (("", ""),)
        return (("", self.parts[0]), (self.parts[0], ""))


@dataclass(frozen=True, slots=True)
class HubListing:
    """The files of a dataset at a commit, and the metadata of its card. `cached`: only files downloaded before."""

    commit: str
    files: tuple[str, ...]
    card: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = False


def download(subject: str, hub: HubDataset, remedy: str) -> list[Path]:
    """Return the paths of the files, from the cache if they are all in it.

    Raise Incompatible, which ends with `remedy`, if they cannot be downloaded.
    """
    try:
        import httpx
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
    except ImportError as error:
        raise Incompatible(subject, [_without_package(remedy)]) from error
    unreachable = (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, httpx.HTTPError, OSError, ValueError)
    try:
        return _downloaded(hub)
    except unreachable as error:
        reason = (
            f"its data (dataset {hub.repository} at {hub.revision[:8]}) cannot be fetched from the Hugging Face hub: "
            f"{_first_line(error)}; {remedy}"
        )
        raise Incompatible(subject, [reason]) from error


def list_files(repository: str, revision: str, remedy: str) -> HubListing:
    """Return the listing of a dataset at a revision (a commit, branch or tag; empty for the newest commit).

    If the hub does not respond, list the files downloaded before. Raise UnknownName for an unknown dataset or revision,
    UsageError for an invalid id, Incompatible if access is restricted or if the hub does not respond and no files of
    this revision were downloaded before.
    """
    try:
        import httpx
        from huggingface_hub import HfApi
        from huggingface_hub.errors import (
            GatedRepoError,
            HfHubHTTPError,
            HFValidationError,
            OfflineModeIsEnabled,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ImportError as error:
        raise Incompatible(repository, [_without_package(remedy)]) from error
    try:
        whole = _revision(HubDataset(repository, revision, ()))
        info = HfApi().dataset_info(repository, revision=whole or None, timeout=_SECONDS)
    except HFValidationError as error:
        raise UsageError(f"{repository!r} is not an id of a dataset: {_first_line(error)}") from error
    except RevisionNotFoundError as error:
        raise UnknownName(f"{repository}: the Hugging Face hub has no revision {revision} of it") from error
    except GatedRepoError as error:
        raise Incompatible(
            repository, [f"its owner asks for consent: {_first_line(error)}; then set HF_TOKEN"]
        ) from error
    except RepositoryNotFoundError as error:
        what = f"{repository} is not a dataset on the Hugging Face hub (for a private one set HF_TOKEN); {remedy}"
        raise UnknownName(what) from error
    except (HfHubHTTPError, OfflineModeIsEnabled, httpx.HTTPError, OSError, ValueError) as error:
        known = _cached(repository, revision or "main")
        if known is None:
            reason = f"it cannot be looked up on the Hugging Face hub: {_first_line(error)}; {remedy}"
            raise Incompatible(repository, [reason]) from error
        return known
    card = vars(info.card_data) if info.card_data else {}
    return HubListing(str(info.sha), tuple(sorted(file.rfilename for file in info.siblings or ())), card)


def _without_package(remedy: str) -> str:
    return f"its data is on the Hugging Face hub; pip install 'mesocosm[hub]', or {remedy}"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _folder(repository: str) -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    return Path(HF_HUB_CACHE, repo_folder_name(repo_id=repository, repo_type="dataset"))


def _cached(repository: str, revision: str) -> HubListing | None:
    """Return the cached files of a revision, None if there are none."""
    folder = _folder(repository)
    known = folder / "refs" / revision
    commit = known.read_text().strip() if known.is_file() else revision
    place = folder / "snapshots" / commit
    if not _WHOLE.fullmatch(commit) or not place.is_dir():
        found = [path for path in (folder / "snapshots").glob(f"{revision}*") if _PREFIX.fullmatch(revision)]
        if len(found) != 1:
            return None
        place = found[0]
    files = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    return HubListing(place.name, tuple(files), cached=True) if files else None


def _downloaded(hub: HubDataset) -> list[Path]:
    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    revision = _revision(hub)

    def place(file: str, *, cached: bool) -> Path:
        found = hf_hub_download(
            hub.repository, file, revision=revision, repo_type="dataset", etag_timeout=_SECONDS, local_files_only=cached
        )
        return Path(found)

    try:
        return [place(file, cached=True) for file in hub.files]
    except LocalEntryNotFoundError:
        # Without a server, downloads retry for half a minute; this request fails at once.
        HfApi().dataset_info(hub.repository, revision=revision, timeout=_SECONDS)
        return [place(file, cached=False) for file in hub.files]


def _revision(hub: HubDataset) -> str:
    """Return the full commit id for a prefix, from the cache, otherwise from the hub; other revisions unchanged.

    Raise ValueError unless exactly one commit matches.
    """
    if not _PREFIX.fullmatch(hub.revision):
        return hub.revision
    from huggingface_hub import HfApi

    cached = _folder(hub.repository) / "snapshots"
    known = [folder.name for folder in cached.glob(f"{hub.revision}*")]
    if not known:
        commits = HfApi().list_repo_commits(hub.repository, repo_type="dataset")
        known = [commit.commit_id for commit in commits if commit.commit_id.startswith(hub.revision)]
    whole = [name for name in known if _WHOLE.fullmatch(name)]
    if len(whole) != 1:
        raise ValueError(f"{len(whole)} commits of it begin with {hub.revision}")
    return whole[0]
