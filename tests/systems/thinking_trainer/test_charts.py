"""Charts of progress: a table for the terminal and a PNG."""

from __future__ import annotations

import io
import sys
from decimal import Decimal

import numpy as np
import pytest
from matplotlib.image import imread
from tests.systems.thinking_trainer.builders import history, snapshot

from keyplan_systems.thinking_trainer.charts import BARS, progress_png, progress_text, spark
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS


def profiles(length: int = 6) -> list[Profile]:
    """Return the snapshots after each attempt: logic rises, clarity stays at 1, the rest at 2."""
    scores = history(logic=[min(4, place) for place in range(length)], clarity=[1] * length)
    return [snapshot(scores[:count], count) for count in range(1, length + 1)]


def test_the_text_shows_every_dimension_with_its_latest_figures() -> None:
    lines = {line.split("│")[1].strip(): line for line in progress_text(profiles()).splitlines() if line.count("│") > 2}
    assert set(lines) == {name.value for name in DIMENSIONS}
    assert "▃▃▃▃▃▃" in lines["clarity"]
    assert "1.00" in lines["clarity"]
    assert "→ stable" in lines["clarity"]
    assert "gap -0.92" in lines["clarity"]
    assert "↗ improving" in lines["logic"]
    assert "2.33" in lines["logic"]
    assert "gap" not in lines["logic"]


def test_the_text_states_the_number_of_attempts() -> None:
    assert "Progress over 6 attempts, overall average" in progress_text(profiles())


def test_only_the_thirty_newest_snapshots_are_shown() -> None:
    text = progress_text(profiles(40), width=140)
    row = next(line for line in text.splitlines() if "clarity" in line)
    assert sum(character in BARS for character in row) == 30


@pytest.mark.parametrize(
    ("averages", "bars"),
    [
        (["0.00", "4.00"], "▁█"),
        (["2.00"], "▅"),
        (["0.28", "0.29", "3.71", "3.72"], "▁▂▇█"),
        ([], ""),
    ],
)
def test_bars_are_as_high_as_the_averages(averages: list[str], bars: str) -> None:
    assert spark([Decimal(average) for average in averages]) == bars


def test_the_png_has_the_declared_size_and_is_not_blank() -> None:
    image = imread(io.BytesIO(progress_png(profiles())))
    assert image.shape[:2] == (1000, 900)
    assert len(np.unique(image.reshape(-1, image.shape[2]), axis=0)) > 10


def test_different_scores_give_a_different_png_and_equal_scores_the_same() -> None:
    assert progress_png(profiles()) == progress_png(profiles())
    assert progress_png(profiles()) != progress_png(profiles(5))


def test_one_snapshot_is_enough_for_a_chart() -> None:
    assert "logic" in progress_text(profiles(1))
    assert progress_png(profiles(1)).startswith(b"\x89PNG")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"keyplan\[charts\]"):
        progress_png(profiles())


@pytest.mark.parametrize(
    ("history_given", "complaint"),
    [
        ([], "without profiles"),
        (profiles()[::-1], "oldest first"),
        ([profiles(1)[0], profiles(2)[1].model_copy(update={"user_id": "other"})], "one user"),
    ],
)
def test_an_invalid_history_is_rejected(history_given: list[Profile], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        progress_text(history_given)
    with pytest.raises(ValueError, match=complaint):
        progress_png(history_given)
