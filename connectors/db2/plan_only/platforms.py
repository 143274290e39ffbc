"""Which Db2 answers: three products of one name, with catalogs and statements of their own. Pure."""

from __future__ import annotations

from enum import StrEnum

from connectors.base import CannotConnect


class Platform(StrEnum):
    """The products."""

    LUW = "luw"
    I = "i"  # noqa: E741  # IBM calls it so
    ZOS = "zos"


TITLES = {Platform.LUW: "Db2", Platform.I: "Db2 for i", Platform.ZOS: "Db2 for z/OS"}
_PRODUCTS = {"SQL": Platform.LUW, "DSN": Platform.ZOS, "QSQ": Platform.I}  # first letters of a DRDA product id


def platform_of(dbms_name: str, product: str = "") -> Platform | None:
    """The product by SQL_DBMS_NAME, else by its product id; None: it says neither.

    LUW names its operating system (``DB2/LINUXX8664``), z/OS says ``DB2`` and no more, i says ``AS`` through IBM's CLI
    driver and ``DB2/400 SQL`` through that of IBM i Access.
    """
    name = dbms_name.strip().upper()
    if name.startswith(("DB2/400", "DB2 FOR I")) or name in {"AS", "QDB2"}:
        return Platform.I
    if name.startswith("DB2/"):
        return Platform.LUW
    return Platform.ZOS if name == "DB2" else _PRODUCTS.get(product[:3].upper())


def insist_on(wanted: Platform, found: Platform | None, where: str) -> None:
    """Refuse to go on with another product than was configured; one that says nothing is taken at the word.

    Raises:
        CannotConnect: with the setting that fits.
    """
    if found is not None and found is not wanted:
        raise CannotConnect(
            f"{where} is {TITLES[found]}, and the configuration speaks of {TITLES[wanted]}",
            advice=f"Set platform: {found} in its connection; for i and zos there are plans only.",
        )
