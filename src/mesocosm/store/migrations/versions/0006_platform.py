"""The tables of a server."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

# Frozen: later changes of tenancy.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables, and add a column to blobs for content kept outside of the database."""
    _create_people()
    _create_belongings()
    _create_work()
    op.add_column("blobs", sa.Column("outside", sa.Boolean, nullable=False, server_default=sa.false()))


def _create_people() -> None:
    _create_users()
    _create_guests()
    _create_sessions()
    _create_personal_tokens()
    _create_signing_keys()
    _create_teams()
    _create_memberships()


def _create_belongings() -> None:
    _create_domains()
    _create_environments()
    _create_environment_versions()


def _create_work() -> None:
    _create_orders()
    _create_jobs()
    _create_workers()
    _create_attempts()
    _create_cooldowns()
    _create_audit_log()


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("username", sa.Text, nullable=False),
        sa.Column("name_key", _WORD, nullable=False),
        sa.Column("password", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("subject", _WORD),
        sa.Column("role", _WORD, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("budget_usd", sa.Double),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("last_login_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name_key", name="uq_users_name_key"),
        sa.UniqueConstraint("subject", name="uq_users_subject"),
    )


def _create_guests() -> None:
    op.create_table(
        "guests",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("address", _WORD, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_guests"),
    )
    op.create_index("ix_guests_expires_at", "guests", ["expires_at"])


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("kind", _WORD, nullable=False),
        sa.Column("family", _WORD, nullable=False),
        sa.Column("digest", _WORD, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id", ondelete="CASCADE"),
        sa.UniqueConstraint("digest", name="uq_sessions_digest"),
    )
    op.create_index("ix_sessions_family", "sessions", ["family"])
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])


def _create_personal_tokens() -> None:
    op.create_table(
        "personal_tokens",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scope", _WORD, nullable=False),
        sa.Column("digest", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("last_used_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_personal_tokens"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_personal_tokens_user_id", ondelete="CASCADE"),
        sa.UniqueConstraint("digest", name="uq_personal_tokens_digest"),
    )
    op.create_index("ix_personal_tokens_user_id", "personal_tokens", ["user_id"])


def _create_signing_keys() -> None:
    op.create_table(
        "signing_keys",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("retired_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_signing_keys"),
    )


def _create_teams() -> None:
    op.create_table(
        "teams",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("slug", _WORD, nullable=False),
        sa.Column("join_code", _WORD, nullable=False),
        sa.Column("code_at", sa.Double, nullable=False),
        sa.Column("budget_usd", sa.Double),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
        sa.UniqueConstraint("slug", name="uq_teams_slug"),
        sa.UniqueConstraint("join_code", name="uq_teams_join_code"),
    )


def _create_memberships() -> None:
    op.create_table(
        "memberships",
        sa.Column("team_id", _WORD, nullable=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("role", _WORD, nullable=False),
        sa.Column("joined_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("team_id", "user_id", name="pk_memberships"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_memberships_team_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_memberships_user_id", ondelete="CASCADE"),
    )
    op.create_index("ix_memberships_user_id", "memberships", ["user_id"])


def _create_domains() -> None:
    op.create_table(
        "domains",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("owner_id", sa.Integer),
        sa.Column("environment_id", _WORD),
        sa.Column("status", _WORD, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_domains"),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_domains_owner_id", ondelete="SET NULL"),
    )
    op.create_index("ix_domains_status_created_at", "domains", ["status", "created_at"])
    op.create_index("ix_domains_owner_id", "domains", ["owner_id"])
    op.create_index("ix_domains_environment_id", "domains", ["environment_id"])


def _create_environments() -> None:
    op.create_table(
        "environments",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("holder_key", _WORD, nullable=False),
        sa.Column("owner_id", sa.Integer),
        sa.Column("team_id", _WORD),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("source", _WORD, nullable=False),
        sa.Column("ref", sa.Text, nullable=False),
        sa.Column("folder", _WORD, nullable=False),
        sa.Column("status", _WORD, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("domain_id", _WORD),
        sa.Column("domain_history", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("ready_version", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("resubmitted_at", sa.Double),
        sa.Column("deleted_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_environments"),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_environments_owner_id", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_environments_team_id", ondelete="SET NULL"),
    )
    op.create_index("ix_environments_holder_key_source_folder", "environments", ["holder_key", "source", "folder"])
    op.create_index("ix_environments_domain_id", "environments", ["domain_id"])
    op.create_index("ix_environments_status", "environments", ["status"])


def _create_environment_versions() -> None:
    op.create_table(
        "environment_versions",
        sa.Column("environment_id", _WORD, nullable=False),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("state", _WORD, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("ref", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("commit_id", _WORD, nullable=False),
        sa.Column("manifest", sa.Text, nullable=False),
        sa.Column("manifest_path", sa.Text, nullable=False),
        sa.Column("digest", _WORD, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("log", sa.Text, nullable=False),
        sa.Column("submitted_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("environment_id", "version", name="pk_environment_versions"),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environments.id"], name="fk_environment_versions_environment_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_environment_versions_state_created_at", "environment_versions", ["state", "created_at"])


def _create_orders() -> None:
    op.create_table(
        "orders",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("actor", _WORD, nullable=False),
        sa.Column("actor_name", sa.Text, nullable=False),
        sa.Column("team_id", _WORD),
        sa.Column("domain_id", _WORD, nullable=False),
        sa.Column("environment_id", _WORD),
        sa.Column("environment_version", sa.Integer),
        sa.Column("vow_version", _WORD, nullable=False),
        sa.Column("model", _WORD, nullable=False),
        sa.Column("visibility", _WORD, nullable=False),
        sa.Column("purpose", _WORD, nullable=False),
        sa.Column("job_id", _WORD),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("state", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("expires_at", sa.Double),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_orders"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_orders_run_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_orders_team_id", ondelete="SET NULL"),
    )
    op.create_index("ix_orders_state_created_at", "orders", ["state", "created_at"])
    op.create_index("ix_orders_actor_created_at", "orders", ["actor", "created_at"])
    op.create_index("ix_orders_team_id_created_at", "orders", ["team_id", "created_at"])
    op.create_index("ix_orders_domain_id_visibility", "orders", ["domain_id", "visibility"])
    op.create_index("ix_orders_environment_id", "orders", ["environment_id"])
    op.create_index("ix_orders_job_id", "orders", ["job_id"])


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("environment_id", _WORD, nullable=False),
        sa.Column("domain_id", _WORD),
        sa.Column("user_id", sa.Integer),
        sa.Column("status", _WORD, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("results", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("completed_at", sa.Double),
        sa.Column("claimed_by", _WORD),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_status_created_at", "jobs", ["status", "created_at"])


def _create_workers() -> None:
    op.create_table(
        "workers",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("capacity", sa.Integer, nullable=False),
        sa.Column("running", sa.Integer, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("heartbeat_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )


def _create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("key", _WORD, nullable=False),
        sa.Column("stretch", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("until", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("key", "stretch", name="pk_attempts"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_attempts_until", "attempts", ["until"])


def _create_cooldowns() -> None:
    op.create_table(
        "cooldowns",
        sa.Column("actor", _WORD, nullable=False),
        sa.Column("until", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("actor", name="pk_cooldowns"),
    )


def _create_audit_log() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("actor", _WORD, nullable=False),
        sa.Column("action", _WORD, nullable=False),
        sa.Column("object", _WORD, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log"),
    )
    op.create_index("ix_audit_log_at", "audit_log", ["at"])
    op.create_index("ix_audit_log_object_at", "audit_log", ["object", "at"])
