"""The settings of a host: `gateleg.toml`, overridden by `GATELEG_*`, overridden by flags. The origin of each value is recorded.

Settings of applications are kept unparsed in `sections`, and validated once the application is known.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import to_jsonable_python

from gateleg.errors import GatelegError, problem_message
from gateleg.host.host_secret import SHORTEST, given_secret, kept_secret, read_secret
from gateleg.host.sections import M, RawSetting, Sections, nearest, read_section, section_key, unknown_sections
from gateleg.net import Guard, is_loopback
from gateleg.objects import parse_objects_address
from gateleg.store.addresses import parse_address
from gateleg.store.errors import BadAddress, without_credentials
from gateleg.store.setup import table_names_in
from gateleg.store.transports.embedded import MEMORY, database_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from gateleg.model import Table
    from gateleg.net import Secret

__all__ = ["ANY_ORIGIN", "DEFAULT", "FILE", "PREFIX", "BadSettings", "Settings", "format_setting", "load_settings"]

FILE = "gateleg.toml"
PREFIX = "GATELEG_"
#: In `cors_origins`, pages of any site.
ANY_ORIGIN = "*"
#: The origin of a setting that is not set.
DEFAULT = "default"


class BadSettings(GatelegError):
    """Settings with unknown names or invalid values. `problems` has one line for each."""

    fix = "Correct the settings; `gateleg config` shows those in effect."

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class HasTables(Protocol):
    """What the settings know of an application: its tables, and the variables that name them."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """Its tables."""

    @property
    def table_variables(self) -> Mapping[str, Table]:
        """The table that each variable names."""


class ObjectStore(BaseModel):
    """An additional object store: its address, and for a bucket its endpoint and region."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    endpoint: str | None = None
    region: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:
        return {"address": value} if isinstance(value, str) else value

    @field_validator("address")
    @classmethod
    def _readable(cls, value: str) -> str:
        parse_objects_address(value)
        return value


