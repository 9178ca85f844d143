"""The tables. One definition for both dialects; the migrations build exactly this, and a test compares the two.

Ids are text, times are UNIX seconds, JSON is text as msgspec writes it. Text that identifies or sorts compares by bytes
on both dialects (SQLite does so by itself).
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

HEAD = "0001"
"""The newest revision in `migrations/versions`; opening a store compares it without importing Alembic."""

VERSION_TABLE = "mesocosm_schema"
"""Our own name, so that a PostgreSQL database may be shared with a program that keeps Alembic's default one."""

Word = Text().with_variant(Text(collation="C"), "postgresql")
Digest = String(32).with_variant(String(32, collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _usage() -> tuple[Column[int] | Column[float], ...]:
    return (
        Column("prompt_tokens", BigInteger, nullable=False),
        Column("completion_tokens", BigInteger, nullable=False),
        Column("cached_tokens", BigInteger, nullable=False),
        Column("reasoning_tokens", BigInteger, nullable=False),
        Column("cost_usd", Double),
        Column("model_calls", BigInteger, nullable=False),
    )


run_groups = Table(
    "run_groups",
    metadata,
    Column("id", Word, primary_key=True),
    Column("created_at", Double, nullable=False),
)

benchmarks = Table(
    "benchmarks",
    metadata,
    Column("id", Word, primary_key=True),
    Column("digest", Word, primary_key=True),
    Column("version", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("kind", Word, nullable=False),
    Column("first_run_at", Double, nullable=False),
)

# `cost_usd` of a run is the sum of the known costs, `cost_unknown` the number of episodes without one: only the two
# together can be counted up and stay honest. `score` repeats the primary metric for sorting. `search` holds the words
# that a text filter looks through; it stands in the index of the usual order, so that a search need not read the rows.
# The wide columns stand last, so that SQLite finds the others on the first page.
runs = Table(
    "runs",
    metadata,
    Column("id", Word, primary_key=True),
    Column("created_at", Double, nullable=False),
    Column("status", Word, nullable=False),
    Column("signature", Digest, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("group_id", Word, ForeignKey(run_groups.c.id)),
    Column("name", Text, nullable=False),
    Column("benchmark", Word, nullable=False),
    Column("benchmark_title", Text, nullable=False),
    Column("benchmark_version", Text, nullable=False),
    Column("benchmark_digest", Word, nullable=False),
    Column("kind", Word, nullable=False),
    Column("model", Word, nullable=False),
    Column("agent", Word, nullable=False),
    Column("score", Double),
    Column("planned", BigInteger, nullable=False),
    Column("completed", BigInteger, nullable=False),
    Column("truncated", BigInteger, nullable=False),
    Column("timeout", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    *_usage(),
    Column("cost_unknown", BigInteger, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("held_at", Double),
    Column("heartbeat_at", Double),
    Column("holder", Text),
    Column("stop_requested", Boolean, nullable=False),
    Column("error", Text, nullable=False),
    Column("search", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("metrics", Text, nullable=False),
    Column("warnings", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("provenance", Text, nullable=False),
    Column("info", Text, nullable=False),
    Index("ix_runs_created_at", "created_at", "id", "search"),
    Index(None, "status", "created_at", "id"),
    Index(None, "benchmark", "created_at", "id"),
    Index(None, "model", "created_at", "id"),
    Index(None, "score", "id"),
    Index(None, "signature", "attempt"),
    Index(None, "group_id"),
)

# `position` is Episode.index (a reserved word in SQL). The index of the plan also answers which keys are finished, and
# yields scores in an order that does not depend on how often a run was interrupted. `seed` is text: seeds of 64 bits
# without sign do not fit into SQL's integers. `total_reward` is NULL for NaN, which SQLite cannot hold.
episodes = Table(
    "episodes",
    metadata,
    Column("id", Word, primary_key=True),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), nullable=False),
    Column("task_digest", Digest, nullable=False),
    Column("trial", Integer, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("status", Word, nullable=False),
    Column("task_id", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("seed", Text),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("steps", BigInteger, nullable=False),
    Column("total_reward", Double),
    *_usage(),
    Column("retries", Integer, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("failure_cause", Word),
    Column("failure_boundary", Word),
    Column("failure", Text),
    Column("terminal_info", Text, nullable=False),
    UniqueConstraint("run_id", "task_digest", "trial"),
    Index("ix_episodes_plan", "run_id", "position", "task_digest", "trial", "status"),
)

UNUSUAL = text("status <> 'completed'")
"""Predicate of the index for everything that is not simply completed; a query must repeat it to use the index."""

Index(
    "ix_episodes_unusual",
    episodes.c.run_id,
    episodes.c.status,
    episodes.c.position,
    episodes.c.task_digest,
    episodes.c.trial,
    sqlite_where=UNUSUAL,
    postgresql_where=UNUSUAL,
)

scores = Table(
    "scores",
    metadata,
    Column("episode_id", Word, ForeignKey(episodes.c.id, ondelete="CASCADE"), primary_key=True),
    Column("name", Word, primary_key=True),
    Column("run_id", Word, nullable=False),
    Column("value", Double),
    Column("missing", Word),
    Column("worst", Boolean, nullable=False),
    Column("explanation", Text, nullable=False),
    sqlite_with_rowid=False,
)

event_chunks = Table(
    "event_chunks",
    metadata,
    Column("episode_id", Word, ForeignKey(episodes.c.id, ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("first_event", BigInteger, nullable=False),
    Column("last_event", BigInteger, nullable=False),
    Column("first_step", BigInteger, nullable=False),
    Column("last_step", BigInteger, nullable=False),
    Column("raw_bytes", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("ix_event_chunks_place", "episode_id", "last_event", "last_step", "first_step"),
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", Digest, primary_key=True),
    Column("content_type", Text, nullable=False),
    Column("raw_bytes", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

# Which runs need a blob: exports take these along, and the last run that is deleted takes the blob with it.
run_blobs = Table(
    "run_blobs",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("digest", Digest, ForeignKey(blobs.c.digest), primary_key=True),
    Index(None, "digest"),
    sqlite_with_rowid=False,
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("id", Word, primary_key=True),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), nullable=False),
    Column("episode_id", Word, ForeignKey(episodes.c.id, ondelete="CASCADE")),
    Column("name", Text, nullable=False),
    Column("digest", Digest, ForeignKey(blobs.c.digest), nullable=False),
    Column("created_at", Double, nullable=False),
    Index(None, "run_id", "created_at", "id"),
    Index(None, "episode_id"),
    Index(None, "digest"),
)
