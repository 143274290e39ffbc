"""``python -m tests.frozen --write [NAME ...]`` keeps what comes now; ``--print NAME [ITEM]`` shows it."""

from __future__ import annotations

import argparse
import sys

from tests.frozen.kept import differences, foreign, write
from tests.frozen.subjects import SUBJECTS, make


def main() -> None:
    """Write or print what is asked for; say which subjects changed."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("--write", nargs="*", metavar="NAME", choices=SUBJECTS, help="keep these, or all")
    parser.add_argument("--print", nargs="+", metavar=("NAME", "ITEM"), help="show a subject, or one item of it")
    asked = parser.parse_args()
    if asked.print:
        name, *items = asked.print
        made = make(name)
        for item, text in (*made.whole.items(), *made.hashed.items()):
            if not items or item in items:
                sys.stdout.write(f"======== {item}\n{text.rstrip()}\n")
    elif asked.write is None:
        parser.error("--write or --print")
    for name in () if asked.print else asked.write or SUBJECTS:
        made = make(name)
        if lines := foreign(made):
            sys.exit(f"{name} holds what belongs to this machine or day:\n" + "\n".join(lines))
        if differences(name, made):
            write(name, made)
            sys.stdout.write(f"{name} written\n")


if __name__ == "__main__":
    main()
