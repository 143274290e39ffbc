"""A wholesale supplier of our own making after the public TPC-C specification: its nine tables, keys, mix and skew.

Not TPC-C and not comparable with its results: warehouses are few, terminals think a fifth of a second instead of many,
an order always has five lines, and a delivery serves one district. The skew is the specification's NURand.
"""

from __future__ import annotations

from tests.bench.lab.load import Group, Script, Workload
from tests.bench.lab.pace import Pace

WAREHOUSES = 6  # at scale 1: about 80 MB each
DISTRICTS, CUSTOMERS, STOCK, ORDERS, LINES, NEW_ORDERS = 10, 3000, 100_000, 3000, 5, 900
ITEMS = 100_000
CLIENTS, THINK_MS = 16, (100, 300)  # everything on the SSD is bound by thinking: about 80 transactions a second


def statements(pace: Pace) -> list[str]:
    """What builds and fills the tables, in order. Below one warehouse's worth, rows in each become fewer."""
    w, part = max(1, round(WAREHOUSES * pace.scale)), min(1.0, WAREHOUSES * pace.scale)
    items, customers, orders = round(ITEMS * part), round(CUSTOMERS * part), round(ORDERS * part)
    first_new = orders - round(NEW_ORDERS * part) + 1
    every = f"generate_series(1, {w}) AS w"
    return [
        "CREATE TABLE warehouse (w_id int PRIMARY KEY, w_tax numeric(4,4), w_ytd numeric(12,2), w_address char(60))",
        f"INSERT INTO warehouse SELECT w, 0.1, 0, 'x' FROM {every}",
        (
            "CREATE TABLE district (d_w_id int, d_id int, d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id int,"
            " d_address char(60), PRIMARY KEY (d_w_id, d_id))"
        ),
        f"INSERT INTO district SELECT w, d, 0.1, 0, {orders + 1}, 'x' FROM {every}, generate_series(1, {DISTRICTS}) d",
        "CREATE TABLE item (i_id int PRIMARY KEY, i_price numeric(5,2), i_name char(24), i_data char(40))",
        f"INSERT INTO item SELECT i, i % 100, 'x', 'x' FROM generate_series(1, {items}) AS i",
        (
            "CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_last varchar(16), c_balance numeric(12,2),"
            " c_data char(500), PRIMARY KEY (c_w_id, c_d_id, c_id))"
        ),
        (
            f"INSERT INTO customer SELECT w, d, c, 'NAME' || (c * 7919) % 1000, 0, 'x' FROM {every},"
            f" generate_series(1, {DISTRICTS}) d, generate_series(1, {customers}) c"
        ),
        "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last)",
        (
            "CREATE TABLE history (h_c_id int, h_c_d_id int, h_c_w_id int, h_at timestamptz, h_amount numeric(6,2),"
            " h_data char(24))"
        ),
        (
            f"INSERT INTO history SELECT c, d, w, now(), 10, 'x' FROM {every}, generate_series(1, {DISTRICTS}) d,"
            f" generate_series(1, {customers}) c"
        ),
        (
            "CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int, s_ytd int, s_data char(250),"
            " PRIMARY KEY (s_w_id, s_i_id)) WITH (fillfactor = 90)"
        ),
        f"INSERT INTO stock SELECT w, i, 50, 0, 'x' FROM {every}, generate_series(1, {items}) AS i",
        (
            "CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_at timestamptz, o_carrier int,"
            " PRIMARY KEY (o_w_id, o_d_id, o_id))"
        ),
        (
            f"INSERT INTO orders SELECT w, d, o, (o * 7919) % {customers} + 1, now(), 1 FROM {every},"
            f" generate_series(1, {DISTRICTS}) d, generate_series(1, {orders}) o"
        ),
        "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
        "CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
        (
            f"INSERT INTO new_order SELECT w, d, o FROM {every}, generate_series(1, {DISTRICTS}) d,"
            f" generate_series({first_new}, {orders}) o"
        ),
        (
            "CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int,"
            " ol_amount numeric(6,2), ol_delivered timestamptz, ol_info char(24),"
            " PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))"
        ),
        (
            f"INSERT INTO order_line SELECT w, d, o, l, (o * 31 + l * 7919) % {items} + 1, 10, now(), 'x' FROM {every},"
            f" generate_series(1, {DISTRICTS}) d, generate_series(1, {orders}) o, generate_series(1, {LINES}) l"
        ),
    ]


def workload(pace: Pace) -> Workload:
    """The specification's mix: 45, 43, 4, 4, 4; 60 % of payments by last name."""
    scripts = (
        Script(name="new_order", text=_new_order(pace), weight=450),
        Script(name="payment", text=_payment(pace, by_name=False), weight=172),
        Script(name="payment_by_name", text=_payment(pace, by_name=True), weight=258),
        Script(name="order_status", text=_order_status(pace), weight=40),
        Script(name="delivery", text=_delivery(pace), weight=40),
        Script(name="stock_level", text=_stock_level(pace), weight=40),
    )
    return Workload(groups=(Group(scripts=scripts, clients=CLIENTS),))


