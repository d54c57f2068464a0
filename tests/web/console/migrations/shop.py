"""A shop whose orders get another key, shop by shop: an application with migrations for tests of the console."""

from gateleg.host import Application
from gateleg.migrate import KeyMove, MoveStage, migrations_table
from gateleg.model import GSI, Attr, Entity, Key, Pattern, Table, field
from gateleg.store import Store

old_orders = Table("Orders", hash="shop", range="order_id")
old_lines = Table("OrderLines", hash="shop", range="line_id")
orders = Table("CustomerOrders", hash="customer_key", range="order_key")
customers = Table("Customers", hash="customer", indexes=[GSI("by-city", hash="city", range="customer")])


class OldOrder(Entity, table=old_orders):
    """An order by its number."""

    shop: Attr[str]
    order_id: Attr[str]
    customer: Attr[str]
    total: Attr[int] = field(0)

    key = Key("{shop}", "{order_id}")


class OldLine(Entity, table=old_lines):
    """A line of an order by its number."""

    shop: Attr[str]
    line_id: Attr[str]
    order_id: Attr[str]
    article: Attr[str] = field("")

    key = Key("{shop}", "{line_id}")


class Order(Entity, table=orders):
    """An order under its customer."""

    shop: Attr[str]
    customer: Attr[str]
    order_id: Attr[str]
    total: Attr[int] = field(0)

    key = Key("{shop}#{customer}", "ORDER#{order_id}")


class OrderLine(Entity, table=orders):
    """A line beside its order."""

    shop: Attr[str]
    customer: Attr[str]
    order_id: Attr[str]
    line_id: Attr[str]
    article: Attr[str] = field("")

    key = Key("{shop}#{customer}", "LINE#{order_id}#{line_id}")


class Customer(Entity, table=customers):
    """Somebody who orders."""

    customer: Attr[str]
    city: Attr[str | None] = field(None)

    key = Key("{customer}")
    city_key = Key("{city}", "{customer}", index="by-city")
    in_city = Pattern("by-city", title="The customers of a city")


STAGES = (MoveStage.tenants("pilot", "berlin"), MoveStage("rest"))
orders_move = KeyMove(
    "orders",
    OldOrder,
    Order,
    convert=lambda old: Order(shop=old.shop, customer=old.customer, order_id=old.order_id, total=old.total),
    revert=lambda new: OldOrder(shop=new.shop, order_id=new.order_id, customer=new.customer, total=new.total),
    stages=STAGES,
)
lines_move = KeyMove(
    "lines",
    OldLine,
    OrderLine,
    convert=lambda old, order: OrderLine(
        shop=old.shop, customer=order.customer, order_id=old.order_id, line_id=old.line_id, article=old.article
    ),
    revert=lambda new: OldLine(shop=new.shop, line_id=new.line_id, order_id=new.order_id, article=new.article),
    lookup=lambda old: OldOrder.key(shop=old.shop, order_id=old.order_id),
    stages=STAGES,
)
shop = Application(
    name="shop", title="Shop", icon="storefront", tables=(orders, customers), migrations="tests.web.console.migrations.shop_migrations"
)


def fill(store: Store, number: int, *, orphan: bool = False) -> None:
    """Old orders of two shops with a line each; and a line without an order."""
    store.ensure_tables(old_orders, old_lines, customers, migrations_table)
    places = [("berlin" if n % 4 == 0 else "oslo", f"{n:06d}") for n in range(number)]
    made = [OldOrder(shop=place, order_id=id, customer=f"customer-{int(id) % 50}", total=int(id)) for place, id in places]
    lines = [OldLine(shop=place, line_id=id, order_id=id, article="chair") for place, id in places]
    store.batch_write([*made, *lines], check_version=False)
    if orphan:
        store.put(OldLine(shop="berlin", line_id="lost", order_id="gone"))
