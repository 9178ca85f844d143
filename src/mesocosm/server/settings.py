"""Settings of a server, in order of precedence: flags, environment variables (MESOCOSM_…), a TOML file, defaults."""

import logging
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.server.schemas.model import ModelPrice

PREFIX = "MESOCOSM_"
GUIDE = "docs/operate.md lists all settings"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIX_PATH = re.compile(r"[A-Za-z0-9._~/-]*")

Number = TypeVar("Number", int, float)

_log = logging.getLogger(__name__)


def _older(name: str, *older: str) -> Any:
    """Return the environment variables of a setting: ours, then those of the former server."""
    return AliasChoices(f"{PREFIX}{name}".lower(), *(alias.lower() for alias in older))


GIT_HOST_KINDS = ("github", "gitlab", "gitea")
"""Programs whose API takes the status of a commit; `gitea` is that of Forgejo too."""

Words = Annotated[tuple[str, ...], NoDecode]
"""A list of strings, separated by commas in a variable."""


class ModelEntry(BaseModel):
    """A model that a server offers.

    `name` is the name in requests, `provider/name`, optionally ending with the wildcard `*`. `served_as` is the model
    to call instead, with `@url` for a custom endpoint. `key` is the environment variable with the API key, which only
    workers need. `full_bench` includes the model in batch runs; `guests` allows guests to use it. `price` is for a
    model that the price table lacks, `parallel` the maximum number of concurrent episodes of a run with it.
    `workspaces` are the only workspaces that may use it, by id or name; `disabled` keeps everybody from running it.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    served_as: str = ""
    key: str = ""
    title: str = ""
    guests: bool = False
    full_bench: bool = False
    price: ModelPrice | None = None
    parallel: int | None = Field(default=None, ge=1, le=10_000)
    workspaces: tuple[str, ...] = ()
    disabled: bool = False

    @field_validator("key")
    @classmethod
    def _named(cls, value: str) -> str:
        if value and not _VARIABLE.fullmatch(value):
            raise PydanticCustomError("variable", "must be the name of the variable that holds the key, not the key")
        return value


@dataclass(frozen=True, slots=True)
class RunQuota:
    """What one person may run: episodes of a run, tokens of an episode, seconds between two runs, runs a day (UTC), and
    runs that are not over.
    """

    episodes: int
    episode_tokens: int
    cooldown_s: float
    per_day: int
    waiting: int


_STRICT = RunQuota(episodes=20, episode_tokens=100_000, cooldown_s=120.0, per_day=200, waiting=20)
_TEAM = RunQuota(episodes=10_000, episode_tokens=1_000_000, cooldown_s=0.0, per_day=10_000, waiting=200)


class Settings(BaseSettings):
    """The settings of a server. The suffix of a name, such as `_s`, `_days` or `_mb`, is its unit."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", populate_by_name=True, frozen=True, allow_inf_nan=False
    )

    # Addresses and names.
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8010, ge=0, le=65_535, description="port of the API and the web app")
    login_port: int | None = Field(
        8000, ge=0, le=65_535, description="additional port for member logins; `none` disables it"
    )
    public_url: str = Field(
        "",
        validation_alias=_older("public_url", "ORCH_PUBLIC_BASE_URL"),
        description="public URL of the server, if a TLS proxy is in front of it",
    )
    prefix: str = Field(
        "",
        validation_alias=_older("prefix", "ORCH_GATEWAY_PREFIX"),
        description="additional path prefix of all URLs, such as /base; /bench always works",
    )
    names: Words = Field(
        (), description="accepted host names; if empty, all of them, or with auth_disabled only loopback names"
    )
    cors_origins: Words = Field(
        (),
        validation_alias=_older("cors_origins", "BENCH_CORS_ORIGINS"),
        description="origins of other web pages that may use the API with the cookies of logged-in users",
    )
    trusted_proxies: Words = Field(
        (), description="addresses or networks of proxies whose X-Forwarded-For header is trusted"
    )

    # Storage.
    data_dir: Path = Field(Path("mesocosm-data"), description="directory of the database, blobs and built environments")
    database_url: str = Field("", description="PostgreSQL database to use instead of the SQLite file in data_dir")
    blob_url: str = Field("", description="object store for large content: file:///…, s3://…, gs://…, az://…")
    secrets_key: SecretStr = Field(
        SecretStr(""),
        description="key that encrypts the secrets of workspaces, with older keys after it; every host needs the same",
    )
    secrets_key_file: Path | None = Field(
        None,
        description="file with these keys, one per line; if neither is set, secrets.key in data_dir, made when needed",
    )

    # Workers.
    workers: int = Field(1, ge=0, le=64, description="number of worker processes that the server starts")
    runs_at_once: int = Field(8, ge=1, description="maximum number of concurrent runs per worker")
    episodes_at_once: int = Field(
        64,
        ge=1,
        validation_alias=_older("episodes_at_once", "ORCH_MAX_PARALLEL_EPISODES"),
        description="maximum number of concurrent episodes per worker, over all its runs",
    )
    builds_at_once: int = Field(1, ge=1, description="maximum number of concurrent environment builds per worker")
    runs_at_once_per_actor: int = Field(
        4, ge=1, description="maximum number of concurrent runs of one person while others are waiting"
    )
    executor: str = Field(
        "local",
        description="where the episodes of a run are played: `local`, by the worker that has the run; `queue` or "
        "`queue:N`, also by at most N other workers that have nothing to do (needs PostgreSQL)",
    )
    lease_s: float = Field(30.0, ge=2, description="seconds without a heartbeat after which a worker counts as dead")
    environment_idle_s: float = Field(60.0, ge=0, description="seconds after which an idle adapter is stopped")

    # Accounts.
    token_minutes: float = Field(
        60.0, gt=0, le=1440, description="lifetime of an access token in minutes; the command line renews it"
    )
    refresh_days: float = Field(30.0, gt=0, description="days after which an unused login expires")
    guest_days: float = Field(7.0, gt=0, description="lifetime of a guest session and its runs in days")
    guests: bool = Field(default=True, description="whether people without an account may browse, and run demo domains")
    sign_up: bool = Field(default=False, description="whether anyone may create an account")
    login_tries: int = Field(
        10, ge=1, description="maximum number of failed logins with one user name from one address in 15 minutes"
    )
    guests_per_hour: int = Field(
        20, ge=1, description="maximum number of new guest sessions per address and hour; likewise of new accounts"
    )
    joins_per_hour: int = Field(20, ge=1, description="maximum number of wrong join codes per member and hour")
    auth_disabled: bool = Field(
        default=False,
        validation_alias=_older("auth_disabled", "BENCH_AUTH_DISABLED"),
        description="treat every caller as the administrator; for one person on one machine",
    )
    worker_secret: SecretStr = Field(
        SecretStr(""),
        validation_alias=_older("worker_secret", "BENCH_WORKER_SECRET"),
        description="secret of external programs that carry out batch runs; if empty, none may",
    )
    oidc_issuer: str = Field("", description="URL of an OpenID Connect provider")
    oidc_client_id: str = Field("", description="client ID at the provider")
    oidc_client_secret: SecretStr = Field(SecretStr(""), description="client secret at the provider")
    oidc_name: str = Field("single sign-on", description="label of the provider's login button")
    team_size: int = Field(4, ge=1, description="maximum number of members of a team")

    dataset_mb: int = Field(5_120, ge=1, le=5_120, description="maximum size of a dataset in MiB")
    workspace_datasets_mb: int = Field(
        51_200, ge=0, description="maximum size of all versions of all datasets of a workspace, in MiB"
    )

    workspace_uploads_mb: int = Field(
        10_240, ge=0, description="maximum size of all files in snapshots that members of a workspace uploaded, in MiB"
    )

    run_import_mb: int = Field(
        64,
        ge=1,
        le=8_192,
        description="maximum size of a run that is pushed to the server, packed, in MiB; more only with PostgreSQL: in "
        "SQLite nothing else is written while the run is stored, about a second for 5 MiB",
    )
    user_imports_mb: int = Field(20_480, ge=0, description="maximum size of all runs that one person pushed, in MiB")
    workspace_imports_mb: int = Field(
        51_200, ge=0, description="maximum size of all runs that were pushed to one workspace, in MiB"
    )

    # Submissions and their sandbox.
    git_hosts: Words = Field(
        ("github.com", "gitlab.com", "codeberg.org", "bitbucket.org"),
        description="allowed hosts of submitted repositories",
    )
    git_host_kinds: Words = Field(
        (),
        description="API of Git hosts for commit statuses, as HOST=github, HOST=gitlab or HOST=gitea (also Forgejo); "
        "those of github.com, gitlab.com and codeberg.org are known",
    )
    local_git: bool = Field(default=False, description="allow file:// URLs and paths on this machine as sources")
    git_poll_s: float = Field(
        300.0, ge=0, description="seconds between checks of a workspace's repository for new commits; 0: never"
    )
    sandbox: Literal["auto", "bubblewrap", "docker", "plain"] = Field(
        "auto", description="how submitted code is sandboxed; `auto` means bubblewrap"
    )
    unsafe_sandbox: bool = Field(
        default=False, description="allow `plain`: submitted code runs with all rights of the worker"
    )
    package_hosts: Words = Field(
        ("pypi.org", "files.pythonhosted.org"), description="hosts from which requirements may be installed"
    )
    clone_s: float = Field(
        120.0,
        gt=0,
        validation_alias=_older("clone_s", "SANDBOX_GIT_CLONE_TIMEOUT_SECONDS"),
        description="time limit for fetching a repository, in seconds",
    )
    install_s: float = Field(600.0, gt=0, description="time limit for installing requirements, in seconds")
    start_s: float = Field(30.0, gt=0, description="time limit for starting an adapter, in seconds")
    source_mb: int = Field(200, ge=1, description="maximum size of a repository in MiB")
    packages_mb: int = Field(2_000, ge=1, description="maximum size of the installed requirements in MiB")
    environment_memory_mb: int = Field(
        2_048, ge=64, description="memory limit of all processes of an environment, in MiB"
    )
    environment_cpu_s: int = Field(
        3_600, ge=1, description="processor time limit of each process of an environment, in seconds"
    )
    environment_processes: int = Field(
        128, ge=8, description="maximum number of processes and threads of an environment"
    )
    environment_scratch_mb: int = Field(256, ge=1, description="size of an environment's /tmp in MiB")
    max_samples_per_run: int = Field(
        100_000, ge=1, description="maximum number of samples of a run of a rollout: rows times repetitions"
    )
    rollout_hosts: Words = Field(
        (),
        description="hosts that the processes of rollouts may reach beside their models; by default none",
    )
    rollout_memory_mb: int = Field(
        2_048, ge=64, description="memory limit of each process of a rollout with its children, in MiB"
    )
    rollout_disk_mb: int = Field(
        512, ge=1, description="maximum size of the files that a process of a rollout keeps, in MiB"
    )
    rollout_processes: int = Field(
        512, ge=8, description="maximum number of processes and threads of a process of a rollout"
    )
    rollout_packages_mb: int = Field(
        20_000,
        ge=1,
        description="maximum size of the installed requirements of all rollouts on a machine, in MiB; beyond it the "
        "longest unused are removed",
    )
    rollout_packages_days: float = Field(
        14.0, ge=1, description="days after which unused requirements of rollouts are removed from a machine"
    )
    environments_per_owner: int = Field(20, ge=1, description="maximum number of environments of one member or team")
    private_env_urls: bool = Field(default=False, description="allow environments at addresses inside this network")
    private_webhooks: bool = Field(
        default=False, description="allow notifications to addresses inside this network, also by http"
    )

    # Runs.
    models: tuple[ModelEntry, ...] = Field((), description="models that may be run, as `[[models]]` tables; see below")
    max_episodes_per_run: int | None = Field(
        None,
        ge=1,
        validation_alias=_older("max_episodes_per_run", "ORCH_MAX_EPISODES_PER_RUN", "BENCH_MAX_EPISODES"),
        description="maximum number of episodes of a run of an environment; by default 10,000, strictly 20",
    )
    max_steps: int = Field(
        200,
        ge=1,
        validation_alias=_older("max_steps", "ORCH_MAX_STEPS_PER_EPISODE"),
        description="maximum number of steps per episode; applies to environments that declare more, with a "
        "note to their authors",
    )
    episode_tokens: int | None = Field(
        None,
        ge=1,
        validation_alias=_older("episode_tokens", "ORCH_MAX_TOKENS_PER_EPISODE"),
        description="maximum number of tokens per episode; by default 1,000,000, strictly 100,000",
    )
    episode_s: float = Field(1_800.0, gt=0, description="time limit of an episode, in seconds")
    episode_mb: int = Field(
        32, ge=1, description="maximum size of all responses of an environment in one episode, in MiB"
    )
    run_s: float = Field(7_200.0, gt=0, description="time limit of a run, in seconds")
    outage_s: float = Field(
        300.0,
        ge=0,
        description="seconds that a run waits for a model server that does not respond; other runs continue",
    )
    max_missing: float = Field(
        0.02, ge=0, le=1, description="share of values that may be missing before a run is partial and not ranked"
    )
    step_s: float = Field(60.0, gt=0, description="time limit of one call of an environment, in seconds")
    model_s: float = Field(120.0, gt=0, description="time limit of one model call, in seconds")
    cooldown_s: float | None = Field(
        None,
        ge=0,
        validation_alias=_older("cooldown_s", "ORCH_RUN_SUBMISSION_COOLDOWN_SECONDS"),
        description="minimum number of seconds between two accepted runs of one person; by default 0, strictly 120",
    )
    guest_runs_per_day: int = Field(
        5,
        ge=0,
        validation_alias=_older("guest_runs_per_day", "ORCH_GUEST_RUNS_PER_DAY"),
        description="maximum number of runs per guest and day (UTC)",
    )
    member_runs_per_day: int | None = Field(
        None,
        ge=0,
        description="maximum number of runs per member and day (UTC); by default 10,000, strictly 200",
    )
    queued_per_actor: int | None = Field(
        None,
        ge=1,
        description="maximum number of waiting and running runs of one person; by default 200, strictly 20",
    )
    demo_domains: Words = Field(
        (), validation_alias=_older("demo_domains", "ORCH_DEMO_DOMAIN_IDS"), description="domains that guests may run"
    )
    user_budget_usd: float | None = Field(
        None, ge=0, description="default budget of a member in 24 hours, in US dollars; `none`: unlimited"
    )
    team_budget_usd: float | None = Field(
        None, ge=0, description="default budget of a team in 24 hours, in US dollars; `none`: unlimited"
    )
    workspace_budget_usd: float | None = Field(
        None, ge=0, description="default budget of a workspace in 24 hours, in US dollars; `none`: unlimited"
    )
    guest_budget_usd: float | None = Field(
        0.5, ge=0, description="budget of a guest in 24 hours, in US dollars; `none`: unlimited"
    )
    run_budget_usd: float | None = Field(None, ge=0, description="budget of a run, in US dollars; `none`: unlimited")
    full_bench_episodes: int = Field(
        5,
        ge=1,
        validation_alias=_older("full_bench_episodes", "ORCH_FULL_BENCH_EPISODES_PER_MODEL"),
        description="number of episodes per model of a batch run",
    )
    test_episode_s: float = Field(
        110.0, gt=0, description="how long a request for a test episode waits for its end, in seconds"
    )

    log_format: Literal["text", "json"] = Field("text", description="text, or one JSON object per line")

    file: ClassVar[Path | None] = None

    def quota(self, *, guest: bool) -> RunQuota:
        """Return what a guest or a member may run.

        Limits that are not set are strict where strangers come: for guests, and for all where anyone may sign up.
        """
        usual = _STRICT if guest or self.sign_up else _TEAM

        def given(value: Number | None, default: Number) -> Number:
            return default if value is None else value

        return RunQuota(
            episodes=given(self.max_episodes_per_run, usual.episodes),
            episode_tokens=given(self.episode_tokens, usual.episode_tokens),
            cooldown_s=given(self.cooldown_s, usual.cooldown_s),
            per_day=self.guest_runs_per_day if guest else given(self.member_runs_per_day, usual.per_day),
            waiting=given(self.queued_per_actor, usual.waiting),
        )

    @field_validator(
        *(
            "names",
            "cors_origins",
            "trusted_proxies",
            "git_hosts",
            "git_host_kinds",
            "package_hosts",
            "rollout_hosts",
            "demo_domains",
        ),
        mode="before",
    )
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("git_host_kinds")
    @classmethod
    def _known_kinds(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            host, _, kind = entry.rpartition("=")
            if not host or kind not in GIT_HOST_KINDS:
                kinds = {"entry": entry, "kinds": ", ".join(GIT_HOST_KINDS)}
                raise PydanticCustomError("git_host_kinds", "{entry} is not HOST=KIND, with one of {kinds}", kinds)
        return value

    @field_validator("executor")
    @classmethod
    def _shared(cls, value: str, info: ValidationInfo) -> str:
        if value == "local":
            return value
        name, colon, most = value.partition(":")
        if name != "queue":
            why = (
                "episodes of a server are played in the sandboxes and episode slots of a worker, which {name} does not "
                "have; set queue, or more workers"
            )
            raise PydanticCustomError("executor", why, {"name": name})
        if colon and not (most.isdigit() and int(most)):
            raise PydanticCustomError("executor", "must be local, queue, or queue:N with the maximum number of helpers")
        if not info.data.get("database_url"):
            raise PydanticCustomError("executor", "needs PostgreSQL, so set database_url, or leave it local")
        return value

    @field_validator("public_url")
    @classmethod
    def _reachable(cls, value: str) -> str:
        if value and not _is_address(value):
            raise PydanticCustomError("address", "is not an address such as https://bench.example.org")
        return value

    @field_validator("prefix")
    @classmethod
    def _mounted(cls, value: str) -> str:
        """Return a path with a leading and without a trailing slash; empty for the root."""
        if not _PREFIX_PATH.fullmatch(value):
            raise PydanticCustomError("prefix", "is not a path such as /bench")
        return f"/{bare}" if (bare := value.strip("/")) else ""

    @field_validator(
        *("login_port", "user_budget_usd", "team_budget_usd", "workspace_budget_usd"),
        *("guest_budget_usd", "run_budget_usd"),
        mode="before",
    )
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if isinstance(value, str) and value.strip().lower() in {"", "none"} else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in order of precedence: flags, variables, file."""
        file = () if cls.file is None else (TomlConfigSettingsSource(settings_cls, cls.file),)
        return (init_settings, env_settings, *file)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and not re.search(r"\s", text)
    except ValueError:
        return False


def read_settings(place: Path | None = None, **given: Any) -> Settings:
    """Return the settings; `place` is a TOML file with the fields of `Settings`, `given` are flags (None if not set).

    Raises UsageError for a file or a variable that cannot be read, InvalidInput with every invalid value and every
    unknown key of the file.
    """
    if place is not None:
        _check_file(place)
    for variable, meant in _mistyped(os.environ):
        _log.warning("the variable %s is unknown; did you mean %s?", variable, meant)

    class Chosen(Settings):
        file: ClassVar[Path | None] = place

    flags = {name: value for name, value in given.items() if value is not None}
    try:
        return Chosen(**flags)
    except ValidationError as error:
        raise InvalidInput("the settings of the server", _problems(error, flags)) from error
    except ValueError as error:
        named = re.search(r'field "(\w+)"', str(error))
        where = _place_of(named[1], {}) if named else "of the settings"
        raise UsageError(
            f"the variable {where} cannot be read: its value must be JSON"
            + (""", such as '[{"name": "openai/gpt-4o-mini"}]'""" if where.endswith("MODELS") else "")
        ) from error


def _check_file(place: Path) -> None:
    """Raise UsageError for a settings file that cannot be read, InvalidInput for unknown keys."""
    if not place.is_file():
        raise UsageError(f"there is no settings file {place}; write one, or omit --config")
    try:
        written = tomllib.loads(place.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"the settings file {place} cannot be read: {error}") from error
    problems = [Problem(key, "is not a setting", _meant(key)) for key in written if key not in Settings.model_fields]
    if problems:
        raise InvalidInput(f"the settings file {place}", problems)


def _meant(key: str) -> str:
    """Return the hint for an unknown key."""
    older = {alias: name for name in Settings.model_fields for alias in _variables(name)}
    name = key.upper()
    near = get_close_matches(key.lower().removeprefix(PREFIX.lower()), Settings.model_fields, n=1)
    found = older.get(name) or (near[0] if near else "")
    return f"did you mean {found!r}?" if found else GUIDE


def _variables(name: str) -> list[str]:
    """Return the environment variables of a setting, ours first."""
    alias = Settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice).upper() for choice in alias.choices]
    return [f"{PREFIX}{name}".upper()]


def _mistyped(variables: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return unknown variables that resemble a setting, each with the variable that was probably intended."""
    known = [variable for name in Settings.model_fields for variable in _variables(name)]
    found = []
    for variable in sorted(variables):
        near = get_close_matches(variable, known, n=1, cutoff=0.92) if variable.startswith(PREFIX) else []
        if near and variable not in known:
            found.append((variable, near[0]))
    return found


def _problems(error: ValidationError, flags: Mapping[str, object]) -> list[Problem]:
    """Return the problems of settings, each with the name of the flag, variable or key that it was read from."""
    problems = []
    for item in error.errors():
        first, *rest = (str(part) for part in item["loc"])
        names = [name for name in Settings.model_fields if first == name or first.upper() in _variables(name)]
        name = names[0] if names else first
        where = ".".join([_place_of(name, flags), *rest])
        if item["type"] != "extra_forbidden":
            purpose = Settings.model_fields[name].description if names and not rest else ""
            problems.append(Problem(where, str(item["msg"]), f"it is: {purpose}" if purpose else GUIDE))
        elif rest[-1] in Settings.model_fields:
            fix = f"{rest[-1]} is a setting of the server: move its line before the first [[models]]"
            problems.append(Problem(where, "is not a key of a model", fix))
        else:
            near = get_close_matches(rest[-1], ModelEntry.model_fields, n=1)
            fix = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(ModelEntry.model_fields)}"
            problems.append(Problem(where, "is not a key of a model", fix))
    return problems


def _place_of(name: str, flags: Mapping[str, object]) -> str:
    """Return the source of a setting: a flag `--port`, a variable `MESOCOSM_PORT`, or a key of the file."""
    if name in flags:
        return f"--{name.replace('_', '-')}"
    if name not in Settings.model_fields:
        return name
    return next((variable for variable in _variables(name) if variable in os.environ), name)
