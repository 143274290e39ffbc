"""The sample configuration is the reference of every key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from pydantic import BaseModel

from agent.config.models import Config
from agent.config.sample import sample
from connectors.kit.registry import engine_names


def all_keys(model: type[BaseModel]) -> Iterator[str]:
    """Every key of a model and of the models within it, as written in the file."""
    for name, field in model.model_fields.items():
        yield field.alias or name
        for inner in models_in(field.annotation):
            yield from all_keys(inner)


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Models within an annotation such as ``tuple[Model, ...] | None``."""
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)


@pytest.mark.parametrize("engine", engine_names())
def test_every_key_stands_in_the_sample_with_a_word_about_it(engine: str) -> None:
    """Whoever adds a key describes it where people will look for it."""
    text = sample(engine)
    keys = set(all_keys(Config))
    assert len(keys) > 40
    absent = {key for key in keys if not re.search(rf"(^|[\s{{#-]){re.escape(key)}:?\s", text, re.MULTILINE)}
    assert not absent, f"not in the sample: {sorted(absent)}"
