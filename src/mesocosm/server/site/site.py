"""A static site of selected runs: the built web app, and the API's documents as the files that it reads.

::

    index.html frame.html assets/     the web app, configured to read files
    mesocosm-site.json .nojekyll      marker of this directory
    data/runs.json facets.json        RunPage of all runs, RunFacets
    data/runs/RUN/detail.json         RunDetail; beside it series.json and episodes-0.json, … (EpisodePage)
    data/episodes/EPISODE.json        EpisodeFile; EPISODE-1.json, … (events) and EPISODE-steps-1.json, … (StepPage)
    data/compare.json compare/        CompareFile; I-J.json for runs by index in runs.json, I-J-M.json by metric
    data/benchmarks.json benchmarks/  BenchmarkPage; 0.json, … in its order
    data/blobs/DIGEST                 large content

File names are never taken from content. Information that identifies this machine is removed (see `public`).
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mesocosm import __version__
from mesocosm.core.failure import UsageError
from mesocosm.core.run import Run
from mesocosm.server.auth.redaction import Mask
from mesocosm.server.runs.published_runs import PublishedRuns
from mesocosm.server.site.data import write_data
from mesocosm.server.web.pages import FRAME, built_viewer

MOST_EPISODES = 20_000
"""Maximum number of episodes of a site: the browser reads the rows of a whole run to filter and sort them."""
MOST_RUNS = 50

PAGE = "index.html"
STAMP = "sources.digest"
"""What the build of the web app keeps for itself; earlier sites have it too."""
MARK = "mesocosm-site.json"
OURS = frozenset({"index.html", "frame.html", "licences.txt", "assets", "data", MARK, ".nojekyll", STAMP})
KEPT = frozenset({".git", ".gitignore", ".gitattributes", "CNAME"})
"""Other files of a checkout used for publishing, which are kept."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'self'; form-action 'none'"
)
"""Content security policy, which the server sends as a header; in the page, it works with any web server."""


class Mark(msgspec.Struct, frozen=True):
    """The file that marks a directory as a site."""

    format: str = "mesocosm-site"
    version: int = 1
    mesocosm: str = __version__
    runs: tuple[str, ...] = ()


@dataclass(slots=True)
class Files:
    """Writer of a site's files; it masks paths of this machine in text."""

    root: Path
    mask: Mask
    count: int = 0
    size: int = 0

    def put(self, name: str, data: bytes, *, text: bool = True) -> None:
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self.mask(data) if text else data
        path.write_bytes(data)
        self.count += 1
        self.size += len(data)


@dataclass(frozen=True, slots=True)
class Written:
    """Totals of a written site: runs, episodes, files, bytes."""

    runs: int
    episodes: int
    files: int
    size: int


def write_site(
    published: PublishedRuns,
    directory: Path,
    *,
    viewer: Path | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Written:
    """Write a site of runs to `directory` atomically; call `progress` with the number of episodes written so far.

    Raises UsageError for a directory with other content, for runs in progress, and for more than a site can hold.
    """
    if (run := published.going_on) is not None:
        raise UsageError(f"run {run.id} is going on; wait for it, or stop it with: mesocosm run stop {run.id}")
    runs = published.runs
    _check_size(runs)
    check_place(directory)
    app = viewer or built_viewer()
    if not (app / PAGE).is_file():
        raise UsageError("the web app is not built, and a site needs it; build it with: make viewer")
    with published.copied() as (granted, mask), _replacing(directory) as draft:
        files = Files(draft, mask)
        _write_app(files, app)
        episodes = write_data(granted, [run.id for run in runs], files.put, progress)
        files.put(MARK, msgspec.json.encode(Mark(runs=tuple(run.id for run in runs))))
        # Without this file, GitHub Pages runs Jekyll, which leaves out some files and directories.
        files.put(".nojekyll", b"")
    return Written(len(runs), episodes, files.count, files.size)


def _check_size(runs: Sequence[Run]) -> None:
    total = sum(run.counts.done for run in runs)
    if total > MOST_EPISODES:
        raise UsageError(
            f"these runs have {total:,} episodes, and a site takes {MOST_EPISODES:,}, because the browser of whoever "
            "looks filters and sorts them; choose fewer or smaller runs, or hand on a bundle (mesocosm export -o "
            "NAME.zip) for `mesocosm import` and `mesocosm view`"
        )
    if len(runs) > MOST_RUNS:
        raise UsageError(f"a site takes {MOST_RUNS} runs, these are {len(runs)}; each is compared with each")


def check_place(directory: Path) -> None:
    """Raise UsageError if `directory` contains anything other than an earlier site."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UsageError(f"{directory} is not a directory; name one that is empty or does not exist yet")
    names = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
    if names <= KEPT or (names <= KEPT | OURS and _is_site(directory)):
        return
    others = sorted(names - KEPT - OURS) or sorted(names)
    raise UsageError(
        f"{directory} holds something else ({', '.join(others[:3])}), which a site would take the place of; "
        "name a directory that is empty, not there yet, or holds an earlier site"
    )


def _is_site(directory: Path) -> bool:
    try:
        mark = msgspec.json.decode((directory / MARK).read_bytes(), type=Mark)
    except (OSError, msgspec.MsgspecError):
        return False
    return mark.format == Mark().format


@contextmanager
def _replacing(directory: Path) -> Iterator[Path]:
    """Yield an empty directory that replaces `directory` if the block succeeds."""
    place = directory.absolute()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    except OSError as error:
        raise UsageError(f"{directory} cannot be written: {error.strerror}; choose another place") from error
    try:
        yield draft
        draft.chmod(0o755)
        if not place.exists():
            draft.rename(place)
            return
        for entry in [entry for entry in place.iterdir() if entry.name in KEPT]:
            entry.rename(draft / entry.name)
        before = draft.with_name(f"{draft.name}.old")
        place.rename(before)
        draft.rename(place)
        shutil.rmtree(before)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _write_app(files: Files, app: Path) -> None:
    """Copy the web app, with its page configured to read files."""
    for path in sorted(app.rglob("*")):
        name = path.relative_to(app).as_posix()
        if path.is_file() and name not in {PAGE, STAMP} and path.suffix not in {".br", ".gz", ".map"}:
            files.put(name, path.read_bytes(), text=False)
    files.put("frame.html", FRAME.encode(), text=False)
    files.put(PAGE, site_page((app / PAGE).read_text("utf-8")).encode(), text=False)


def site_page(page: str) -> str:
    """Return the web app's page for a site. Raises UsageError if the page is not a build of this web app."""
    changes = (
        (
            '<base href="/" />',
            f'<base href="./" />\n    <meta http-equiv="Content-Security-Policy" content="{POLICY}" />',
        ),
        ('id="place">{"mode":"laptop"}<', 'id="place">{"mode":"site"}<'),
    )
    for before, after in changes:
        if page.count(before) != 1:
            raise UsageError("the build of the web app is none that a site can be made of; build it again: make viewer")
        page = page.replace(before, after)
    return page
