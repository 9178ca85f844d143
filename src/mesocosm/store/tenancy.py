"""The tables of a platform: who there is, what belongs to whom, what is to be built and run.

They lie in the same database as runs and episodes, empty where no server is run. The same rules hold as in
`schema`: ids are text (people's are numbers, as older clients know them), times UNIX seconds, JSON is text. Secrets
(tokens, codes of sessions) are kept as digests; passwords as Argon2id.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    text,
)

from mesocosm.store.schema import Word, metadata, runs

_NO_TEXT = text("''")

# `name_key` is the name without case: two people cannot differ by that alone. `epoch` counts up to end every session of
# a person at once; tokens carry it. Who comes by OIDC has a `subject` ("issuer subject") and no password.
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

# Refresh tokens (`kind` refresh) and browsers that are signed in (`web`). A refresh token is used once; whoever brings
# a used one ends its whole `family`.
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

# What tokens are signed with: the newest signs, all that are not retired verify.
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

# `document` is what clients see (server.schemas.domain.Domain); `environment_id` where a submission made it.
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

# What people submitted. `source` is the normalised URL; `version` counts submissions; `ready_version` is the newest one
# that could be built, so that a failed resubmission leaves the working one in service. `holder_key` is `user:ID` or
# `team:ID`: one row for each source and owner. `deleted_at` keeps old runs pointing somewhere.
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
# is benchanything.json as it was at `commit_id`, `digest` that of all files that can change its behaviour. `verdict` is
# what `mesocosm check` found, as its author submitted it. A worker builds it under a lease.
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
# requests, batch runs and rate limits: only SQL shows these names, and views, backups and people's queries have them.
# Submitted runs: their owner, who may see them, and which worker plays them. `actor` is
# `user:ID`, `guest:ID` or `system:WORD`. `purpose`: run, test, full_bench. `state`: queued, claimed, ended, cancelled.
# `config` is a RunConfig as JSON. `protocol` is the version of the
# domain's protocol that an official run is played by.
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
    Index(None, "state", "created_at"),
    Index(None, "actor", "created_at"),
    Index(None, "team_id", "created_at"),
    Index(None, "domain_id", "visibility"),
    Index(None, "environment_id"),
    Index(None, "job_id"),
)

# How official runs of a domain are played: server.schemas.protocol.Protocol. Rows are never changed.
protocols = Table(
    "protocols",
    metadata,
    Column("domain_id", Word, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("terms", Text, nullable=False),
    Column("created_by", Word, nullable=False),
    Column("created_at", Double, nullable=False),
)

# What a leaderboard has to know of runs that were deleted: that there was one. `declared` says that it was to be shown
# to everybody before it began.
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

# Full benches: several models on one environment.
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
)

# How often something was tried in a stretch of time: login, join, guest creation. Shared by all servers of a database.
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

# Until when an actor has to wait before the next run.
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
    *(users, guests, sessions, personal_tokens, signing_keys, teams, memberships, domains, environments),
    *(environment_versions, requests, protocols, deleted_runs, batch_runs, workers, attempts, cooldowns, audit_log),
)
"""All of them, in an order in which they can be made."""