class Settings(BaseModel):
    """The settings of a host. Each field is a key of `gateleg.toml` and, in upper case after `GATELEG_`, an environment variable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: str = Field(
        default="embedded:./data",
        description="where the tables are: embedded:FOLDER, dynamodb:REGION or http://host:port; by default in the folder `data`",
    )
    prefix: str = Field(default="", max_length=100, description="prefix of every table name")
    table_names: dict[str, str] = Field(
        default={},
        description="full names of single tables, instead of prefix and name: Table=name, separated by commas, or TOML",
    )
    objects: str = Field(
        default="dir:./data/objects", description="where objects are: dir:FOLDER or s3://bucket/prefix; by default in the folder `data`"
    )
    objects_endpoint: str | None = Field(default=None, description="an S3 endpoint other than Amazon's")
    objects_region: str | None = Field(default=None, description="the region of the bucket")
    object_stores: dict[str, ObjectStore] = Field(
        default={},
        description="additional object stores by name: name=dir:FOLDER or name=s3://bucket/prefix, separated by commas, or TOML tables "
        "with address, endpoint and region",
    )
    data: Path = Field(
        default=Path("./data"),
        description="folder for the host's own files, and for tables and objects that no other setting places; by default that of an "
        "embedded store",
    )
    host: str = Field(default="127.0.0.1", description="address to listen on; other machines can reach the host only once a key exists")
    port: int = Field(default=8000, ge=0, le=65535, description="port to listen on; 0 for a free one")
    tls_cert: Path | None = Field(default=None, description="certificate chain (PEM); serves HTTPS")
    tls_key: Path | None = Field(default=None, description="the certificate's private key (PEM)")
    url: str | None = Field(default=None, description="URL that browsers use, if the host is behind a proxy")
    hosts: tuple[str, ...] = Field(default=(), description="accepted host names; all if none is set and a key exists")
    proxies: tuple[str, ...] = Field(default=(), description="addresses of proxies whose X-Forwarded headers are trusted")
    cors_origins: tuple[str, ...] = Field(
        default=(),
        description="origins whose pages may call the APIs with a key or token, such as https://app.example.com; * for all",
    )
    cors_credentials: tuple[str, ...] = Field(
        default=(), description="origins whose pages may also use the session of a browser; they need not be in cors_origins"
    )
    secret: SecretStr | None = Field(
        default=None, description="signs sessions, links and cursors; created and stored in the data folder if not set"
    )
    log: Literal["human", "json"] = Field(default="human", description="format of log lines")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="minimum log level")
    console: bool = Field(default=True, description="serve the console at /")
    dynamodb: bool = Field(default=False, description="serve the DynamoDB protocol of an embedded store at /dynamodb")
    applications: tuple[str, ...] = Field(default=(), description="additional applications, each as module:object")
    tables: tuple[str, ...] = Field(
        default=(),
        description="modules whose tables `gateleg tables` works on; by default those of the applications and of Gateleg",
    )
    body_limit: int = Field(default=1_000_000, ge=1, description="maximum bytes of a request body")
    upload_limit: int = Field(default=5_000_000_000, ge=1, description="maximum bytes of an object that is uploaded to the host")
    upload_rows: int = Field(default=5_000_000, ge=1, description="maximum lines of a file that an application reads")
    upload_ratio: int = Field(default=100, ge=1, description="maximum compression ratio of an archive")
    upload_memory: int = Field(default=2_000_000_000, ge=300_000_000, description="maximum bytes of memory for reading an upload")
    upload_seconds: float = Field(default=120, gt=0, description="maximum seconds for reading an upload")
    head_limit: int = Field(default=65_536, ge=1_024, description="maximum bytes of the request line and the headers")
    request_seconds: float = Field(default=30, gt=0, description="maximum seconds until the headers of a request are complete")
    watchdog_seconds: float = Field(
        default=30,
        ge=0,
        description="seconds after which a process whose event loop does not answer logs why and ends; 0 for never",
    )
    body_pace: int = Field(default=500, ge=0, description="minimum rate of a request body, in bytes per second")
    connections: int = Field(default=800, ge=1, description="maximum number of open connections")
    address_connections: int = Field(
        default=200, ge=1, description="maximum number of open connections from one address, except those in `proxies`"
    )
    key_rate: int = Field(default=6_000, ge=0, description="maximum requests per minute of one key; 0 for no limit")
    signin_attempts: int = Field(default=10, ge=1, description="maximum failed sign-ins from one address in five minutes")
    session_hours: float = Field(default=168, gt=0, description="hours after which a session expires")
    idle_minutes: float = Field(default=720, gt=0, description="minutes after which an unused session expires")
    worker_metrics_port: int | None = Field(
        default=None, ge=0, le=65535, description="port on which a worker serves its metrics for Prometheus; 0 for a free one"
    )
    worker_metrics_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="address for the metrics of a worker; whoever reaches it reads them, without a key",
    )
    outgoing_allow: tuple[str, ...] = Field(
        default=(),
        description="private hosts and networks that requests on behalf of tenants may reach: hooks.internal, "
        "*.corp.example, 10.1.0.0/16, 127.0.0.1:9000",
    )
    outgoing_ports: tuple[int, ...] = Field(default=(80, 443, 8080, 8443), description="ports that requests on behalf of tenants may use")
    outgoing_seconds: float = Field(default=30, gt=0, description="maximum seconds of a request on behalf of a tenant")
    outgoing_limit: int = Field(default=10_000_000, ge=1, description="maximum bytes of the response to a request on behalf of a tenant")
    tenant_admin_group: str = Field(
        default="tenant-admins", description="group whose members manage the secrets and webhooks of their tenant; empty for none"
    )
    audit_days: int = Field(default=400, ge=1, description="days for which the audit log is kept")
    finished_days: float = Field(default=7, gt=0, description="days after which completed and cancelled jobs move to the archive")
    failed_days: float = Field(default=30, gt=0, description="days after which failed jobs move to the archive")

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _environ: dict[str, str] = PrivateAttr(default_factory=dict)
    _sections: Sections = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _in_one_folder(cls, values: Any) -> Any:
        return values | _kept_together(values) if isinstance(values, dict) else values

    @field_validator("secret")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value().encode()) < SHORTEST:
            raise ValueError(f"a secret must have at least {SHORTEST} bytes")
        return value

    @field_validator("url")
    @classmethod
    def _without_path(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"https?://[^/\s]+", value):
            raise ValueError("the URL must be like https://gateleg.example.com, with nothing after the name and the port")
        return value

    @field_validator("cors_origins", "cors_credentials")
    @classmethod
    def _exact(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for origin in value:
            if info.field_name == "cors_credentials":
                _check_session_origin(origin)
            elif origin != ANY_ORIGIN:
                _check_origin(origin)
        return value

    @field_validator("outgoing_allow")
    @classmethod
    def _nameable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        Guard(allow=value)
        return value

    @field_validator("object_stores")
    @classmethod
    def _named(cls, value: dict[str, ObjectStore]) -> dict[str, ObjectStore]:
        for name in value:
            if not re.fullmatch(r"[a-z][a-z0-9-]{0,62}", name):
                raise ValueError(f"{name!r} is not a valid name of an object store: use lower-case letters, digits and hyphens")
        return value

    def guard(self) -> Guard:
        """The rules for addresses to which requests on behalf of tenants may go."""
        return Guard(self.outgoing_allow, frozenset(self.outgoing_ports))

    def origin(self, name: str) -> str:
        """Where the value of a setting came from: a file, an environment variable, a flag, or `default`."""
        return self._origins.get(name, DEFAULT)

    def load_secret(self, *, make: bool = True) -> Secret:
        """The configured secret, or the one in the data folder, which is created there unless `make` is false."""
        if self.secret is not None:
            return given_secret(self.secret.get_secret_value())
        return kept_secret(self.data) if make else read_secret(self.data)

    def table(self) -> Iterator[tuple[str, str, str]]:
        """Every setting with its formatted value and its origin. Secrets are hidden."""
        for name in type(self).model_fields:
            yield name, format_setting(getattr(self, name)), self.origin(name)

    def section(self, application: str, model: type[M]) -> M:
        """The validated settings of an application. Raises `BadSettings` with one line for each problem."""
        found, problems = read_section(self._raw_section(application), application, model)
        if found is None:
            raise BadSettings(problems)
        return found

    def section_table(self, application: str, model: type[BaseModel]) -> Iterator[tuple[str, str, str]]:
        """As `table`, for the settings of an application: `name.field`."""
        found, given = self.section(application, model), _fields(self._raw_section(application))
        for name in model.model_fields:
            yield f"{application}.{name}", format_setting(getattr(found, name)), given[name].origin if name in given else DEFAULT

    def check_sections(self, applications: Collection[str]) -> None:
        """Raise `BadSettings` for sections that belong to no application."""
        problems = unknown_sections(self._sections, applications, type(self).model_fields)
        if problems:
            raise BadSettings(problems)

    def naming_tables(self, applications: Iterable[HasTables]) -> Settings:
        """These settings with the table names of the variables that applications declare. A name in `table_names` wins.

        The variables are those that the settings were loaded from. An empty one counts as not set. Raises `BadSettings` for others that
        cannot be the name of a table, or that are the name of another one.
        """
        declared = tuple(applications)
        named = {
            table.name: (self._environ[variable], variable)
            for application in declared
            for variable, table in application.table_variables.items()
            if self._environ.get(variable) and table.name not in self.table_names
        }
        if not named:
            return self
        full = {**self.table_names, **{table: name for table, (name, _) in named.items()}}
        tables = {table.name: full.get(table.name, self.prefix + table.name) for application in declared for table in application.tables}
        problems = [problem for table, (name, variable) in named.items() if (problem := _misnamed(table, name, variable, tables))]
        if problems:
            raise BadSettings(problems)
        settings = self.model_copy(update={"table_names": full})
        before = [self.origin("table_names")] if self.table_names else []
        origin = ", ".join(dict.fromkeys([*before, *(variable for _, variable in named.values())]))
        settings._origins = {**self._origins, "table_names": origin}
        return settings

    def _raw_section(self, application: str) -> dict[str, RawSetting]:
        return self._sections.get(section_key(application), {})

    def pack(self) -> dict[str, Any]:
        """The settings as JSON values with their secrets, for another process of this host."""
        values = self.model_dump(mode="json")
        if self.secret is not None:
            values["secret"] = self.secret.get_secret_value()
        return {"values": values, "origins": self._origins, "sections": to_jsonable_python(self._sections), "environ": self._environ}

    @classmethod
    def unpack(cls, packed: Mapping[str, Any]) -> Settings:
        """The settings that `pack` wrote."""
        settings = cls(**packed["values"])
        settings._origins.update(packed["origins"])
        settings._environ.update(packed["environ"])
        for key, section in packed["sections"].items():
            settings._sections[key] = {name: RawSetting(**given) for name, given in section.items()}
        return settings


_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


def _check_origin(origin: str) -> None:
    """Refuse what no browser sends as an origin: it is compared as it is."""
    parts = urlsplit(origin) if _ORIGIN.fullmatch(origin) else None
    if parts is None or not parts.hostname:
        raise ValueError(f"{origin!r} is not an origin: write https://app.example.com, in lower case and without a path")
    if origin.endswith({"https": ":443", "http": ":80"}[parts.scheme]):
        raise ValueError(f"{origin!r} has the default port, which browsers leave out: write {origin.rpartition(':')[0]}")


def _check_session_origin(origin: str) -> None:
    """Refuse origins that anybody on the network could speak for."""
    if origin == ANY_ORIGIN:
        raise ValueError("* would let every site use the sessions of its visitors: name the origins")
    _check_origin(origin)
    if origin.startswith("http:") and not is_loopback(urlsplit(origin).hostname or ""):
        raise ValueError(f"{origin!r} has no TLS: anybody on its network could use the sessions of its visitors")


def _misnamed(table: str, name: str, variable: str, tables: Mapping[str, str]) -> str | None:
    """Why the value of a variable cannot be the full name of a table; None if it can."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", name):
        return f"{variable}: {name!r} cannot be the name of the table {table}: use 3 to 255 letters, digits, _, - and ."
    other = next((other for other, full in tables.items() if full == name and other != table), None)
    return None if other is None else f"{variable}: {name} cannot be the name of the table {table}, because the table {other} has it"


