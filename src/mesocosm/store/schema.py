"""The tables. One definition for both dialects; a test checks that the migrations create exactly this.

Ids are text, times are UNIX seconds, JSON is text as msgspec writes it. Text that identifies or sorts is compared by
bytes in both dialects (SQLite does so by default).
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    false,
    text,
)

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


@event.listens_for(metadata, "before_create")
def _restrict_indexes(made: MetaData, connection: Connection, **_: Any) -> None:
    """Copy the WHERE of partial indexes from SQLite to PostgreSQL.

    Declaring it in the index would import that dialect.
    """
    if connection.dialect.name == "postgresql":
        for index in (index for table in made.tables.values() for index in table.indexes):
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]


def _usage() -> tuple[Column[int] | Column[float], ...]:
    return (
        Column("prompt_tokens", BigInteger, nullable=False),
        Column("completion_tokens", BigInteger, nullable=False),
        Column("cached_tokens", BigInteger, nullable=False),
        Column("reasoning_tokens", BigInteger, nullable=False),
        Column("cost_usd", Double),
        Column("model_calls", BigInteger, nullable=False),
    )


# core.group.RunGroup, and the process executing it. The primary key is named after the table's first name, which SQLite
# cannot change; the view `run_groups` has that name now.
invocations = Table(
    "invocations",
    metadata,
    Column("id", Word, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("finished_at", Double),
    Column("created_by", Text, nullable=False, server_default=text("''")),
    Column("request", Text, nullable=False, server_default="{}"),
    Column("benchmarks", Text, nullable=False, server_default="[]"),
    Column("repository", Text, nullable=False, server_default="{}"),
    Column("comparison_id", Word, nullable=False, server_default=text("''")),
    Column("holder", Text),
    PrimaryKeyConstraint("id", name="pk_run_groups"),
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

# `cost_usd` of a run is the sum of the known costs, `cost_unknown` the number of episodes without one; incremental sums
# need both to be correct. `score` and `higher_is_better` repeat the primary metric. `search` is the text that filters
# search. `mean_reward` and `mean_steps` are over the `mean_of` episodes that did not fail, and are valid while there
# are as many. `passed`, `not_passed`, `errors` and `bins` are those of core.run. Wide columns come last, so that
# SQLite finds the others on the first page.
runs = Table(
    "runs",
    metadata,
    Column("id", Word, primary_key=True),
    Column("created_at", Double, nullable=False),
    Column("status", Word, nullable=False),
    Column("signature", Digest, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("group_id", Word, ForeignKey(invocations.c.id)),
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
    Column("higher_is_better", Boolean),
    Column("mean_reward", Double),
    Column("mean_steps", Double),
    Column("mean_of", BigInteger),
    Column("chain", Text),
    *(
        Column(name, BigInteger, nullable=False, server_default=text("0"))
        for name in ("passed", "not_passed", "errors")
    ),
    Column("bins", Text),
    Index(None, "signature", "attempt"),
    Index(None, "group_id"),
)

# core.group.Outcome. `ran`: a run was created or found for it; `run_id` becomes NULL when that run is deleted.
outcomes = Table(
    "outcomes",
    metadata,
    Column("group_id", Word, ForeignKey(invocations.c.id, ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("status", Word, nullable=False),
    Column("benchmark", Word, nullable=False),
    Column("directory", Text, nullable=False),
    Column("provider", Word, nullable=False),
    Column("model", Word, nullable=False),
    Column("agent", Word, nullable=False),
    Column("signature", Word, nullable=False),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="SET NULL")),
    Column("ran", Boolean, nullable=False),
    Column("comparison_id", Word, nullable=False),
    Column("reason", Text, nullable=False),
    Column("extra", Text, nullable=False),
    Index("ix_outcomes_run_id", "run_id"),
    Index("ix_outcomes_signature", "signature"),
    Index("ix_outcomes_comparison_id", "comparison_id"),
    Index("ix_outcomes_benchmark", "benchmark", "at"),
)

# What listings sort and filter by, one narrow row per run: reading all rows of 100,000 runs takes 20 ms, which bounds
# every filter and order. A journal updates counters in `runs`, which has no index on them, and refreshes this row with
# each heartbeat. Names too long for an index are shortened (`run_index.key`). The table keeps the name of its first
# release, `run_lines`, which is only visible in SQL.
run_index = Table(
    "run_lines",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("created_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Column("status", Word, nullable=False),
    Column("name", Word, nullable=False),
    Column("benchmark", Word, nullable=False),
    Column("benchmark_digest", Word, nullable=False),
    Column("kind", Word, nullable=False),
    Column("model", Word, nullable=False),
    Column("agent", Word, nullable=False),
    Column("group_id", Word),
    Column("attempt", Integer, nullable=False),
    Column("score", Double),
    Column("cost", Double),
    Column("tokens", BigInteger, nullable=False),
    Column("duration", Double),
    Column("tags", Text, nullable=False),
    Column("search", Text, nullable=False),
    *(
        Index(f"ix_run_lines_{name}", name, "run_id")
        for name in (
            *("created_at", "changed_at", "status", "name", "benchmark", "kind", "model", "agent", "attempt"),
            *("score", "cost", "tokens", "duration"),
        )
    ),
)

run_tags = Table(
    "run_tags",
    metadata,
    Column("tag", Word, primary_key=True),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
    Index(None, "run_id"),
    sqlite_with_rowid=False,
)

# Named searches of the list of runs, `search` as the viewer writes it into an address. `owner` is the actor of a server
# who keeps it, empty on a laptop.
saved_views = Table(
    "saved_views",
    metadata,
    Column("owner", Word, primary_key=True),
    Column("name", Word, primary_key=True),
    Column("search", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)

# Models that administrators of a server added or changed: `entry` is JSON, `sealed` an encrypted key or empty.
models = Table(
    "models",
    metadata,
    Column("name", Word, primary_key=True),
    Column("entry", Text, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)

# Deleted runs, kept for a day so that pollers notice the deletion.
run_deletions = Table(
    "run_deletions",
    metadata,
    Column("run_id", Word, primary_key=True),
    Column("deleted_at", Double, nullable=False),
    Index(None, "deleted_at"),
)

# `position` is Episode.index (a reserved word in SQL). The index of the plan also covers the query for finished keys,
# and yields scores in an order independent of interruptions. `seed` is text: unsigned 64-bit seeds do not fit into
# SQL's integers. `total_reward` is NULL for NaN, which SQLite cannot store. `score` and `outcome` (scored, worst,
# missing, skipped) repeat the score that the primary metric reads; `tokens` and `duration` are derived. `labels` is
# NULL if a task has none. `checksum` and `link` are those of `store.seals`. All indexes for sorting together cost a
# twentieth of the time of an empty episode.
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
    Column("score", Double),
    Column("outcome", Word),
    Column("tokens", BigInteger),
    Column("duration", Double),
    Column("labels", Text),
    Column("checksum", Text),
    Column("link", BigInteger),
    UniqueConstraint("run_id", "task_digest", "trial"),
    Index("ix_episodes_plan", "run_id", "position", "task_digest", "trial", "status"),
    *(
        Index(f"ix_episodes_{name}", "run_id", name, "position")
        for name in ("score", "total_reward", "steps", "tokens", "cost_usd", "duration", "started_at")
    ),
)

UNUSUAL = text("status <> 'completed'")
"""Predicate of the index for episodes that did not simply complete; a query must repeat it to use the index."""

Index(
    "ix_episodes_unusual",
    episodes.c.run_id,
    episodes.c.status,
    episodes.c.position,
    episodes.c.task_digest,
    episodes.c.trial,
    sqlite_where=UNUSUAL,
)

UNSCORED = text("outcome <> 'scored'")
"""Predicate of the index for finished episodes without a score; a query must repeat it to use the index."""

Index(
    "ix_episodes_unscored",
    episodes.c.run_id,
    episodes.c.outcome,
    episodes.c.position,
    episodes.c.task_digest,
    episodes.c.trial,
    sqlite_where=UNSCORED,
)

CAUSED = text("failure_cause IS NOT NULL")
"""Predicate of the index for failure causes; a query must repeat it to use the index."""

Index(
    "ix_episodes_cause",
    episodes.c.run_id,
    episodes.c.failure_cause,
    episodes.c.position,
    episodes.c.task_digest,
    episodes.c.trial,
    sqlite_where=CAUSED,
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

# What the task of an episode asked, what was expected, what was given and why it was graded so (see core.episode): JSON
# text, NULL where there is none. Only episodes with one of these have a row. `why`, `mistake` and `behaviour` come
# first, so that grouping by them does not read long texts.
answers = Table(
    "answers",
    metadata,
    Column("episode_id", Word, ForeignKey(episodes.c.id, ondelete="CASCADE"), primary_key=True),
    Column("run_id", Word, nullable=False),
    Column("mistake", Word),
    Column("behaviour", Word),
    Column("why", Text),
    Column("input", Text),
    Column("target", Text),
    Column("reference", Text),
    Column("answer", Text),
)

MISTAKEN = text("mistake IS NOT NULL")
"""Predicate of the index for kinds of mistakes; a query must repeat it to use the index."""

BEHAVED = text("behaviour IS NOT NULL")
"""Predicate of the index for behaviours; a query must repeat it to use the index."""

Index("ix_answers_mistake", answers.c.run_id, answers.c.mistake, sqlite_where=MISTAKEN)
Index("ix_answers_behaviour", answers.c.run_id, answers.c.behaviour, sqlite_where=BEHAVED)

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

# `outside`: the data is empty here and stored in an object store, under its digest.
blobs = Table(
    "blobs",
    metadata,
    Column("digest", Digest, primary_key=True),
    Column("content_type", Text, nullable=False),
    Column("raw_bytes", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("outside", Boolean, nullable=False, server_default=false()),
)

# Which runs need a blob: exports include it, and deleting the last of these runs deletes it.
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

# core.review.Round; `document` has what is neither listed nor changed.
review_rounds = Table(
    "review_rounds",
    metadata,
    Column("id", Word, primary_key=True),
    Column("name", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", Word, nullable=False),
    Column("created_by_name", Text, nullable=False),
    Column("closed_at", Double),
    Column("document", Text, nullable=False),
    Index(None, "created_at", "id"),
)

review_items = Table(
    "review_items",
    metadata,
    Column("round_id", Word, ForeignKey(review_rounds.c.id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), nullable=False),
    Column("episode_id", Word, ForeignKey(episodes.c.id, ondelete="CASCADE"), nullable=False),
    UniqueConstraint("round_id", "episode_id"),
    Index(None, "run_id", "round_id"),
    Index(None, "episode_id"),
    sqlite_with_rowid=False,
)

# Who has an item before them, until when, and who skipped it.
review_claims = Table(
    "review_claims",
    metadata,
    Column("round_id", Word, ForeignKey(review_rounds.c.id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("author", Word, primary_key=True),
    Column("until", Double, nullable=False),
    Column("skipped", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

# core.review.Verdict; rows are only ever added. `round_id` is empty outside of rounds. That nobody replaces what was
# replaced already is left to the constraint, so no verdict is lost between two windows of one person.
verdicts = Table(
    "verdicts",
    metadata,
    Column("id", Word, primary_key=True),
    Column("episode_id", Word, ForeignKey(episodes.c.id, ondelete="CASCADE"), nullable=False),
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), nullable=False),
    Column("round_id", Word, nullable=False),
    Column("author", Word, nullable=False),
    Column("author_name", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("answer", Word, nullable=False),
    Column("grader", Word, nullable=False),
    Column("labels", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("settles", Boolean, nullable=False),
    Column("withdrawn", Boolean, nullable=False),
    Column("replaces", Word, nullable=False),
    UniqueConstraint("episode_id", "round_id", "author", "settles", "replaces"),
    Index(None, "run_id"),
    Index(None, "round_id"),
)

# Runs with episodes that the search index may not have. Whoever adds, removes or rescores episodes adds the run here in
# the same transaction; `store.search_index` removes it.
search_pending = Table(
    "search_pending",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
)

# The words of the episodes of a run at positions `stretch` * 2048 and following, in `page_count` pages (search_blocks).
# `ids` are those of its episodes, `verdicts` the sets of those passed, not passed, and ended by an error.
search_blocks = Table(
    "search_blocks",
    metadata,
    Column("run_id", Word, ForeignKey(runs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("stretch", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("episodes", Integer, nullable=False),
    Column("page_count", Integer, nullable=False),
    Column("verdicts", LargeBinary, nullable=False),
    Column("ids", LargeBinary, nullable=False),
)

search_pages = Table(
    "search_pages",
    metadata,
    Column("run_id", Word, primary_key=True),
    Column("stretch", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
    ForeignKeyConstraint(
        ["run_id", "stretch", "part"],
        ["search_blocks.run_id", "search_blocks.stretch", "search_blocks.part"],
        name="fk_search_pages_block",
        ondelete="CASCADE",
    ),
)
