"""The data layers that are measured: each with its own kind of model, its codec, and its whole calls, with and without a network."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import import_module
from typing import Any

from canned_responses import CannedSocket, answer_botocore, canned_connection
from gateleg.model import spec_of
from gateleg.net import Credentials
from gateleg.store import AsyncStore, Store
from gateleg.store.transports.http import AsyncWireTransport, HttpOptions, WireTransport
from scene import HASH, RANGE, TABLE, VALUES, Scene

REGION, KEY_ID, SECRET = "us-east-1", "AKIDEXAMPLE", "secret"
KEYS = {"PK": HASH, "SK": RANGE}
#: An address for clients that are answered before they send.
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Codec:
    """An object to its wire item, and a wire item to an object."""

    encode: Callable[[], Any]
    decode: Callable[[], Any]


@dataclass(frozen=True)
class Calls:
    """One whole put, and one whole query that gives a list of objects. Awaited, if they are coroutines."""

    put: Callable[[], Any]
    query: Callable[[], Any]
    loop: asyncio.AbstractEventLoop | None = None

    def repeat(self, call: Callable[[], Any], times: int) -> Any:
        """Call so many times; the last result."""
        if self.loop is not None:
            return self.loop.run_until_complete(_repeat(call, times))
        result = None
        for _ in range(times):
            result = call()
        return result


async def _repeat(call: Callable[[], Awaitable[Any]], times: int) -> Any:
    result = None
    for _ in range(times):
        result = await call()
    return result


@dataclass(frozen=True)
class Layer:
    """A library. `calls(url, page)` are its calls to a server, or, without a URL, to nobody: queries are answered with `page`."""

    name: str
    codec: Callable[[], Codec]
    calls: Callable[[str | None, bytes], Calls]
    #: False if its sockets cannot be replaced, so that it needs a server also for canned answers
    open: bool = True


def item() -> dict[str, Any]:
    """The scene on the wire."""
    return spec_of(Scene).encode(Scene(**VALUES))


def plain() -> dict[str, Any]:
    """The scene as boto3 takes it."""
    values = {name: Decimal(str(value)) if isinstance(value, float) else value for name, value in VALUES.items()}
    return KEYS | {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _options(url: str | None) -> HttpOptions:
    return HttpOptions(endpoint=url or NOWHERE, region=REGION, credentials=Credentials(KEY_ID, SECRET))


def gateleg_codec() -> Codec:
    spec, scene, wire = spec_of(Scene), Scene(**VALUES), item()
    return Codec(lambda: spec.encode(scene), lambda: spec.decode(wire))


def gateleg_calls(url: str | None, page: bytes) -> Calls:
    options = _options(url)
    transport = WireTransport(options) if url else WireTransport(options, connect=lambda *_: CannedSocket(page))
    store, scene = Store(transport), Scene(**VALUES)
    return Calls(lambda: store.put(scene), lambda: list(store.query(Scene.in_project, project_id=scene.project_id)))


def async_gateleg_calls(url: str | None, page: bytes) -> Calls:
    options = _options(url)
    transport = AsyncWireTransport(options) if url else AsyncWireTransport(options, connect=canned_connection(page))
    store, scene = AsyncStore(transport), Scene(**VALUES)

    async def query() -> list[Scene]:
        return [found async for found in store.query(Scene.in_project, project_id=scene.project_id)]

    return Calls(lambda: store.put(scene), query, asyncio.new_event_loop())


def boto3_codec() -> Codec:
    types = import_module("boto3.dynamodb.types")
    serialize, deserialize = types.TypeSerializer().serialize, types.TypeDeserializer().deserialize
    values, wire = plain(), item()
    return Codec(
        lambda: {name: serialize(value) for name, value in values.items()},
        lambda: {name: deserialize(value) for name, value in wire.items()},
    )


def boto3_calls(url: str | None, page: bytes) -> Calls:
    boto3, conditions = import_module("boto3"), import_module("boto3.dynamodb.conditions")
    session = boto3.session.Session(KEY_ID, SECRET, region_name=REGION)
    table = session.resource("dynamodb", endpoint_url=url or NOWHERE).Table(TABLE)
    if url is None:
        answer_botocore(table.meta.client.meta.events, page)
    values = plain()
    condition = conditions.Key("PK").eq(HASH) & conditions.Key("SK").begins_with("SCENE#")
    return Calls(lambda: table.put_item(Item=values), lambda: table.query(KeyConditionExpression=condition)["Items"])


def _pynamodb_model(url: str | None) -> Any:
    attributes, models = import_module("pynamodb.attributes"), import_module("pynamodb.models")
    kinds = {str: attributes.UnicodeAttribute, bool: attributes.BooleanAttribute, datetime: attributes.UTCDateTimeAttribute}
    numbers = dict.fromkeys((int, float), attributes.NumberAttribute)
    members: dict[str, Any] = {
        name: attributes.ListAttribute(of=attributes.UnicodeAttribute) if isinstance(value, list) else (kinds | numbers)[type(value)]()
        for name, value in VALUES.items()
    }
    keys = {"PK": attributes.UnicodeAttribute(hash_key=True), "SK": attributes.UnicodeAttribute(range_key=True)}
    meta = {"table_name": TABLE, "region": REGION, "host": url, "aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET}
    return type("PynamoScene", (models.Model,), {"Meta": type("Meta", (), meta), **keys, **members})


def pynamodb_codec() -> Codec:
    model = _pynamodb_model(None)
    scene = model(**KEYS, **VALUES)
    wire = scene.serialize()
    return Codec(scene.serialize, lambda: model.from_raw_data(wire))


def pynamodb_calls(url: str | None, page: bytes) -> Calls:
    model = _pynamodb_model(url)
    scene = model(**KEYS, **VALUES)
    if url is None:
        answer_botocore(model._get_connection().connection.client.meta.events, page)
    return Calls(scene.save, lambda: list(model.query(HASH, model.SK.startswith("SCENE#"))))


def _dyntastic_model(url: str | None) -> Any:
    library = import_module("dyntastic")
    # Floats are passed on to boto3, which refuses them.
    kinds = {
        name: Decimal if isinstance(value, float) else list[str] if isinstance(value, list) else type(value)
        for name, value in VALUES.items()
    }
    place = {
        "__table_name__": TABLE,
        "__hash_key__": "PK",
        "__range_key__": "SK",
        "__table_region__": REGION,
        "__table_host__": url or NOWHERE,
    }
    return type(
        "DyntasticScene", (library.Dyntastic,), {**place, "__annotations__": {"PK": str, "SK": str, **kinds}, "__module__": __name__}
    )


def _dyntastic_scene(model: Any) -> Any:
    return model(**KEYS, **{name: Decimal(str(value)) if isinstance(value, float) else value for name, value in VALUES.items()})


def dyntastic_codec() -> Codec:
    attr, compatibility = import_module("dyntastic.attr"), import_module("dyntastic.pydantic_compat")
    types = import_module("boto3.dynamodb.types")
    serialize, deserialize = types.TypeSerializer().serialize, types.TypeDeserializer().deserialize
    model = _dyntastic_model(None)
    scene = _dyntastic_scene(model)

    def encode() -> dict[str, Any]:
        return {name: serialize(value) for name, value in attr.serialize(compatibility.model_dump(scene, by_alias=True)).items()}

    wire = encode()
    return Codec(encode, lambda: model._dyntastic_load_model({name: deserialize(value) for name, value in wire.items()}))


def dyntastic_calls(url: str | None, page: bytes) -> Calls:
    model, attr = _dyntastic_model(url), import_module("dyntastic").A
    scene = _dyntastic_scene(model)
    if url is None:
        answer_botocore(model._dynamodb_resource().meta.client.meta.events, page)
    return Calls(scene.save, lambda: list(model.query(HASH, range_key_condition=attr.SK.begins_with("SCENE#"))))


def aiodynamo_codec() -> Codec:
    library = import_module("aiodynamo.utils")
    values = plain() | {name: value for name, value in VALUES.items() if isinstance(value, float)}
    wire = item()
    return Codec(lambda: library.py2dy(values), lambda: library.dy2py(wire, float))


def aiodynamo_calls(url: str | None, page: bytes) -> Calls:
    client, credentials, expressions = (import_module(f"aiodynamo.{name}") for name in ("client", "credentials", "expressions"))
    types, httpx = import_module("aiodynamo.http.types"), import_module("httpx")
    loop = asyncio.new_event_loop()

    async def canned(request: Any) -> Any:
        return types.Response(200, page if request.headers["X-Amz-Target"].endswith(".Query") else b"{}")

    http = import_module("aiodynamo.http.httpx").HTTPX(httpx.AsyncClient()) if url else canned
    keys = credentials.StaticCredentials(credentials.Key(KEY_ID, SECRET))
    endpoint = import_module("yarl").URL(url or NOWHERE)
    table = client.Client(http, keys, REGION, endpoint).table(TABLE)
    values = plain() | {name: value for name, value in VALUES.items() if isinstance(value, float)}
    condition = expressions.HashKey("PK", HASH) & expressions.RangeKey("SK").begins_with("SCENE#")

    async def query() -> list[Any]:
        return [found async for found in table.query(condition)]

    return Calls(lambda: table.put_item(values), query, loop)


def _pydynox_model(url: str | None) -> Any:
    library, attributes = import_module("pydynox"), import_module("pydynox.attributes")
    kinds = {
        str: attributes.StringAttribute,
        bool: attributes.BooleanAttribute,
        datetime: attributes.DatetimeAttribute,
        list: attributes.ListAttribute,
    }
    numbers = dict.fromkeys((int, float), attributes.NumberAttribute)
    members = {name: (kinds | numbers)[type(value)]() for name, value in VALUES.items()}
    keys = {"PK": attributes.StringAttribute(partition_key=True), "SK": attributes.StringAttribute(sort_key=True)}
    client = library.DynamoDBClient(region=REGION, endpoint_url=url or NOWHERE, access_key=KEY_ID, secret_key=SECRET)
    return type("PydynoxScene", (library.Model,), {"model_config": library.ModelConfig(table=TABLE, client=client), **keys, **members})


def pydynox_codec() -> Codec:
    core = import_module("pydynox.pydynox_core")
    model = _pydynox_model(None)
    scene = model(**KEYS, **VALUES)

    def encode() -> dict[str, Any]:
        return {name: core.py_to_dynamo(value) for name, value in scene.to_dict().items()}

    wire = encode()
    return Codec(encode, lambda: model.from_dict({name: core.dynamo_to_py(value) for name, value in wire.items()}))


def pydynox_calls(url: str | None, page: bytes) -> Calls:
    model = _pydynox_model(url)
    scene = model(**KEYS, **VALUES)
    return Calls(
        lambda: scene.sync_save(full_replace=True),
        lambda: list(model.sync_query(partition_key=HASH, sort_key_condition=model.SK.begins_with("SCENE#"))),
    )


LAYERS = [
    Layer("gateleg", gateleg_codec, gateleg_calls),
    Layer("gateleg, awaited", gateleg_codec, async_gateleg_calls),
    Layer("boto3 (dictionaries)", boto3_codec, boto3_calls),
    Layer("PynamoDB", pynamodb_codec, pynamodb_calls),
    Layer("dyntastic", dyntastic_codec, dyntastic_calls),
    Layer("aiodynamo (dictionaries)", aiodynamo_codec, aiodynamo_calls),
    Layer("pydynox", pydynox_codec, pydynox_calls, open=False),
]
