"""The tool that makes mistakes: it changes one place, finds the tests that pass by it, and tells who notices."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

from tests.mutants.__main__ import passing_by
from tests.mutants.drawing import LEFT_OUT, ROOT, Mutant, draw, fixed
from tests.mutants.named import NAMED, Named
from tests.mutants.operators import changes
from tests.mutants.running import KILLED, SURVIVED, in_order
from tests.over import over

TEXT = '''"""A module."""
import os
LIMIT: int = 3

def näher(a: int, b: int = 2) -> bool:
    """What it does: not a mistake if this < that."""
    if a < b and not os.name:
        log.info("ü")
        forget(a)
        return True
    raise ValueError(f"{a + 1}")
'''
EXPECTED = {
    ("constant", "3", "4"), ("constant", "2", "3"), ("constant", "True", "False"),
    ("comparison", "a < b", "(a <= b)"), ("connective", "a < b and not os.name", "(a < b or not os.name)"),
    ("part left out", "a < b and not os.name", "(a < b)"), ("part left out", "a < b and not os.name", "(not os.name)"),
    ("condition", "a < b and not os.name", "(not (a < b and (not os.name)))"), ("sign", "not os.name", "(os.name)"),
    ("statement left out", "forget(a)", "pass"), ("result is None", "return True", "return None"),
    ("no error", 'raise ValueError(f"{a + 1}")', "pass"),
}  # fmt: skip
RUN = """
import json, sys
from tests.mutants.drawing import ROOT
from tests.mutants.running import prepare, run
path, test, right, wrong = sys.argv[1:]
text = (ROOT / path).read_text()
assert text.count(right) == 1
prepare()
print(json.dumps([run(path, each, [test], 60).outcome for each in dict.fromkeys((text, text.replace(right, wrong)))]))
"""


def test_every_kind_of_mistake_is_made() -> None:
    """What is carried out is changed, one place at a time; wording, annotations and imports are left alone."""
    found = changes(TEXT)
    assert {(each.kind, each.before, each.after) for each in found} == EXPECTED
    for each in found:
        made = each.applied(TEXT)
        compile(made, "made", "exec")
        assert made.replace(each.after, each.before, 1) == TEXT or each.after in TEXT
        assert TEXT.splitlines()[each.line - 1].strip()


def test_a_sample_repeats_itself() -> None:
    """By its seed; its beginning is what a smaller one is, and none is of what may not change any more."""
    sample = draw(40)
    assert draw(40) == sample
    assert draw(40, seed=24) != sample
    assert not [mutant for mutant in sample if mutant.path.startswith(LEFT_OUT)]
    for mutant in sample:
        assert ast.dump(ast.parse(mutant.change.applied(mutant.text))) != ast.dump(ast.parse(mutant.text))


@over("named", NAMED)
def test_what_has_a_name_can_still_be_made(named: Named) -> None:
    """Its place stands in the module once, and the tests that are to notice it are there."""
    compile(named.text(), named.path, "exec")
    assert all((ROOT / test.partition("::")[0]).exists() for test in named.tests)


def test_the_fixed_list_can_still_be_made() -> None:
    """Each of the sixty stands in the code, and so does the test that noticed it."""
    found = fixed()
    assert len({mutant.name for mutant, _ in found}) == 60
    assert all((ROOT / test.partition("::")[0]).exists() for _, test in found)


def test_tests_are_found_by_the_lines_they_pass_by() -> None:
    """Those of its line; of a line that is carried out on import, those of its module."""
    (of_import, in_function) = (Mutant("a.py", each, TEXT) for each in changes(TEXT) if each.before in {"3", "a < b"})
    covered = {
        "one": {"seconds": 1.0, "lines": {"a.py": [7]}}, "two": {"seconds": 2.0, "lines": {"a.py": [9]}},
        "other": {"seconds": 0.1, "lines": {"b.py": [7]}},
    }  # fmt: skip
    assert passing_by(in_function, covered) == {"one": 1.0}
    assert passing_by(of_import, covered) == {"one": 1.0, "two": 2.0}


def test_quick_tests_come_first_and_files_stay_together() -> None:
    """As many as fit into the time, one in any case."""
    seconds = {"a::1": 3.0, "b::1": 1.0, "b::2": 4.0, "c::1": 2.0, "d::1": 50.0}
    assert list(in_order(seconds, 10.0)) == ["b::1", "b::2", "c::1", "a::1"]
    assert list(in_order({"d::1": 50.0}, 10.0)) == ["d::1"]


def test_a_mistake_is_noticed_and_none_is_not() -> None:
    """In a process that has not imported the module yet; the module as it is passes the same test."""
    path, test = "agent/moving/transition_rules.py", "tests/unit/agent/execution/test_transition_rules.py"
    mistake = ("return TryEnd.DONE", "return None")
    done = subprocess.run([sys.executable, "-c", RUN, path, test, *mistake], cwd=ROOT, capture_output=True, text=True)
    assert json.loads(done.stdout or "null") == [SURVIVED, KILLED], done.stderr


def test_tests_that_give_up_roots_rights_pass_without_a_mistake() -> None:
    """What they make lies in the folder of the run, which any user can reach."""
    path, test = "agent/ledger/errors.py", "tests/ledger/test_opening.py::test_a_file_that_cannot_be_written_is_named"
    as_it_is = ("def translate_error(", "def translate_error(")
    done = subprocess.run([sys.executable, "-c", RUN, path, test, *as_it_is], cwd=ROOT, capture_output=True, text=True)
    assert json.loads(done.stdout or "null") == [SURVIVED], done.stderr
