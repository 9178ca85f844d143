"""Files of datasets on the Hugging Face hub, at the commit that is meant and no other."""

import re
from dataclasses import dataclass
from pathlib import Path

from mesocosm.core.failure import Incompatible

_WHOLE = re.compile(r"[0-9a-f]{40}")
_PREFIX = re.compile(r"[0-9a-f]{6,39}")
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Hub:
    """Files of a dataset on the Hugging Face hub: repository, the commit that is meant, paths inside.

    The hub itself takes whole commit ids and names of branches; the first digits of an id are looked up here.
    """

    repository: str
    revision: str
    files: tuple[str, ...]


def download(subject: str, hub: Hub) -> list[Path]:
    """Return the files, from the cache where they are in it. Raises Incompatible where they cannot be had."""
    try:
        import httpx
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
    except ImportError as error:
        reason = (
            "its data is on the Hugging Face hub; pip install 'mesocosm[hub]', or name a file with the knob data_path"
        )
        raise Incompatible(subject, [reason]) from error
    try:
        return _downloaded(hub)
    except (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        httpx.HTTPError,
        OSError,
        ValueError,
    ) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        reason = (
            f"its data (dataset {hub.repository} at {hub.revision[:8]}) cannot be fetched from the Hugging Face hub: "
            f"{said}; name a file with the knob data_path"
        )
        raise Incompatible(subject, [reason]) from error


def _downloaded(hub: Hub) -> list[Path]:
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
        # Downloads are repeated for half a minute where nobody listens; this question is asked once.
        HfApi().dataset_info(hub.repository, revision=revision, timeout=_SECONDS)
        return [place(file, cached=False) for file in hub.files]


def _revision(hub: Hub) -> str:
    """Return the whole id of a commit that is named by its first digits: as cached, else as the hub lists it."""
    if not _PREFIX.fullmatch(hub.revision):
        return hub.revision
    from huggingface_hub import HfApi
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    cached = Path(HF_HUB_CACHE, repo_folder_name(repo_id=hub.repository, repo_type="dataset"), "snapshots")
    known = [folder.name for folder in cached.glob(f"{hub.revision}*")]
    if not known:
        commits = HfApi().list_repo_commits(hub.repository, repo_type="dataset")
        known = [commit.commit_id for commit in commits if commit.commit_id.startswith(hub.revision)]
    whole = [name for name in known if _WHOLE.fullmatch(name)]
    if len(whole) != 1:
        raise ValueError(f"{len(whole)} commits of it begin with {hub.revision}")
    return whole[0]
