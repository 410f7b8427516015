"""Recommended exercises, one for each dimension."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .rubric import Dimension

RECOMMENDATIONS: Mapping[Dimension, str] = {
    Dimension.CLARITY: (
        "Open your next answer with one sentence that states your position, and define each key term before you use it."
    ),
    Dimension.RELEVANCE: (
        "Answer the question that was asked in your first sentence, then end each paragraph by tying it back to it."
    ),
    Dimension.LOGIC: (
        "Draw an argument map before you write: the conclusion on top, each premise below it, and an arrow you can"
        " defend for every step."
    ),
    Dimension.EVIDENCE: (
        "For every claim write down what supports it and where that comes from; look one source up and cite it."
    ),
    Dimension.ASSUMPTIONS: (
        "Finish the sentence 'this only holds if ...' three times for the argument before you judge it, and test the"
        " weakest one."
    ),
    Dimension.ALTERNATIVES: (
        "Play devil's advocate: write the best case against your conclusion, and say what would decide between them."
    ),
    Dimension.QUANTITATIVE: (
        "Do one Fermi estimate a day: split an unknown figure into factors, bound each one, and multiply them out."
    ),
    Dimension.HUMILITY: (
        "Put a percentage on what you claim, name what would change your mind, and check later how often it was right."
    ),
}


def recommended(weak: Iterable[Dimension]) -> tuple[str, ...]:
    """Return one exercise per weak dimension, in the same order."""
    return tuple(RECOMMENDATIONS[dimension] for dimension in weak)
