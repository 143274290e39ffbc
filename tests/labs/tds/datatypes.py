"""The answer to sp_datatype_info: what drivers ask on connecting to learn how precise a parameter may be."""

from __future__ import annotations

from tests.labs.tds.backend import Rows
from tests.labs.tds.values import Column, Kind

SQL_DATETIME, TIMESTAMP_SUBTYPE = 9, 3
_TEXT, _SMALL, _INT = Kind.NVARCHAR, Kind.SMALLINT, Kind.INT
COLUMNS = tuple(
    Column(name, kind, 128 if kind is _TEXT else 0)
    for name, kind in (
        ("TYPE_NAME", _TEXT),
        ("DATA_TYPE", _SMALL),
        ("PRECISION", _INT),
        ("LITERAL_PREFIX", _TEXT),
        ("LITERAL_SUFFIX", _TEXT),
        ("CREATE_PARAMS", _TEXT),
        ("NULLABLE", _SMALL),
        ("CASE_SENSITIVE", _SMALL),
        ("SEARCHABLE", _SMALL),
        ("UNSIGNED_ATTRIBUTE", _SMALL),
        ("MONEY", _SMALL),
        ("AUTO_INCREMENT", _SMALL),
        ("LOCAL_TYPE_NAME", _TEXT),
        ("MINIMUM_SCALE", _SMALL),
        ("MAXIMUM_SCALE", _SMALL),
        ("SQL_DATA_TYPE", _SMALL),
        ("SQL_DATETIME_SUB", _SMALL),
        ("NUM_PREC_RADIX", _INT),
        ("INTERVAL_PRECISION", _SMALL),
        ("USERTYPE", _SMALL),
    )
)
# ODBC type -> name, precision, maximal scale
_TYPES = {
    93: ("datetime2", 27, 7),
    11: ("datetime2", 27, 7),
    -9: ("nvarchar", 4000, None),
    12: ("varchar", 8000, None),
    -3: ("varbinary", 8000, None),
    -2: ("binary", 8000, None),
    -8: ("nchar", 4000, None),
    1: ("char", 8000, None),
}


def datatype_info(odbc_type: int) -> Rows:
    """One row for a type the drivers ask about, none for others."""
    if odbc_type not in _TYPES:
        return Rows(COLUMNS, ())
    name, precision, scale = _TYPES[odbc_type]
    timestamp = name == "datetime2"
    row = (
        name,
        odbc_type,
        precision,
        "'",
        "'",
        None,
        1,
        0,
        3,
        None,
        0,
        None,
        name,
        None if scale is None else 0,
        scale,
    )
    return Rows(
        COLUMNS,
        ((*row, SQL_DATETIME if timestamp else odbc_type, TIMESTAMP_SUBTYPE if timestamp else None, None, None, 0),),
    )
