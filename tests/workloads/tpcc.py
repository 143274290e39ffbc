"""The tables and indexes of TPC-C with sizes and accesses from its public specification (revision 5.11).

Sizes: clause 1.2 (rows per warehouse) and 1.3 (bytes a row, as the specification estimates them); index entries of 16
bytes, pages three quarters full. Accesses: rows touched by each transaction of the prescribed mix (clauses 2.4 to 2.8).
Skew: customer and item numbers come from NURand, so the hottest fifth of the stock takes most of its accesses; here as
two classes of pages, 84 % of accesses on 20 % of pages for stock and item, 75 % on 25 % for customer. What reaches
storage is what a buffer pool of a given size misses (characteristic-time approximation of LRU, Che 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import F64, NO_PARENT, SIGNALS, Signal
from tests.workloads.catalogue import Catalogue

PAGE = 8192
FILL = 0.75
ENTRY = 16
NEW_ORDER, PAYMENT, STATUS, DELIVERY, LEVEL = 0.45, 0.43, 0.04, 0.04, 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A table or an index: rows a warehouse, bytes a row, page touches and writes a transaction, and its skew."""

    name: str
    rows: float  # per warehouse; of item: in all
    row_bytes: float
    touches: float  # random page reads asked of the buffer pool, per transaction
    writes: float = 0.0
    hot_pages: float = 0.2  # this share of the pages ...
    hot_touches: float = 0.2  # ... takes this share of the touches
    of: str = ""  # the table of an index

    def pages(self, warehouses: int) -> float:
        """Pages of it, at least one."""
        rows = self.rows * (1 if self.name.startswith("item") else warehouses)
        return max(1.0, rows * self.row_bytes / (PAGE * FILL))


def _parts() -> list[Part]:
    by_name = 0.6  # of customers are looked up by last name: three rows by the name index, then the middle one
    customer = NEW_ORDER + PAYMENT * (1 + 2 * by_name) + STATUS * (1 + 2 * by_name) + DELIVERY * 10
    lines = 10 * NEW_ORDER
    tables = [
        Part(name="warehouse", rows=1, row_bytes=89, touches=NEW_ORDER + PAYMENT, writes=PAYMENT),
        Part(name="district", rows=10, row_bytes=95, touches=NEW_ORDER + PAYMENT + LEVEL, writes=NEW_ORDER + PAYMENT),
        Part(
            name="customer", rows=30_000, row_bytes=655, touches=customer, writes=PAYMENT + 10 * DELIVERY,
            hot_pages=0.25, hot_touches=0.75,
        ),
        Part(name="history", rows=30_000, row_bytes=46, touches=0.0, writes=PAYMENT),
        Part(name="new_order", rows=9_000, row_bytes=8, touches=10 * DELIVERY, writes=NEW_ORDER + 10 * DELIVERY),
        Part(name="orders", rows=30_000, row_bytes=24, touches=STATUS + 10 * DELIVERY, writes=NEW_ORDER),
        Part(
            name="order_line", rows=300_000, row_bytes=54, touches=STATUS + 10 * DELIVERY + 2 * LEVEL, writes=NEW_ORDER,
            hot_pages=0.1, hot_touches=0.8,
        ),
        Part(name="item", rows=100_000, row_bytes=82, touches=lines, hot_pages=0.2, hot_touches=0.84),
        Part(
            name="stock", rows=100_000, row_bytes=306, touches=lines + 200 * LEVEL, writes=lines,
            hot_pages=0.2, hot_touches=0.84,
        ),
    ]  # fmt: skip
    return [*tables, *_indexes(customer, lines, by_name)]


def _indexes(customer: float, lines: float, by_name: float) -> list[Part]:
    """One leaf page a lookup; the levels above are always in the pool."""

    def index(name: str, of: str, rows: float, touches: float, hot: tuple[float, float] = (0.2, 0.2)) -> Part:
        return Part(name=name, rows=rows, row_bytes=ENTRY, touches=touches, hot_pages=hot[0], hot_touches=hot[1], of=of)

    return [
        index("customer_pk", "customer", 30_000, NEW_ORDER + PAYMENT * (1 - by_name) + 10 * DELIVERY, (0.25, 0.75)),
        index("customer_name", "customer", 30_000, (PAYMENT + STATUS) * by_name, (0.25, 0.75)),
        index("new_order_pk", "new_order", 9_000, 10 * DELIVERY),
        index("orders_pk", "orders", 30_000, 10 * DELIVERY),
        index("orders_customer", "orders", 30_000, STATUS),
        index("order_line_pk", "order_line", 300_000, STATUS + 10 * DELIVERY + LEVEL, (0.1, 0.8)),
        index("item_pk", "item", 100_000, lines, (0.2, 0.84)),
        index("stock_pk", "stock", 100_000, lines + 200 * LEVEL, (0.2, 0.84)),
    ]


def tpcc(warehouses: int = 100, *, pool_share: float = 0.08, transactions: float = 100.0) -> Catalogue:
    """The catalogue with what its buffer pool misses.

    Args:
        warehouses: scale, about 80 MB each.
        pool_share: buffer pool, as a share of all bytes.
        transactions: per second.
    """
    parts = _parts()
    pages = np.array([part.pages(warehouses) for part in parts])
    touches = np.array([part.touches for part in parts])
    misses = _misses(parts, pages, touches, pool_share * float(pages.sum()))
    rates = np.zeros((SIGNALS, len(parts)))
    rates[Signal.LOGICAL_READ] = touches * transactions
    rates[Signal.SYNC_READ] = misses * transactions
    rates[Signal.ASYNC_WRITE] = np.array([part.writes for part in parts]) * transactions
    names = [part.name for part in parts]
    return Catalogue(
        key=[f"tpcc.{name}" for name in names],
        kind=np.array([UnitKind.INDEX if part.of else UnitKind.TABLE for part in parts], dtype=np.int8),
        size_bytes=(pages * PAGE).astype(np.int64),
        parent=np.array([names.index(part.of) if part.of else NO_PARENT for part in parts], dtype=np.int64),
        rates=rates,
    )


def _misses(parts: list[Part], pages: F64, touches: F64, pool_pages: float) -> F64:
    """Page touches a transaction that the pool does not hold, by part."""
    hot = np.array([(part.hot_pages, part.hot_touches) for part in parts]).T
    held = np.stack((pages * hot[0], pages * (1 - hot[0])))
    asked = np.stack((touches * hot[1], touches * (1 - hot[1])))
    per_page = asked / held
    low, high = 0.0, 1e15
    for _ in range(200):
        time = (low + high) / 2
        low, high = (low, time) if float((held * -np.expm1(-per_page * time)).sum()) > pool_pages else (time, high)
    return np.asarray((asked * np.exp(-per_page * low)).sum(axis=0), dtype=np.float64)
