"""Items of the declared sizes: how large each is to be, and texts stretched or cut until it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from statistics import NormalDist
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from keyplan.design.field_types import without_none
from keyplan.design.workload import Bytes
from keyplan.verify.recipes import unwrapped

_NORMAL = NormalDist()
_Z99 = _NORMAL.inv_cdf(0.99)
_SPREAD = 0.1
"""The spread of sizes of which only the average is said: log-normal sigma."""
_MOST = 400_000
"""Of what nothing bounds: a little less than the bytes of an item."""
FILLER = "lorem ipsum dolor sit amet "


def target_sizes(told: Bytes, count: int, chance: Random) -> list[int]:
    """A size for each of so many items: log-normal, with the declared average and 99th percentile."""
    sigma = _sigma(told)
    middle = math.log(max(1, told.average)) - sigma * sigma / 2
    found = [math.exp(middle + sigma * _NORMAL.inv_cdf((number + 0.5) / count)) for number in range(count)]
    most = told.most if told.most is not None else _MOST
    sizes = [min(most, round(size)) for size in found]
    chance.shuffle(sizes)
    return sizes


def _sigma(told: Bytes) -> float:
    """From average m and 99th percentile q of a log-normal: sigma² / 2 - z sigma + ln(q / m) = 0."""
    if told.p99 is None or told.p99 <= told.average or told.average <= 0:
        return _SPREAD
    inside = _Z99 * _Z99 - 2 * math.log(told.p99 / told.average)
    return _Z99 - math.sqrt(max(0.0, inside))  # a tail beyond what any log-normal has is the longest there is


def stretch(annotation: Any, value: Any, by: int, metadata: Sequence[Any] = ()) -> tuple[Any, int]:
    """A value with a text in it made longer or shorter by so many bytes, and how many it became."""
    plain, _ = without_none(annotation)
    if plain is str and isinstance(value, str):
        least, most = length_limits(annotation, metadata)
        return _stretch_text(value, by, least, most)
    if get_origin(plain) in {list, tuple} and value and get_args(plain):
        first, done = stretch(get_args(plain)[0], value[0], by)
        return type(value)([first, *value[1:]]), done
    if isinstance(value, BaseModel) and not metadata:
        return _stretch_model(value, by)
    return value, 0


def length_limits(annotation: Any, metadata: Sequence[Any]) -> tuple[int, int]:
    """The least and most characters or elements that a type allows; none at all where it must have a certain form."""
    least, most = 1, _MOST
    for mark in unwrapped(annotation, metadata)[1]:
        if getattr(mark, "pattern", None) is not None or callable(getattr(mark, "func", None)):
            return 0, 0
        least = max(least, getattr(mark, "min_length", None) or 0)
        most = min(most, getattr(mark, "max_length", None) or most)
    return least, most


def _stretch_text(text: str, by: int, least: int, most: int) -> tuple[str, int]:
    if not most:
        return text, 0
    if by >= 0:
        by = min(by, max(0, most - len(text)))
        return text + (FILLER * (by // len(FILLER) + 1))[:by], by
    kept = text[: max(least, len(text) + by)]
    return kept, len(kept.encode()) - len(text.encode())


def _stretch_model(model: BaseModel, by: int) -> tuple[BaseModel, int]:
    for name, info in type(model).model_fields.items():
        value, done = stretch(info.annotation, getattr(model, name), by, info.metadata)
        if done:
            return model.model_copy(update={name: value}), done
    return model, 0


def stretched(model: BaseModel, names: Sequence[str], by: int) -> dict[str, Any]:
    """Changes of some fields that make an object larger or smaller by so many bytes, as far as they can."""
    changes: dict[str, Any] = {}
    left = by
    for name in names:
        if not left:
            break
        info = type(model).model_fields[name]
        value, done = stretch(info.annotation, getattr(model, name), left, info.metadata)
        if done:
            changes[name] = value
            left -= done
    return changes
