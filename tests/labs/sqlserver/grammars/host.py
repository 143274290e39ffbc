"""Runs a .NET assembly in the runtime of a folder, in a process of its own: ``python host.py FOLDER ASSEMBLY``.

By the two functions that coreclr is hosted with, coreclr_initialize and coreclr_execute_assembly.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

UNSIGNED = 0xFFFFFFFF


def main(folder: Path, assembly: str) -> int:
    """The exit code of the assembly.

    Raises:
        RuntimeError: the runtime refused.
    """
    os.environ["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1"  # it finds no ICU of its age here
    runtime = ctypes.CDLL(str(folder / "libcoreclr.so"))
    host, domain, code = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint()
    names, values = _properties(folder)
    started = runtime.coreclr_initialize(
        sys.executable.encode(), b"check", len(names), names, values, ctypes.byref(host), ctypes.byref(domain)
    )
    if started:
        raise RuntimeError(f"coreclr_initialize of {folder}: {started & UNSIGNED:#x}")
    ran = runtime.coreclr_execute_assembly(host, domain, 0, None, assembly.encode(), ctypes.byref(code))
    if ran:
        raise RuntimeError(f"coreclr_execute_assembly of {assembly}: {ran & UNSIGNED:#x}")
    return code.value


def _properties(folder: Path) -> tuple[ctypes.Array[ctypes.c_char_p], ctypes.Array[ctypes.c_char_p]]:
    """Names and values: where assemblies and native libraries are."""
    given = {
        "TRUSTED_PLATFORM_ASSEMBLIES": ":".join(str(file) for file in folder.glob("*.dll")),
        "APP_PATHS": str(folder),
        "NATIVE_DLL_SEARCH_DIRECTORIES": str(folder),
        "System.Globalization.Invariant": "true",
    }
    strings = ctypes.c_char_p * len(given)
    return strings(*(n.encode() for n in given)), strings(*(v.encode() for v in given.values()))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
