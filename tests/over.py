"""One test over many values: all of them are tried, and the failure says which of them are wrong.

``pytest.mark.parametrize`` makes a test of each value, which costs every worker some milliseconds. Where a value needs
no fixture of its own and takes less than that, this says the same without the cost.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


def over(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Call the test with every value.

    Args:
        names: of its arguments that the values are; several names: each value is a tuple of as many.
        values: never none, or the test would say nothing.

    Raises:
        ExceptionGroup: from the test, with a note at each failure which value it was.
    """
    wanted = (names,) if isinstance(names, str) else names
    rows = [(value,) if isinstance(names, str) else tuple(value) for value in values]
    assert rows

    def over_all(test: Test) -> Test:
        @functools.wraps(test)
        def looped(**fixtures: Any) -> None:
            wrong = [found for row in rows if (found := _tried(test, dict(zip(wanted, row, strict=True)), fixtures))]
            if wrong:
                raise ExceptionGroup(f"{len(wrong)} of {len(rows)} values of {', '.join(wanted)}", wrong)

        signature = inspect.signature(test)
        left = [argument for name, argument in signature.parameters.items() if name not in wanted]
        looped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  # pytest reads it
        return looped  # type: ignore[return-value]

    return over_all


def _tried(test: Callable[..., None], values: dict[str, Any], fixtures: dict[str, Any]) -> Exception | None:
    try:
        test(**values, **fixtures)
    except Exception as found:  # noqa: BLE001  # raised again with the others
        found.add_note(f"of {values!r}")
        return found
    return None
