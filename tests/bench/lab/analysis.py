"""A sales warehouse of our own making after the public TPC-H specification: its eight tables, keys, eight questions.

Not TPC-H and not comparable with its results: small, with statements of our own: scans and totals, joins by key, and
look-ups of a few parts' lines.
"""

from __future__ import annotations

from tests.bench.lab.load import Group, Script, Workload
from tests.bench.lab.pace import Pace

ORDERS, LINES, PARTS, CUSTOMERS, SUPPLIERS = 150_000, 4, 20_000, 15_000, 1_000  # at scale 1
CLIENTS = 2


def _rows(pace: Pace) -> tuple[int, int, int, int]:
    return tuple(max(50, round(n * pace.scale)) for n in (ORDERS, PARTS, CUSTOMERS, SUPPLIERS))  # type: ignore[return-value]  # four of them


def statements(pace: Pace) -> list[str]:
    """What builds and fills the tables, in order."""
    orders, parts, customers, suppliers = _rows(pace)
    return [
        "CREATE TABLE region (r_id int PRIMARY KEY, r_name char(25))",
        "INSERT INTO region SELECT r, 'R' || r FROM generate_series(1, 5) AS r",
        "CREATE TABLE nation (n_id int PRIMARY KEY, n_region int, n_name char(25))",
        "INSERT INTO nation SELECT n, n % 5 + 1, 'N' || n FROM generate_series(1, 25) AS n",
        "CREATE TABLE supplier (s_id int PRIMARY KEY, s_nation int, s_comment char(100))",
        f"INSERT INTO supplier SELECT s, s % 25 + 1, 'x' FROM generate_series(1, {suppliers}) AS s",
        "CREATE TABLE customer (c_id int PRIMARY KEY, c_nation int, c_segment int, c_comment char(120))",
        f"INSERT INTO customer SELECT c, c % 25 + 1, c % 5, 'x' FROM generate_series(1, {customers}) AS c",
        "CREATE TABLE part (p_id int PRIMARY KEY, p_brand int, p_type int, p_comment char(100))",
        f"INSERT INTO part SELECT p, p % 25, p % 150, 'x' FROM generate_series(1, {parts}) AS p",
        (
            "CREATE TABLE partsupp (ps_part int, ps_supplier int, ps_cost numeric(8,2), ps_comment char(120),"
            " PRIMARY KEY (ps_part, ps_supplier))"
        ),
        (
            f"INSERT INTO partsupp SELECT p, (p * 7 + s * {max(1, suppliers // 4)}) % {suppliers} + 1, p % 100, 'x'"
            f" FROM generate_series(1, {parts}) AS p, generate_series(0, 3) AS s"
        ),
        "CREATE TABLE orders (o_id int PRIMARY KEY, o_customer int, o_date date, o_priority int, o_comment char(60))",
        (
            f"INSERT INTO orders SELECT o, (o * 7919) % {customers} + 1, date '2020-01-01' + (o * 31) % 2400, o % 5,"
            f" 'x' FROM generate_series(1, {orders}) AS o"
        ),
        (
            "CREATE TABLE lineitem (l_order int, l_number int, l_part int, l_supplier int, l_quantity int,"
            " l_price numeric(8,2), l_discount numeric(3,2), l_shipped date, l_mode int, l_comment char(44),"
            " PRIMARY KEY (l_order, l_number))"
        ),
        (
            f"INSERT INTO lineitem SELECT o, l, (o * 10473 + l * 7919) % {parts} + 1, o % {suppliers} + 1,"
            f" (o + l) % 50 + 1, o % 900 + 1, (o % 10) / 100.0, date '2020-01-01' + (o * 31) % 2400 + l * 9, o % 7, 'x'"
            f" FROM generate_series(1, {orders}) AS o, generate_series(1, {LINES}) AS l"
        ),
        "CREATE INDEX lineitem_part ON lineitem (l_part)",
        "CREATE INDEX orders_customer ON orders (o_customer)",
    ]


def workload(pace: Pace) -> Workload:
    """Two people who ask one question after the other."""
    _, parts, customers, _ = _rows(pace)
    year = "\\set y random(2020, 2025)\n"
    between = "BETWEEN make_date(:y::int, 1, 1) AND make_date(:y::int, 12, 31)"
    questions = {
        "pricing": "SELECT l_mode, sum(l_quantity), sum(l_price * (1 - l_discount)) FROM lineitem GROUP BY l_mode",
        "revenue": f"SELECT sum(l_price * l_discount) FROM lineitem WHERE l_shipped {between} AND l_quantity < 24",
        "priority": f"SELECT o_priority, count(*) FROM orders WHERE o_date {between} GROUP BY o_priority",
        "promotion": "SELECT sum(l_price) FROM part JOIN lineitem ON l_part = p_id WHERE p_id BETWEEN :p AND :p + 4",
        "small": "SELECT avg(l_quantity) FROM lineitem WHERE l_part = :p",
        "customer": "SELECT sum(l_price) FROM orders JOIN lineitem ON l_order = o_id WHERE o_customer = :c",
        "supply": "SELECT min(ps_cost) FROM partsupp JOIN supplier ON s_id = ps_supplier"
                  " WHERE ps_part BETWEEN :p AND :p + 4",
        "nation": "SELECT n_name, count(*) FROM customer JOIN nation ON n_id = c_nation GROUP BY n_name",
    }  # fmt: skip
    weights = {"pricing": 2, "revenue": 2, "priority": 3, "nation": 3, "promotion": 30, "small": 30, "customer": 30,
               "supply": 20}  # fmt: skip
    draws = year + f"\\set p random(1, {parts - 5})\n\\set c random(1, {customers})\n"
    scripts = tuple(
        Script(name=name, text=f"{draws}{text};\n", weight=weights[name]) for name, text in questions.items()
    )
    return Workload(groups=(Group(scripts=scripts, clients=CLIENTS),))
