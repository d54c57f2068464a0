"""`gateleg engine ...`: serve, check, compact and repair an embedded engine."""

import errno
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateleg.commands.opening import settings_from
from gateleg.commands.options import ConfigOption
from gateleg.commands.printing import MISUSED, count, fail

if TYPE_CHECKING:
    import ssl

    from gateleg.endpoint import EndpointOptions
    from gateleg.store.addresses import StoreAddress

app = typer.Typer(
    help="The embedded DynamoDB engine: serve, check, compact and repair its database.", add_completion=False, no_args_is_help=True
)

DataPath = Annotated[
    str | None, typer.Option("--path", help="Data folder (or database file); the embedded store of the settings by default.")
]


@app.command()
def serve(
    path: Annotated[
        str | None,
        typer.Option(help="Data folder (or database file); :memory: keeps nothing. The embedded store of the settings by default."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback requires --credentials.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8000,
    durability: Annotated[
        Literal["full", "relaxed"] | None,
        typer.Option(help="full: an answered write survives a power loss; relaxed: it survives a crash of the process. Full by default."),
    ] = None,
    credentials: Annotated[
        list[str] | None,
        typer.Option(envvar="GATELEG_CREDENTIALS", help="key:secret that requests must be signed with; may be repeated."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            envvar="GATELEG_ALLOW_ORIGIN",
            help="Origin of web pages that may use the endpoint, such as https://example.com; may be repeated. "
            "Pages of this machine are always allowed.",
        ),
    ] = None,
    separate: Annotated[bool, typer.Option("--separate", help="Keep the tables of each access key id and region apart.")] = False,
    region: Annotated[str, typer.Option(help="Region in ARNs.")] = "us-east-1",
    account: Annotated[str, typer.Option(help="Account in ARNs: twelve digits.")] = "123456789012",
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain (PEM); serves HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's private key (PEM).")] = None,
    like_local: Annotated[
        bool, typer.Option("--like-local", help="Behave like DynamoDB Local where it differs from the service; implies --separate.")
    ] = False,
    processes: Annotated[
        int, typer.Option(min=1, max=256, help="Processes that share the port, so that reads use several cores; not for :memory:.")
    ] = 1,
    demo: Annotated[bool, typer.Option("--demo", help="Create and fill a sample table, Songs, if it does not exist.")] = False,
    config: ConfigOption = None,
) -> None:
    """Serve the DynamoDB protocol for boto3, the AWS CLI and every other SDK. SIGINT and SIGTERM let running requests finish."""
    from gateleg.endpoint import BadOrigin, EndpointOptions, OpenToAll, serve_from_processes, serve_until_signal
    from gateleg.engine import Engine, EngineError, Namespace
    from gateleg.store.transports.embedded import database_file

    if not (len(account) == 12 and account.isascii() and account.isdigit()):
        fail(f"--account expects twelve digits, got {account!r}", MISUSED)
    try:
        options = EndpointOptions(
            host=host,
            port=port,
            credentials=_credentials(credentials or []),
            allow_origins=tuple(allow_origin or ()),
            separate=separate or like_local,
            region=region,
            tls=_tls_context(tls_cert, tls_key),
        )
    except BadOrigin as error:
        fail(f"--allow-origin: {error.public_text}", MISUSED)
    except OpenToAll as error:
        fail(f"{error.message} Give --credentials key:secret, or listen on 127.0.0.1.", MISUSED)
    try:
        place = _place(path, config)
        file = database_file(place.place)
        if processes > 1 and file == ":memory:":
            fail("--processes needs a database file: each process would have its own :memory: database", MISUSED)

        def open_engine(*, background: bool = True) -> Engine:
            namespace = Namespace(account, region)
            return Engine(
                file, durability=durability or place.durability, namespace=namespace, background=background, like_local=like_local
            )

        engine = open_engine(background=processes == 1)
    except EngineError as error:
        fail(str(error.message))
    except OSError as error:
        fail(f"cannot use {file}: {error.strerror}")
    if file not in {place.place, ":memory:"}:
        _warn_of_others(Path(file).parent)
    with closing(engine):
        if demo:
            from gateleg.cli.demo import load

            load(engine)
        try:
            if processes == 1:
                serve_until_signal(engine, options, lambda url: _announce(url, file, options))
                return
            engine.close()
            serve_from_processes(open_engine, options, processes, lambda url: _announce(url, file, options))
        except OSError as error:
            fail(_cannot_listen(error, options))


@app.command()
def check(path: DataPath = None, config: ConfigOption = None) -> None:
    """Verify a database: page checksums, and that indexes and the change log agree with their tables.

    Prints each fault; exits with 1 if there is one.
    """
    from gateleg.engine import EngineError, has_checksums
    from gateleg.engine import check_integrity as find_faults

    file = _existing(path, config)
    try:
        faults = find_faults(file)
    except EngineError as error:
        fail(str(error.message))
    for fault in faults:
        typer.echo(fault)
    if faults:
        fail(f"{file}: {count(len(faults), 'fault')} found; `gateleg engine repair` recovers the intact data")
    typer.echo(f"{file}: no faults found")
    if not has_checksums(file):
        typer.echo("It has no checksums, because an earlier version created it: `gateleg engine compact` adds them.")


@app.command()
def compact(path: DataPath = None, config: ConfigOption = None) -> None:
    """Return the space of deleted data to the disk, and add checksums to a database made by an earlier version."""
    from gateleg.engine import EngineError
    from gateleg.engine import compact as shrink

    file = _existing(path, config)
    try:
        before, after = shrink(file)
    except EngineError as error:
        fail(str(error.message))
    typer.echo(f"{file}: {before:,} bytes before, {after:,} after")


@app.command()
def repair(
    into: Annotated[Path, typer.Option("--into", help="Data folder (or database file) to write; it must not have a database yet.")],
    path: DataPath = None,
    config: ConfigOption = None,
) -> None:
    """Recover the data of a damaged database into a new one, and say what is and is not in it. The damaged one is not changed.

    Items of tables whose definition cannot be read are set aside in a file beside the new database, and so is the list of lost items. Exits
    with 1 if anything is missing from the new database.
    """
    import orjson

    from gateleg.engine import EngineError
    from gateleg.engine import repair as save
    from gateleg.store.transports.embedded import database_file

    file, new = _existing(path, config), database_file(str(into))
    try:
        report = save(file, new)
    except EngineError as error:
        fail(str(error.message))
    for name, saved in report.saved.items():
        recovered = report.recovered.get(name, 0)
        source = f", {recovered:,} of them from the log, an index or loose pages" if recovered else ""
        typer.echo(f"{name}: {count(saved, 'item')} saved{source}")
    for name, aside in report.aside.items():
        typer.echo(f"{name}: {count(aside, 'item')} set aside in {new}.aside.jsonl")
    for note in (*report.notes, *report.missing):
        typer.echo(note)
    if report.is_complete:
        typer.echo(f"{new}: all tables and backups are in it, and no item was lost")
        return
    for lost in report.lost:
        typer.echo(f"{lost.table}: {lost.key} was lost")
    absent = []
    if report.lost:
        listing = Path(f"{new}.lost.jsonl")
        listing.touch(mode=0o600)
        listing.write_bytes(b"".join(orjson.dumps(lost) + b"\n" for lost in report.lost))
        absent.append(f"{count(len(report.lost), 'item')} lost; {listing} has what stands in their place")
    if report.aside:
        absent.append(f"{count(sum(report.aside.values()), 'item')} of {', '.join(report.aside)} set aside in {new}.aside.jsonl")
    if report.missing:
        absent.append("what is said above")
    fail(f"{new} lacks: {'; '.join(absent)}. Keep the damaged database")


def _place(path: str | None, config: Path | None) -> "StoreAddress":
    """The embedded store of `--path`, or else of the settings."""
    from gateleg.store import StoreError
    from gateleg.store.addresses import StoreAddress, parse_address

    if path is not None:
        return StoreAddress("embedded", path)
    settings = settings_from(config)
    try:
        address = parse_address(settings.store)
    except StoreError as error:
        fail(str(error), MISUSED)
    if address.kind != "embedded":
        fail(f"the store of the settings, {settings.store}, has no file on this machine: choose a data folder with --path", MISUSED)
    return address


def _existing(path: str | None, config: Path | None) -> str:
    """The existing database file of a path or of the settings."""
    from gateleg.store.transports.embedded import MEMORY, database_file

    file = database_file(_place(path, config).place)
    if file == MEMORY:
        fail(f"{MEMORY} has no file: choose a data folder with --path", MISUSED)
    if not Path(file).is_file():
        fail(f"there is no database at {file}: choose its data folder with --path")
    return file


def _credentials(pairs: list[str]) -> dict[str, str]:
    """Parse access key ids and secrets from `key:secret`."""
    found = {}
    for pair in pairs:
        key, _, secret = pair.partition(":")
        if not key or not secret or "/" in key:
            fail("--credentials expects key:secret", MISUSED)
        found[key] = secret
    return found


def _tls_context(cert: Path | None, key: Path | None) -> "ssl.SSLContext | None":
    """The TLS context, if a certificate is given."""
    if cert is None:
        if key is not None:
            fail("--tls-key needs --tls-cert", MISUSED)
        return None
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key)
    except ssl.SSLError:
        fail(f"no certificate and key that belong together in {cert}" + (f" and {key}" if key else ""))
    except OSError as error:
        fail(f"cannot read the certificate or its key: {error.strerror}")
    return context


def _cannot_listen(error: OSError, options: "EndpointOptions") -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {options.port} of {options.host} is already in use: choose another with --port"
    if error.errno == errno.EACCES:
        return f"port {options.port} needs more permissions than this user has: choose one above 1023 with --port"
    return f"cannot listen on {options.host}:{options.port}: {error.strerror or error}"


def _warn_of_others(folder: Path) -> None:
    """Warn if others can enter an existing data folder. It may be intended, so it is not changed."""
    from gateleg.private_files import exposure

    warning = exposure(folder)
    if warning is not None:
        typer.echo(f"gateleg: warning: {warning}", err=True)


def _announce(url: str, file: str, options: "EndpointOptions") -> None:
    """Print that clients can connect, and how."""
    key, secret = next(iter(options.credentials.items()), ("any", "any"))
    shown = secret if not options.credentials else "..."
    typer.echo(f"Serving {file} at {url}")
    typer.echo(
        f'  boto3.resource("dynamodb", endpoint_url="{url}", region_name="{options.region}", '
        f'aws_access_key_id="{key}", aws_secret_access_key="{shown}")'
    )
