"""Findings and capabilities: each constructor sets what its name says and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from connectors.findings import Capability, Finding, Severity


def test_a_finding_that_is_well_has_no_remedy() -> None:
    """An ok finding carries code, sentence and values."""
    found = Finding.ok("space", "the space is there", about_moving=True, values={"space": "fast"})
    assert found == Finding(
        severity=Severity.OK, code="space", sentence="the space is there", about_moving=True, values={"space": "fast"}
    )


@pytest.mark.parametrize(
    ("build", "severity"),
    [
        (Finding.info, Severity.INFO),
        (Finding.warning, Severity.WARNING),
        (Finding.error, Severity.ERROR),
    ],
)
def test_each_constructor_sets_its_severity(build: Callable[..., Finding], severity: Severity) -> None:
    """Info, warning and error differ in severity alone and keep the remedy."""
    found = build("timing_off", "timing is off", "Switch it on.", values={"space": "fast"})
    assert found == Finding(
        severity=severity, code="timing_off", sentence="timing is off", remedy="Switch it on.", values={"space": "fast"}
    )


@pytest.mark.parametrize(
    ("available", "because", "advice"), [(True, "there is a log", ""), (False, "there is not a log", "Make one.")]
)
def test_a_capability_gives_advice_only_where_it_is_missing(available: bool, because: str, advice: str) -> None:
    """The reason follows from what is there; advice is left out where it is."""
    found = Capability.of("moves", available, "a log", "Make one.")
    assert found == Capability(name="moves", available=available, because=because, advice=advice)