def _fields(given: Mapping[str, RawSetting]) -> dict[str, RawSetting]:
    """The raw values by field; a variable for a nested value counts as its field."""
    return {name.partition("__")[0]: found for name, found in given.items()}


def format_setting(value: Any) -> str:
    """Format a value for display, without secrets and without passwords in addresses."""
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return "(hidden)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ", ".join(f"{key}={format_setting(name)}" for key, name in value.items())
    if isinstance(value, BaseModel):
        return format_setting({name: getattr(value, name) for name in type(value).model_fields})
    if isinstance(value, list | set | frozenset):
        value = tuple(value)
    return ", ".join(map(format_setting, value)) if isinstance(value, tuple) else without_credentials(str(value))


def _kept_together(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of places that follow from the ones in `values`: tables, objects and own files of a host lie in one folder.

    The folder is `data`, or that of an embedded store. What `values` names stays as it is.
    """
    store, data, objects = values.get("store"), values.get("data"), values.get("objects")
    folder = _store_folder(store) if data is None else data
    if not isinstance(folder, str | Path):
        return {}
    together = {"store": f"embedded:{folder}", "data": folder, "objects": f"dir:{Path(folder) / 'objects'}"}
    return {name: together[name] for name, value in (("store", store), ("data", data), ("objects", objects)) if value is None}


def _store_folder(store: Any) -> str | None:
    """The folder of an embedded store; None for any other address."""
    try:
        address = parse_address(store)
    except BadAddress:
        return None  # `Settings` reports what is wrong with it
    if address.kind != "embedded" or address.place == MEMORY or Path(database_file(address.place)) == Path(address.place):
        return None
    return address.place


def _left_behind(values: Mapping[str, Any], origins: Mapping[str, str]) -> list[str]:
    """A problem if files of a host lie in ./data, where an earlier release looked for them although the settings name another folder."""
    before = Path("data")
    if "store" in values and "data" not in values and not origins["store"].startswith("--"):
        folder, named, unnamed, file = _store_folder(values["store"]), "store", "data", "secret"
    elif "data" in values and "store" not in values and not origins["data"].startswith("--"):
        folder, named, unnamed, file = str(values["data"]), "data", "store", Path(database_file("data")).name
    else:
        return []
    if folder is None or not (before / file).is_file() or (Path(folder) / file).exists() or not Path(folder).is_dir():
        return []
    value = {"data": ("./data", folder), "store": ("embedded:./data", f"embedded:{folder}")}[unnamed]
    return [
        f"{named} (from {origins[named]}) names {folder}, but {before / file} exists and {Path(folder) / file} does not. "
        f'Set {unnamed} = "{value[0]}" to go on with that file, or {unnamed} = "{value[1]}" to begin a new one'
    ]


def load_settings(
    *, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, file: Path | None = None, given: bool = False
) -> Settings:
    """Load the effective settings. Flags that are None count as not set; with `given`, the file must exist.

    Tables, objects and the host's own files lie in one folder unless the settings name other places: `data` alone places the store and
    the objects, and an embedded `store` alone places the other two. A flag, a variable and a line of the file do the same.

    Raises `BadSettings` with one line for each problem.
    """
    problems: list[str] = []
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    sections: Sections = {}
    place = file or Path(FILE)
    for layer, named in (
        (_from_file(place, given, sections, problems), lambda name: str(place)),
        (_from_environ(environ or {}, sections, problems), lambda name: PREFIX + name.upper()),
        ({name: value for name, value in (flags or {}).items() if value is not None}, lambda name: f"--{name.replace('_', '-')}"),
    ):
        values |= layer
        origins |= {name: named(name) for name in layer}
    if not problems:
        problems += _left_behind(values, origins)
    if not problems:
        origins |= dict.fromkeys(_kept_together(values), origins.get("data" if "data" in values else "store", DEFAULT))
        try:
            settings = Settings(**values)
        except ValidationError as error:
            problems += [_describe_problem(problem, origins) for problem in error.errors()]
        else:
            settings._origins.update(origins)
            settings._environ.update(environ or {})
            settings._sections.update(sections)
            return settings
    raise BadSettings(problems)


def _describe_problem(problem: Any, origins: Mapping[str, str]) -> str:
    name = str(problem["loc"][0]) if problem["loc"] else "settings"
    return f"{name} (from {origins.get(name, DEFAULT)}): {problem_message(problem)}"


def _from_file(place: Path, given: bool, sections: Sections, problems: list[str]) -> dict[str, Any]:
    try:
        found = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if given:
            problems.append(f"no such file: {place}")
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        problems.append(f"{place} cannot be read: {error}")
        return {}
    own = {name: _split_text(name, value) for name, value in found.items() if name in Settings.model_fields}
    for name, value in found.items():
        if name in own:
            continue
        near = nearest(name, _TABLES if isinstance(value, dict) else Settings.model_fields)
        if name in _REMOVED:
            problems.append(f"{place}: {name!r} is no longer a setting: {_REMOVED[name]}")
        elif near or not isinstance(value, dict):
            problems.append(f"{place}: unknown setting {name!r}{near}")
        else:
            sections.setdefault(section_key(name), {}).update({field: RawSetting(one, str(place)) for field, one in value.items()})
    return own


def _from_environ(environ: Mapping[str, str], sections: Sections, problems: list[str]) -> dict[str, Any]:
    found = {}
    for variable, text in environ.items():
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or variable in _NOT_SETTINGS:
            continue
        if variable == "GATELEG_APP":
            problems.append("GATELEG_APP is not a setting: name applications with GATELEG_APPLICATIONS, or with --app")
            continue
        application, separator, field = name.partition("__")
        if name in Settings.model_fields:
            found[name] = _split_text(name, text)
        elif name in _REMOVED:
            problems.append(f"{variable} is no longer a setting: {_REMOVED[name]}")
        elif separator and application and field:
            sections.setdefault(application, {})[field] = RawSetting(text, variable, is_text=True)
        elif near := nearest(name, Settings.model_fields):
            # Other variables may belong to a program that uses Gateleg.
            problems.append(f"{variable}: unknown setting {name!r}{near}")
    return found


#: Settings that are tables in a file: a section that resembles one of them is a mistyped setting.
_TABLES = [name for name, field in Settings.model_fields.items() if get_origin(field.annotation) is dict]
#: Settings of earlier releases, and what to do about each.
_REMOVED = {
    "job_tables": "remove it. Hosts and commands use JobQueue, JobLedger and JobArchive, and beside them the tables that applications "
    "bring for their jobs. Jobs that are stored in either are found; nothing has to be moved."
}
#: Variables that other parts of Gateleg read.
_NOT_SETTINGS = frozenset({"GATELEG_ALLOW_ORIGIN", "GATELEG_CREDENTIALS", "GATELEG_PLAIN", "GATELEG_STARTED_AGAIN"})


def _split_text(name: str, value: Any) -> Any:
    """Split the text of a list or mapping setting at its commas; other values stay as they are."""
    if name == "table_names" and isinstance(value, str):
        # The model reports an invalid text, with its origin.
        with contextlib.suppress(ValueError):
            return table_names_in(value)
    if name == "object_stores" and isinstance(value, str):
        with contextlib.suppress(ValueError):
            return dict(part.strip().split("=", 1) for part in value.split(",") if part.strip())
    if Settings.model_fields[name].annotation in (tuple[str, ...], tuple[int, ...]) and isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value
