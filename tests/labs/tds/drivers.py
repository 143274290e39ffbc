"""ODBC drivers of this machine: Microsoft's, as test data from PyPI, and Debian's FreeTDS.

Microsoft's may be used to develop and test; it is never vendored nor shipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

FREETDS_PATTERN = "usr/lib/*/odbc/libtdsodbc.so"
MICROSOFT_PATTERN = "libs/linux/debian_ubuntu/x86_64/lib/libmsodbcsql-18*.so*"


@dataclass(frozen=True, slots=True)
class OdbcDriver:
    """One driver; ``missing`` says why it cannot be used here, "" when it can."""

    name: str
    path: str
    microsoft: bool
    missing: str = ""

    def options(self, *, encrypted: bool = False, trusted: bool = True) -> str:
        """What its connection strings need besides server and user."""
        if not self.microsoft:
            return f"TDS_Version=7.4;ClientCharset=UTF-8;Encryption={'require' if encrypted else 'off'};"
        encrypt, trust = ("yes" if yes else "no" for yes in (encrypted, trusted))
        return f"Encrypt={encrypt};TrustServerCertificate={trust};"

    def string(self, port: int, user: str, password: str, database: str = "", options: str = "") -> str:
        """A whole connection string."""
        server = f"SERVER=127.0.0.1,{port};" if self.microsoft else f"SERVER=127.0.0.1;PORT={port};"
        named = f"DATABASE={database};" if database else ""
        return f"DRIVER={self.path};{server}UID={user};PWD={{{password}}};{named}{options or self.options()}"


def freetds() -> OdbcDriver:
    """FreeTDS from Debian's tdsodbc."""
    found = next(Path("/").glob(FREETDS_PATTERN), None)
    why = "" if found else "FreeTDS is not installed: apt-get install tdsodbc unixodbc"
    return OdbcDriver("FreeTDS", str(found or ""), microsoft=False, missing=why or _without_pyodbc())


def microsoft() -> OdbcDriver:
    """ODBC Driver 18 from the package mssql-python-odbc."""
    package = find_spec("mssql_python_odbc")
    folders = list(package.submodule_search_locations or ()) if package else []
    found = next((path for folder in folders for path in Path(folder).glob(MICROSOFT_PATTERN)), None)
    why = "" if found else "Microsoft ODBC Driver 18 is not installed: make components brings it"
    return OdbcDriver("ODBC Driver 18", str(found or ""), microsoft=True, missing=why or _without_pyodbc())


def _without_pyodbc() -> str:
    try:
        __import__("pyodbc")
    except ImportError as error:
        return f"pyodbc cannot be used: {error}"
    return ""


def drivers() -> tuple[OdbcDriver, ...]:
    """Both, whether they are there or not."""
    return freetds(), microsoft()