def _nurand(name: str, a: int, most: int) -> str:
    """NURand(a, 1, most) of the specification, its constant 0."""
    return f"\\set {name} (((random(0, {a}) | random(1, {most}))) % {most}) + 1\n"


def _draws(pace: Pace) -> str:
    w, part = max(1, round(WAREHOUSES * pace.scale)), min(1.0, WAREHOUSES * pace.scale)
    customer = _nurand("c", 1023, round(CUSTOMERS * part))
    return f"\\set w random(1, {w})\n\\set d random(1, {DISTRICTS})\n{customer}"


def _thinking() -> str:
    return f"\\set think random({THINK_MS[0]}, {THINK_MS[1]})\n\\sleep :think ms\n"


def _transaction(*lines: str) -> str:
    return "BEGIN;\n" + "".join(f"{line};\n" for line in lines) + "END;\n" + _thinking()


_CUSTOMER = "c_w_id = :w AND c_d_id = :d AND c_id = :c"
_DISTRICT = "d_w_id = :w AND d_id = :d"


def _new_order(pace: Pace) -> str:
    items = round(ITEMS * min(1.0, WAREHOUSES * pace.scale))
    draws = "".join(_nurand(f"i{line}", 8191, items) for line in range(LINES))
    ids = ", ".join(f":i{line}" for line in range(LINES))
    values = ", ".join(f"(:w, :d, :o, {line + 1}, :i{line}, 10, NULL, 'x')" for line in range(LINES))
    take = f"UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE {_DISTRICT} RETURNING d_next_o_id - 1 AS o"
    before = _draws(pace) + draws + "BEGIN;\n" + take + " \\gset\n"
    lines = (
        f"SELECT w_tax, c_balance FROM warehouse, customer WHERE w_id = :w AND {_CUSTOMER}",
        f"SELECT sum(i_price) FROM item WHERE i_id IN ({ids})",
        (
            f"UPDATE stock SET s_quantity = CASE WHEN s_quantity > 10 THEN s_quantity - 5 ELSE s_quantity + 86 END,"
            f" s_ytd = s_ytd + 5 WHERE s_w_id = :w AND s_i_id IN (SELECT unnest(ARRAY[{ids}]::int[]) ORDER BY 1)"
        ),
        "INSERT INTO orders VALUES (:w, :d, :o, :c, now(), NULL)",
        "INSERT INTO new_order VALUES (:w, :d, :o)",
        f"INSERT INTO order_line VALUES {values}",
    )
    return before + "".join(f"{line};\n" for line in lines) + "END;\n" + _thinking()


def _payment(pace: Pace, *, by_name: bool) -> str:
    name = _nurand("n", 255, 1000) if by_name else ""
    pay = f"UPDATE customer SET c_balance = c_balance - 10 WHERE {_CUSTOMER}"
    if by_name:
        pay = (
            "UPDATE customer SET c_balance = c_balance - 10 WHERE ctid = (SELECT ctid FROM customer"
            " WHERE c_w_id = :w AND c_d_id = :d AND c_last = 'NAME' || (:n - 1) ORDER BY c_id LIMIT 1)"
        )
    return (
        _draws(pace)
        + name
        + _transaction(
            pay,
            "INSERT INTO history VALUES (:c, :d, :w, now(), 10, 'x')",
            f"UPDATE district SET d_ytd = d_ytd + 10 WHERE {_DISTRICT}",
            "UPDATE warehouse SET w_ytd = w_ytd + 10 WHERE w_id = :w",
        )
    )


def _order_status(pace: Pace) -> str:
    return _draws(pace) + _transaction(
        f"SELECT c_balance FROM customer WHERE {_CUSTOMER}",
        "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = (SELECT o_id"
        " FROM orders WHERE o_w_id = :w AND o_d_id = :d AND o_c_id = :c ORDER BY o_id DESC LIMIT 1)",
    )


def _delivery(pace: Pace) -> str:
    return _draws(pace) + _transaction(
        "WITH oldest AS (DELETE FROM new_order WHERE no_w_id = :w AND no_d_id = :d AND no_o_id = (SELECT no_o_id"
        " FROM new_order WHERE no_w_id = :w AND no_d_id = :d ORDER BY no_o_id LIMIT 1) RETURNING no_o_id AS o),"
        " carried AS (UPDATE orders SET o_carrier = 2 FROM oldest WHERE o_w_id = :w AND o_d_id = :d AND o_id = o"
        " RETURNING o_c_id AS c),"
        " delivered AS (UPDATE order_line SET ol_delivered = now() FROM oldest"
        " WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = o RETURNING ol_amount)"
        " UPDATE customer SET c_balance = c_balance + (SELECT sum(ol_amount) FROM delivered) FROM carried"
        " WHERE c_w_id = :w AND c_d_id = :d AND c_id = carried.c",
    )


def _stock_level(pace: Pace) -> str:
    return _draws(pace) + _transaction(
        "SELECT count(DISTINCT s_i_id) FROM district, order_line, stock WHERE"
        f" {_DISTRICT} AND ol_w_id = :w AND ol_d_id = :d AND ol_o_id BETWEEN d_next_o_id - 20 AND d_next_o_id - 1"
        " AND s_w_id = :w AND s_i_id = ol_i_id AND s_quantity < 15",
    )
