"""The tables of a server: people, teams, workspaces, domains, environments, run requests, workers.

They are in the same database as runs and episodes, and empty if no server is used. The rules of `schema` apply: ids are
text (numbers for people, as older clients expect), times UNIX seconds, JSON is text. Secrets (tokens, session codes)
are stored as digests, passwords as Argon2id hashes.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from mesocosm.store.schema import Digest, Word, blobs, metadata, runs

_NO_TEXT = text("''")

# `name_key` is the casefolded name, so that names cannot differ in case alone. Incrementing `epoch`, which tokens
# carry, ends every session of a person at once. People who sign in by OIDC have a `subject` ("issuer subject"), no
# password.
users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("username", Text, nullable=False),
    Column("name_key", Word, nullable=False, unique=True),
    Column("password", Text, nullable=False, server_default=_NO_TEXT),
    Column("subject", Word, unique=True),
    Column("role", Word, nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("budget_usd", Double),
    Column("created_at", Double, nullable=False),
    Column("last_login_at", Double),
)

guests = Table(
    "guests",
    metadata,
    Column("id", Word, primary_key=True),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("address", Word, nullable=False),
    Index(None, "expires_at"),
)

# Refresh tokens (`kind` refresh) and signed-in browsers (`web`). A refresh token is used once; using it again ends its
# whole `family`.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Word, primary_key=True),
    Column("user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE"), nullable=False),
    Column("kind", Word, nullable=False),
    Column("family", Word, nullable=False),
    Column("digest", Word, nullable=False, unique=True),
    Column("label", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("used_at", Double),
    Column("ended_at", Double),
    Index(None, "family"),
    Index(None, "user_id"),
)

personal_tokens = Table(
    "personal_tokens",
    metadata,
    Column("id", Word, primary_key=True),
    Column("user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("scope", Word, nullable=False),
    Column("digest", Word, nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("last_used_at", Double),
    Index(None, "user_id"),
)

# Logins of programs that wait for a person to confirm them in a browser, and confirmed ones until the program asks.
device_logins = Table(
    "device_logins",
    metadata,
    Column("digest", Word, primary_key=True),
    Column("code_digest", Word, nullable=False, unique=True),
    Column("program", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("polled_at", Double),
    Column("state", Word, nullable=False),
    Column("user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE")),
    Column("epoch", Integer),
    Index(None, "expires_at"),
)

# Keys that sign tokens: the newest one signs, all that are not retired verify.
signing_keys = Table(
    "signing_keys",
    metadata,
    Column("id", Word, primary_key=True),
    Column("secret", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("retired_at", Double),
)

teams = Table(
    "teams",
    metadata,
    Column("id", Word, primary_key=True),
    Column("name", Text, nullable=False),
    Column("slug", Word, nullable=False, unique=True),
    Column("join_code", Word, nullable=False, unique=True),
    Column("code_at", Double, nullable=False),
    Column("budget_usd", Double),
    Column("created_at", Double, nullable=False),
)

memberships = Table(
    "memberships",
    metadata,
    Column("team_id", Word, ForeignKey(teams.c.id, ondelete="CASCADE"), primary_key=True),
    Column("user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE"), primary_key=True),
    Column("role", Word, nullable=False),
    Column("joined_at", Double, nullable=False),
    Index(None, "user_id"),
)

# A workspace: members with roles (owner, admin, member, viewer) who share repositories, datasets, secrets and runs.
# Names differ in more than case, across the server. Teams are another thing: small groups of a leaderboard.
workspaces = Table(
    "workspaces",
    metadata,
    Column("id", Word, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Word, nullable=False, unique=True),
    Column("budget_usd", Double),
    Column("created_at", Double, nullable=False),
)

workspace_members = Table(
    "workspace_members",
    metadata,
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="CASCADE"), primary_key=True),
    Column("user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE"), primary_key=True),
    Column("role", Word, nullable=False),
    Column("joined_at", Double, nullable=False),
    Index(None, "user_id"),
)

# Datasets of a workspace. `version` is the newest one that is uploaded, None before there is one. Rows are only marked
# with `deleted_at`, because runs refer to them; names of the others differ in more than case.
datasets = Table(
    "datasets",
    metadata,
    Column("id", Word, primary_key=True),
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("name_key", Word, nullable=False),
    Column("version", Integer),
    Column("created_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("deleted_at", Double),
    Index(None, "workspace_id", "name_key", unique=True, sqlite_where=text("deleted_at IS NULL")),
)

# A version of a dataset, from its first part on. `state`: uploading, processing, uploaded, error, cancelled. `digest`
# is that of the file's bytes, `rows_digest` that of its rows as they are played. `columns` says which column has which
# role, `summary` has the columns with their statistics, `preview` the first rows, `faults` what is wrong with it: JSON.
# `overwrite`: it may follow another version. `updated_at` is when its last part came. A worker checks it under a lease.
# `source` is JSON of where the rows come from if not from a file: the hub, or episodes of a run.
dataset_versions = Table(
    "dataset_versions",
    metadata,
    Column("dataset_id", Word, ForeignKey(datasets.c.id, ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("state", Word, nullable=False),
    Column("file_name", Text, nullable=False),
    Column("format", Word, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("part_size", BigInteger, nullable=False),
    Column("digest", Word, nullable=False),
    Column("rows_digest", Word, nullable=False),
    Column("rows", Integer),
    Column("columns", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("preview", Text, nullable=False),
    Column("faults", Text, nullable=False),
    Column("overwrite", Boolean, nullable=False),
    Column("created_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Column("tries", Integer, nullable=False),
    Column("source", Text, nullable=False, server_default=_NO_TEXT),
    Index(None, "state", "updated_at"),
)

# The bytes of a version in parts of `part_size`, numbered from 1. Each part is a blob.
dataset_parts = Table(
    "dataset_parts",
    metadata,
    Column("dataset_id", Word, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", Digest, ForeignKey(blobs.c.digest), nullable=False),
    Column("size", BigInteger, nullable=False),
    Index(None, "digest"),
    ForeignKeyConstraint(
        ["dataset_id", "version"],
        ["dataset_versions.dataset_id", "dataset_versions.version"],
        ondelete="CASCADE",
        name="fk_dataset_parts_dataset_id_version",
    ),
)

# Rows that the check of a version adds to the newest one that is uploaded then: JSON lines, in parts as above.
dataset_additions = Table(
    "dataset_additions",
    metadata,
    Column("dataset_id", Word, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", Digest, ForeignKey(blobs.c.digest), nullable=False),
    Column("size", BigInteger, nullable=False),
    Index(None, "digest"),
    ForeignKeyConstraint(
        ["dataset_id", "version"],
        ["dataset_versions.dataset_id", "dataset_versions.version"],
        ondelete="CASCADE",
        name="fk_dataset_additions_dataset_id_version",
    ),
)

# Secrets of a workspace. `holder` is `workspace`, or `user:ID` for one that only the runs of that member get, instead
# of the workspace's of the same name. `value` is encrypted with a key that is not in the database.
workspace_secrets = Table(
    "workspace_secrets",
    metadata,
    Column("id", Word, primary_key=True),
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="CASCADE"), nullable=False),
    Column("holder", Word, nullable=False),
    Column("name", Word, nullable=False),
    Column("value", Text, nullable=False),
    Column("created_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("used_at", Double),
    UniqueConstraint("workspace_id", "holder", "name"),
)

# The Git repository of a workspace. `identity` is host/owner/repo, `folder` the workspace's place in it, `branch` the
# one that is followed. `syncs` is the number of the newest sync. `checked_at` is when polling last asked for new
# commits, `error` what went wrong then. Rows are only marked with `deleted_at`, because runs refer to their syncs.
repositories = Table(
    "repositories",
    metadata,
    Column("id", Word, primary_key=True),
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="CASCADE"), nullable=False),
    Column("identity", Word, nullable=False),
    Column("url", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("syncs", Integer, nullable=False),
    Column("checked_at", Double),
    Column("error", Text, nullable=False),
    Column("created_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    Column("deleted_at", Double),
    Column("status_error", Text, nullable=False, server_default=_NO_TEXT),
    Index(None, "workspace_id", unique=True, sqlite_where=text("deleted_at IS NULL")),
    Index(None, "identity"),
)

# The workspace directory at a commit: `digest` is that of the blob that lists its files, which are blobs too.
snapshots = Table(
    "snapshots",
    metadata,
    Column("digest", Digest, ForeignKey(blobs.c.digest), primary_key=True),
    Column("files", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False),
)

snapshot_blobs = Table(
    "snapshot_blobs",
    metadata,
    Column("snapshot", Digest, ForeignKey(snapshots.c.digest, ondelete="CASCADE"), primary_key=True),
    Column("digest", Digest, ForeignKey(blobs.c.digest), primary_key=True),
    Index(None, "digest"),
    sqlite_with_rowid=False,
)

# A workspace directory that somebody uploaded. `digest` is that of its snapshot, `snapshot` the same once all of it is
# there; until then the contents that have come are in `snapshot_upload_blobs`. `repository`, `branch` and `commit_id`
# say where it came from, `changes` is the patch of what was not committed. What was found in it is JSON.
snapshot_uploads = Table(
    "snapshot_uploads",
    metadata,
    Column("id", Word, primary_key=True),
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="CASCADE"), nullable=False),
    Column("digest", Digest, nullable=False),
    Column("snapshot", Digest, ForeignKey(snapshots.c.digest)),
    Column("repository", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("commit_id", Word, nullable=False),
    Column("dirty", Boolean, nullable=False),
    Column("changes", Text, nullable=False),
    Column("rollouts", Text, nullable=False),
    Column("configurations", Text, nullable=False),
    Column("faults", Text, nullable=False),
    Column("created_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    Column("completed_at", Double),
    Index(None, "workspace_id", "digest"),
    Index(None, "snapshot"),
)

snapshot_upload_blobs = Table(
    "snapshot_upload_blobs",
    metadata,
    Column("upload_id", Word, ForeignKey(snapshot_uploads.c.id, ondelete="CASCADE"), primary_key=True),
    Column("digest", Digest, ForeignKey(blobs.c.digest), primary_key=True),
    Index(None, "digest"),
    sqlite_with_rowid=False,
)

# A sync of a repository. `wanted` is the commit that was asked for, empty for the newest of `branch`. `cause`: push,
# poll, hand, submit. `state`: pending, syncing, success, failed. `rollouts`, `configurations` and `faults` are what was
# found: JSON. A worker does it under a lease.
syncs = Table(
    "syncs",
    metadata,
    Column("repository_id", Word, ForeignKey(repositories.c.id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("branch", Text, nullable=False),
    Column("wanted", Word, nullable=False),
    Column("cause", Word, nullable=False),
    Column("state", Word, nullable=False),
    Column("commit_id", Word, nullable=False),
    Column("author", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("committed_at", Double),
    Column("snapshot", Digest, ForeignKey(snapshots.c.digest)),
    Column("rollouts", Text, nullable=False),
    Column("configurations", Text, nullable=False),
    Column("faults", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("requested_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Column("tries", Integer, nullable=False),
    Index(None, "state", "created_at"),
    Index(None, "repository_id", "commit_id"),
    Index(None, "snapshot"),
)

# `document` is what clients see (server.schemas.domain.Domain); `environment_id` is set if a submission created it.
domains = Table(
    "domains",
    metadata,
    Column("id", Word, primary_key=True),
    Column("owner_id", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("environment_id", Word),
    Column("status", Word, nullable=False),
    Column("name", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index(None, "status", "created_at"),
    Index(None, "owner_id"),
    Index(None, "environment_id"),
)

# Submitted environments. `source` is the normalised URL; `version` counts submissions; `ready_version` is the newest
# one that was built, so that a failed resubmission leaves the working one in service. `holder_key` is `user:ID` or
# `team:ID`: one row per source and owner. Rows are only marked with `deleted_at`, because old runs refer to them.
environments = Table(
    "environments",
    metadata,
    Column("id", Word, primary_key=True),
    Column("holder_key", Word, nullable=False),
    Column("owner_id", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("team_id", Word, ForeignKey(teams.c.id, ondelete="SET NULL")),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("source", Word, nullable=False),
    Column("ref", Text, nullable=False),
    Column("folder", Word, nullable=False),
    Column("status", Word, nullable=False),
    Column("error", Text, nullable=False),
    Column("domain_id", Word),
    Column("domain_history", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("ready_version", Integer),
    Column("created_at", Double, nullable=False),
    Column("resubmitted_at", Double),
    Column("deleted_at", Double),
    Index(None, "holder_key", "source", "folder"),
    Index(None, "domain_id"),
    Index(None, "status"),
)

# One submission of an environment. `state`: queued, cloning, checking, installing, testing, ready, failed. `manifest`
# is benchanything.json at `commit_id`, `digest` covers all files that can change its behaviour. `verdict` is the report
# of `mesocosm check`, as submitted by its author. A worker builds it under a lease.
environment_versions = Table(
    "environment_versions",
    metadata,
    Column("environment_id", Word, ForeignKey(environments.c.id, ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("state", Word, nullable=False),
    Column("source", Text, nullable=False),
    Column("ref", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("commit_id", Word, nullable=False),
    Column("manifest", Text, nullable=False),
    Column("manifest_path", Text, nullable=False),
    Column("digest", Word, nullable=False),
    Column("error", Text, nullable=False),
    Column("log", Text, nullable=False),
    Column("submitted_by", Integer),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Column("tries", Integer, nullable=False),
    Column("verdict", Text, nullable=False, server_default=_NO_TEXT),
    Index(None, "state", "created_at"),
)

# The tables `orders`, `jobs` and `attempts` keep the names of their first release, although the code calls them run
# requests, batch runs and rate limits: the names are only visible in SQL, and views, backups and users' queries use
# them. Submitted runs: owner, visibility, and the worker executing them. `kind`: environment, rollout, benchmark,
# imported. `actor` is `user:ID`, `guest:ID` or `system:WORD`. `purpose`: run, test, full_bench. `state`: queued,
# claimed, ended, cancelled. `config` is what was asked for, as JSON. `protocol` is the version of the domain's protocol
# for an official run. `domain_id` and `vow_version` are empty for other kinds than environments.
#
# Runs of a workspace have a `name`, which no other run of it has. `configuration` is the path of the configuration
# file, `snapshot` the code with its `commit_id` and `branch`, empty if it is not that of a commit.
requests = Table(
    "orders",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("actor", Word, nullable=False),
    Column("actor_name", Text, nullable=False),
    Column("team_id", Word, ForeignKey(teams.c.id, ondelete="SET NULL")),
    Column("domain_id", Word, nullable=False),
    Column("environment_id", Word),
    Column("environment_version", Integer),
    Column("vow_version", Word, nullable=False),
    Column("model", Word, nullable=False),
    Column("visibility", Word, nullable=False),
    Column("purpose", Word, nullable=False),
    Column("job_id", Word),
    Column("config", Text, nullable=False),
    Column("state", Word, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("expires_at", Double),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Column("tries", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("protocol", Integer),
    Column("kind", Word, nullable=False, server_default=text("'environment'")),
    Column("workspace_id", Word),
    Column("name", Word, nullable=False, server_default=_NO_TEXT),
    Column("commit_id", Word, nullable=False, server_default=_NO_TEXT),
    Column("branch", Word, nullable=False, server_default=_NO_TEXT),
    Column("configuration", Word, nullable=False, server_default=_NO_TEXT),
    Column("dataset_id", Word),
    Column("dataset_version", Integer),
    Column("snapshot", Digest),
    Index(None, "workspace_id", "name", unique=True, sqlite_where=text("name <> ''")),
    Index(None, "workspace_id", "created_at"),
    Index(None, "dataset_id"),
    Index(None, "snapshot"),
    Index(None, "state", "created_at"),
    Index(None, "actor", "created_at"),
    Index(None, "team_id", "created_at"),
    Index(None, "domain_id", "visibility"),
    Index(None, "environment_id"),
    Index(None, "job_id"),
)

# What the programs of a run print, in pieces numbered from 1.
run_output = Table(
    "run_output",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("text", Text, nullable=False),
)

# Runs that were played elsewhere and are pushed here: uploads of their bundles. `source` is the id of the run where it
# was played, on the machine `host`; `run_id` is the run here, NULL until it is stored. `state`: uploading, processing,
# imported, error. `digest` is that of the bundle, `faults` what is wrong with it: JSON. `updated_at` is when its last
# part came. A worker checks it under a lease. `evaluation` is JSON about a run of osmosis-ai, which comes as the files
# of its folder instead; otherwise it is empty.
run_imports = Table(
    "run_imports",
    metadata,
    Column("id", Word, primary_key=True),
    Column("actor", Word, nullable=False),
    Column("actor_name", Text, nullable=False),
    Column("team_id", Word, ForeignKey(teams.c.id, ondelete="SET NULL")),
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="SET NULL")),
    Column("visibility", Word, nullable=False),
    Column("source", Word, nullable=False),
    Column("host", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("part_size", BigInteger, nullable=False),
    Column("digest", Word, nullable=False),
    Column("state", Word, nullable=False),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE")),
    Column("faults", Text, nullable=False),
    Column("evaluation", Text, nullable=False, server_default=_NO_TEXT),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Column("tries", Integer, nullable=False),
    Index(None, "actor", "source"),
    Index(None, "state", "updated_at"),
    Index(None, "run_id"),
)

# The bytes of a bundle in parts of `part_size`, numbered from 1, until its run is stored. Each part is a blob.
run_import_parts = Table(
    "run_import_parts",
    metadata,
    Column("import_id", Word, ForeignKey(run_imports.c.id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", Digest, ForeignKey(blobs.c.digest), nullable=False),
    Column("size", BigInteger, nullable=False),
    Index(None, "digest"),
)

# Runs of workspaces whose end is still to be announced to the workspace's notifications. The row is deleted in the
# transaction that queues their messages; resuming a run adds it again.
unannounced_runs = Table(
    "unannounced_runs",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
)

# Runs of commits whose Git host is still to be told how they are. `sent` is empty, or `pending` once the host knows
# that there is a run; the row is deleted after its end was told. A worker tells it under a lease.
commit_statuses = Table(
    "commit_statuses",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("sent", Word, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", Double, nullable=False),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Index(None, "next_at"),
)

# Evaluation runs that are submitted by themselves: at the times of `cron` in `timezone` (`trigger` cron), or after each
# sync with a new commit of the branch (sync). `branch` is empty for the one that the workspace follows. `overrides` is
# JSON. `created_by` is the member whose runs they are. `next_at` is NULL while it is paused, and for syncs.
schedules = Table(
    "schedules",
    metadata,
    Column("id", Word, primary_key=True),
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="CASCADE"), nullable=False),
    Column("name", Word, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("overrides", Text, nullable=False),
    Column("trigger", Word, nullable=False),
    Column("cron", Text, nullable=False),
    Column("timezone", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    Column("next_at", Double),
    Column("last_at", Double),
    Column("last_run", Word),
    Column("last_fault", Text, nullable=False),
    UniqueConstraint("workspace_id", "name"),
    Index(None, "next_at"),
)

# Runs that schedules owe. A run is submitted once with the id of its row, however many workers try it. `commit_id` is
# empty until it is chosen. `state`: pending, submitted, refused. A worker submits it under a lease.
scheduled_runs = Table(
    "scheduled_runs",
    metadata,
    Column("id", Word, primary_key=True),
    Column("schedule_id", Word, ForeignKey(schedules.c.id, ondelete="CASCADE"), nullable=False),
    Column("run_id", Word),
    Column("commit_id", Word, nullable=False),
    Column("due_at", Double, nullable=False),
    Column("state", Word, nullable=False),
    Column("fault", Text, nullable=False),
    Column("retry_at", Double),
    Column("ended_at", Double),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Column("tries", Integer, nullable=False),
    Index(None, "run_id"),
    Index(None, "schedule_id", "due_at"),
    Index(None, "state", "due_at"),
)

# Addresses outside that are told how runs of a workspace end. The URL, which may be a credential, and the secret that
# signs are among `workspace_secrets`; `host` is what may be shown of the URL. `events` is JSON.
notifications = Table(
    "notifications",
    metadata,
    Column("id", Word, primary_key=True),
    Column("workspace_id", Word, ForeignKey(workspaces.c.id, ondelete="CASCADE"), nullable=False),
    Column("name", Word, nullable=False),
    Column("host", Text, nullable=False),
    Column("format", Word, nullable=False),
    Column("events", Text, nullable=False),
    Column("created_by", Integer, ForeignKey(users.c.id, ondelete="SET NULL")),
    Column("created_at", Double, nullable=False),
    UniqueConstraint("workspace_id", "name"),
)

# Messages to notifications. The id goes with every attempt, so that a receiver recognises a message that it has.
# `status` and `answer` are those of the last attempt. `state`: pending, delivered, failed. A worker sends it under a
# lease.
deliveries = Table(
    "notification_deliveries",
    metadata,
    Column("id", Word, primary_key=True),
    Column("notification_id", Word, ForeignKey(notifications.c.id, ondelete="CASCADE"), nullable=False),
    Column("event", Word, nullable=False),
    Column("run_id", Word),
    Column("body", Text, nullable=False),
    Column("state", Word, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("status", Integer),
    Column("answer", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("next_at", Double),
    Column("ended_at", Double),
    Column("claimed_by", Word),
    Column("lease_until", Double),
    Index(None, "state", "next_at"),
    Index(None, "notification_id", "created_at"),
)

# Rules for official runs of a domain: server.schemas.protocol.Protocol. Rows are never changed.
protocols = Table(
    "protocols",
    metadata,
    Column("domain_id", Word, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("terms", Text, nullable=False),
    Column("created_by", Word, nullable=False),
    Column("created_at", Double, nullable=False),
)

# Deleted runs, which leaderboards still count as attempts. `declared`: declared public before the run began.
deleted_runs = Table(
    "deleted_runs",
    metadata,
    Column("run_id", Word, primary_key=True),
    Column("actor", Word, nullable=False),
    Column("team_id", Word),
    Column("domain_id", Word, nullable=False),
    Column("vow_version", Word, nullable=False),
    Column("model", Word, nullable=False),
    Column("protocol", Integer),
    Column("declared", Boolean, nullable=False),
    Column("deleted_at", Double, nullable=False),
    Index(None, "domain_id"),
)

# Batch runs: several models on one environment.
batch_runs = Table(
    "jobs",
    metadata,
    Column("id", Word, primary_key=True),
    Column("environment_id", Word, nullable=False),
    Column("domain_id", Word),
    Column("user_id", Integer),
    Column("status", Word, nullable=False),
    Column("source", Text, nullable=False),
    Column("results", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("completed_at", Double),
    Column("claimed_by", Word),
    Index(None, "status", "created_at"),
)

# `slots` is how many episodes of environments and rollouts a worker plays at once at most, `busy` how many it does.
workers = Table(
    "workers",
    metadata,
    Column("id", Word, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column("capacity", Integer, nullable=False),
    Column("running", Integer, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("heartbeat_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("lag_s", Double),
    Column("slots", Integer, nullable=False, server_default=text("0")),
    Column("busy", Integer, nullable=False, server_default=text("0")),
)

# A place in a run for a process that helps to play it. `holder` is the process that offers it, and works on the run.
# `helper` is a secret of the process that has taken it, under a lease; `name` is how it is called. One that has left
# says when and why.
seats = Table(
    "seats",
    metadata,
    Column("id", Word, primary_key=True),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), nullable=False),
    Column("holder", Text, nullable=False),
    Column("helper", Word),
    Column("name", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("offered_at", Double, nullable=False),
    Column("lease_until", Double),
    Column("left_at", Double),
    Index(None, "run_id"),
)

# What the two processes of a seat send each other, numbered from 1 in each direction, until it is read.
seat_messages = Table(
    "seat_messages",
    metadata,
    Column("seat_id", Word, ForeignKey(seats.c.id, ondelete="CASCADE"), primary_key=True),
    Column("to_helper", Boolean, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

# Attempts per period: login, join, guest creation. Shared by all servers of a database.
attempts = Table(
    "attempts",
    metadata,
    Column("key", Word, primary_key=True),
    Column("stretch", BigInteger, primary_key=True, autoincrement=False),
    Column("count", Integer, nullable=False),
    Column("until", Double, nullable=False),
    Index(None, "until"),
    sqlite_with_rowid=False,
)

# The time until which an actor has to wait before the next run.
cooldowns = Table(
    "cooldowns",
    metadata,
    Column("actor", Word, primary_key=True),
    Column("until", Double, nullable=False),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", Word, primary_key=True),
    Column("at", Double, nullable=False),
    Column("actor", Word, nullable=False),
    Column("action", Word, nullable=False),
    Column("object", Word, nullable=False),
    Column("detail", Text, nullable=False),
    Column("address", Text, nullable=False),
    Index(None, "at"),
    Index(None, "object", "at"),
)

TABLES = (
    *(users, guests, sessions, personal_tokens, device_logins, signing_keys),
    *(teams, memberships, workspaces, workspace_members),
    *(datasets, dataset_versions, dataset_parts, dataset_additions, workspace_secrets),
    *(repositories, snapshots, snapshot_blobs, syncs),
    *(snapshot_uploads, snapshot_upload_blobs),
    *(commit_statuses, unannounced_runs, schedules, scheduled_runs, notifications, deliveries),
    *(domains, environments),
    *(
        environment_versions,
        requests,
        run_output,
        protocols,
        deleted_runs,
        batch_runs,
        workers,
        seats,
        seat_messages,
        attempts,
        cooldowns,
        audit_log,
    ),
)
"""All tables, in an order in which they can be created."""
