"""The store: all data of runs and of a server, in one SQLite file or one PostgreSQL database."""

import os
from collections.abc import Callable, Sequence

from mesocosm.core.episode import Episode
from mesocosm.core.run import LeaseOwner
from mesocosm.store.audit import Audit
from mesocosm.store.batch_runs import BatchRuns
from mesocosm.store.benchmarks import Benchmarks
from mesocosm.store.blobs import Artifacts, Blobs
from mesocosm.store.bundle import Bundles
from mesocosm.store.changes import Changes
from mesocosm.store.commit_statuses import CommitStatuses
from mesocosm.store.counts import ServerCounts
from mesocosm.store.database import PATIENCE, Database, open_database
from mesocosm.store.datasets import Datasets
from mesocosm.store.device_logins import DeviceLogins
from mesocosm.store.domains import Domains, Protocols
from mesocosm.store.environments import Environments
from mesocosm.store.episodes import Episodes
from mesocosm.store.groups import Groups
from mesocosm.store.journal import SqlJournal
from mesocosm.store.leaderboards import Leaderboards
from mesocosm.store.leases import Leases
from mesocosm.store.legacy_views import LegacyViews
from mesocosm.store.models import Models
from mesocosm.store.notifications import Deliveries, Notifications
from mesocosm.store.objects import URL_VARIABLE, open_objects
from mesocosm.store.personal_tokens import PersonalTokens
from mesocosm.store.queue import RunQueue
from mesocosm.store.rate_limits import RateLimits
from mesocosm.store.repositories import Syncs, WorkspaceRepositories
from mesocosm.store.reviews import Reviews
from mesocosm.store.run_imports import RunImports
from mesocosm.store.run_output import RunOutput
from mesocosm.store.run_requests import RunRequests
from mesocosm.store.runs import Runs
from mesocosm.store.saved_views import SavedViews
from mesocosm.store.schedules import ScheduledRuns, Schedules
from mesocosm.store.search import Search
from mesocosm.store.seats import Seats
from mesocosm.store.sessions import Sessions, SigningKeys
from mesocosm.store.snapshot_uploads import SnapshotUploads
from mesocosm.store.snapshots import Snapshots
from mesocosm.store.teams import Teams
from mesocosm.store.traces import Traces
from mesocosm.store.usage import QuotaUsage, Usages
from mesocosm.store.users import Guests, Users
from mesocosm.store.verification import Verification
from mesocosm.store.workers import Workers
from mesocosm.store.workspace_secrets import WorkspaceSecrets
from mesocosm.store.workspaces import Workspaces
from mesocosm.store.writer import Writer


class Store:
    """A database as one object per noun. Implements core.ports.EngineStore. Methods block and are thread-safe."""

    def __init__(self, database: Database) -> None:  # noqa: PLR0915 -- one statement for each noun
        self.database = database
        self.runs: Runs = Runs(database)
        self.leases: Leases = Leases(database)
        self.changes: Changes = Changes(database)
        self.seats: Seats = Seats(database)
        self.groups: Groups = Groups(database)
        self.benchmarks: Benchmarks = Benchmarks(database)
        self.episodes: Episodes = Episodes(database)
        self.traces: Traces = Traces(database)
        self.search: Search = Search(database, self.runs)
        self.blobs: Blobs = Blobs(database)
        self.artifacts: Artifacts = Artifacts(database)
        self.reviews: Reviews = Reviews(database)
        self.bundles: Bundles = Bundles(database, self.episodes, self.traces)
        self.verification: Verification = Verification(database, self.traces)
        self.saved_views: SavedViews = SavedViews(database)
        self.legacy_views: LegacyViews = LegacyViews(database)
        # Data of a server besides runs.
        self.models: Models = Models(database)
        self.users: Users = Users(database)
        self.guests: Guests = Guests(database)
        self.sessions: Sessions = Sessions(database)
        self.personal_tokens: PersonalTokens = PersonalTokens(database)
        self.device_logins: DeviceLogins = DeviceLogins(database)
        self.signing_keys: SigningKeys = SigningKeys(database)
        self.rate_limits: RateLimits = RateLimits(database)
        self.audit: Audit = Audit(database)
        self.teams: Teams = Teams(database)
        self.workspace_secrets: WorkspaceSecrets = WorkspaceSecrets(database)
        self.workspaces: Workspaces = Workspaces(database)
        self.datasets: Datasets = Datasets(database)
        self.repositories: WorkspaceRepositories = WorkspaceRepositories(database)
        self.syncs: Syncs = Syncs(database)
        self.commit_statuses: CommitStatuses = CommitStatuses(database)
        self.schedules: Schedules = Schedules(database)
        self.scheduled_runs: ScheduledRuns = ScheduledRuns(database)
        self.notifications: Notifications = Notifications(database)
        self.deliveries: Deliveries = Deliveries(database)
        self.snapshots: Snapshots = Snapshots(database)
        self.snapshot_uploads: SnapshotUploads = SnapshotUploads(database)
        self.domains: Domains = Domains(database)
        self.protocols: Protocols = Protocols(database)
        self.environments: Environments = Environments(database)
        self.run_requests: RunRequests = RunRequests(database)
        self.run_output: RunOutput = RunOutput(database)
        self.run_imports: RunImports = RunImports(database)
        self.queue: RunQueue = RunQueue(database)
        self.batch_runs: BatchRuns = BatchRuns(database)
        self.workers: Workers = Workers(database)
        self.leaderboards: Leaderboards = Leaderboards(database)
        self.counts: ServerCounts = ServerCounts(database)
        self.usage: Usages = Usages(database)
        self.quota_usage: QuotaUsage = QuotaUsage(database)

    @property
    def place(self) -> str:
        """The file, or the URL without its password, for messages."""
        return self.database.place

    @property
    def view(self) -> str:
        """Cache key for answers over all runs: the database, since a store shows everything in it."""
        return self.place

    def journal(
        self,
        run_id: str,
        holder: LeaseOwner,
        committed: Callable[[Sequence[Episode]], None],
        stop: Callable[[], None],
    ) -> SqlJournal:
        """Open the writer of a run that `holder` has leased. Raises RunLeased if it has not.

        `committed` receives finished episodes once they are durable, `stop` is called when a stop of the run was
        requested; both are called from the writer's thread.
        """
        return SqlJournal(Writer(self.database, run_id, holder), committed, stop)

    def close(self) -> None:
        """Close connections."""
        self.database.close()


def open_store(
    place: str | os.PathLike[str], *, create: bool = True, patience: float = PATIENCE, blob_url: str = ""
) -> Store:
    """Open the store in a results directory, a SQLite file or at a PostgreSQL URL, and migrate an older schema.

    `patience` is how many seconds an operation retries on a locked file or a lost server. If `create` is False, a place
    without results raises UnknownName. Large content goes to the object store `blob_url`, by default that of
    MESOCOSM_BLOB_URL, else into the database. Raises UsageError, InfrastructureError.
    """
    url = blob_url or os.environ.get(URL_VARIABLE, "")
    objects = open_objects(url) if url else None
    database = open_database(place, create=create, patience=patience)
    database.objects = objects
    return Store(database)
