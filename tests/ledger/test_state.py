"""Arrays, documents and slots: the newest of each name, stable numbers for keys."""

from __future__ import annotations

import ast
import threading
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agent
from agent.ledger import state_names
from agent.ledger.errors import LedgerCorrupt
from agent.ledger.ledger import Ledger
from tests.examples import examples
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper

NAME_ARGUMENT = {  # position of the name among the arguments of each method of the ledger's state
    "save_arrays": 1, "share_arrays": 1, "load_arrays": 1, "forget_arrays": 0, "save_document": 1, "load_document": 1,
}  # fmt: skip


def test_arrays_are_kept_by_database_and_name(ledger: Ledger, clock: StillClock) -> None:
    """The newest replaces; others stay; what was never saved is None."""
    first = {"heat": np.arange(6.0).reshape(2, 3), "slots": np.array([3, 1, 2])}
    later = clock.now() + timedelta(minutes=5)
    ledger.state.save_arrays("shop", "heat", clock.now(), first)
    ledger.state.save_arrays("hr", "heat", clock.now(), {})
    ledger.state.save_arrays("shop", "heat", later, {**first, "more": np.array(True)})
    stored = ledger.state.load_arrays("shop", "heat")
    assert stored is not None
    assert stored[0] == later
    assert list(stored[1]) == ["heat", "slots", "more"]
    np.testing.assert_array_equal(stored[1]["heat"], first["heat"])
    assert ledger.state.load_arrays("hr", "heat") == (clock.now(), {})
    assert ledger.state.load_arrays("shop", "speed") is None


def test_damaged_arrays_are_named(ledger: Ledger, clock: StillClock, tamper: Tamper) -> None:
    """Never returned as numbers."""
    ledger.state.save_arrays("shop", "heat", clock.now(), {"heat": np.arange(100.0)})
    tamper("UPDATE arrays SET body = substr(body, 1, 20)")
    with pytest.raises(LedgerCorrupt, match="'heat' of shop"):
        ledger.state.load_arrays("shop", "heat")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(JSON)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_document_comes_back(ledger: Ledger, clock: StillClock, document: object) -> None:
    """Any JSON value, with the time it was saved."""
    ledger.state.save_document("shop", "status", document)
    assert ledger.state.load_document("shop", "status") == (clock.now(), document)


def test_what_is_no_json_is_refused(ledger: Ledger) -> None:
    """And the document before stays."""
    ledger.state.save_document("shop", "status", {"fine": True})
    for bad in (float("nan"), {1, 2}):
        with pytest.raises((ValueError, TypeError)):
            ledger.state.save_document("shop", "status", bad)
    stored = ledger.state.load_document("shop", "status")
    assert stored is not None
    assert stored[1] == {"fine": True}
    assert ledger.state.load_document("hr", "status") is None


def test_a_key_keeps_its_slot(ledger: Ledger, path: Path, clock: StillClock) -> None:
    """Through new keys, other orders, repeats, reopening and other databases; numbers have no holes."""
    assert ledger.slots.of("shop", ["a", "b", "a"]).tolist() == [0, 1, 0]
    assert ledger.slots.of("hr", ["b"]).tolist() == [0]
    assert ledger.slots.of("shop", ["c", "b", "a"]).tolist() == [2, 1, 0]
    with Ledger.open(path, clock) as again:
        assert again.slots.of("shop", ["a", "d", "c"]).tolist() == [0, 3, 2]
    assert ledger.slots.of("shop", ["e", "d"]).tolist() == [4, 3]
    empty = ledger.slots.of("shop", [])
    assert empty.dtype == np.int64
    assert empty.tolist() == []


# Without NUL, which no engine takes in a name and PostgreSQL in no text.
KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@given(st.lists(st.lists(KEYS, max_size=8), max_size=5))
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_different_keys_have_different_slots(ledger: Ledger, batches: list[list[str]]) -> None:
    """Whatever they are called and in whatever batches they come."""
    for keys in batches:
        ledger.slots.of("any", keys)
    every = sorted({key for keys in batches for key in keys})
    slots = ledger.slots.of("any", every)
    assert len(set(slots.tolist())) == len(every)


def test_threads_agree_on_slots(ledger: Ledger) -> None:
    """Sampling and acting share a ledger."""
    answers: list[list[int]] = []
    keys = [f"t{n}" for n in range(500)]
    threads = [
        threading.Thread(target=lambda: answers.append(ledger.slots.of("shop", keys).tolist())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [list(range(500))] * 4


def _is_argument(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(tree))


def _unlisted_names(path: Path) -> list[str]:
    """Where a module reads or writes state under a name that it does not take from the list."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    listed = {alias.name for node in imports if node.module == state_names.__name__ for alias in node.names}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in NAME_ARGUMENT:
            name = node.args[NAME_ARGUMENT[node.func.attr]]
            name = name.func if isinstance(name, ast.Call) else name
            if not isinstance(name, ast.Name) or not (name.id in listed or _is_argument(tree, name.id)):
                found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_every_name_of_stored_state_stands_in_one_list() -> None:
    """No part of the agent makes up a name of its own, and no two names are equal."""
    agent_folder = Path(agent.__file__).parent
    modules = [path for path in agent_folder.rglob("*.py") if "ledger" not in path.relative_to(agent_folder).parts]
    assert [place for path in modules for place in _unlisted_names(path)] == []
    constants = [value for name, value in vars(state_names).items() if name.isupper()]
    assert len(constants) > 20
    assert len(set(constants)) == len(constants)
