"""Abuse: each heuristic at its limit, and flags that repeat to the same record."""

from __future__ import annotations

import pytest
from tests.systems.ask_a_human.builders import NOON, choice, response, text_response

from keyplan_systems.ask_a_human.domain import abuse
from keyplan_systems.ask_a_human.domain.abuse import AnswerHistory, Reason
from keyplan_systems.ask_a_human.domain.requests import QuestionType


@pytest.mark.parametrize(
    ("type", "time_ms", "flagged"),
    [
        (QuestionType.TEXT, 4_999, True),
        (QuestionType.TEXT, 5_000, False),
        (QuestionType.TEXT, None, False),
        (QuestionType.MULTIPLE_CHOICE, 1_999, True),
        (QuestionType.MULTIPLE_CHOICE, 2_000, False),
    ],
)
def test_answers_are_too_fast_under_5_and_under_2_seconds(
    type: QuestionType, time_ms: int | None, flagged: bool
) -> None:
    if type is QuestionType.TEXT:
        new_response = text_response("A thought of my own", time_ms)
    else:
        new_response = response(choice(), selected_option=0, response_time_ms=time_ms)
    assert (Reason.SUSPICIOUS_TIMING in abuse.assess(AnswerHistory(), type, new_response).reasons) is flagged


def reasons(*texts: str) -> list[tuple[Reason, ...]]:
    """Return the findings for consecutive text answers."""
    past, entries = AnswerHistory(), []
    for text in texts:
        assessed = abuse.assess(past, QuestionType.TEXT, text_response(text))
        past = assessed.history
        entries.append(assessed.reasons)
    return entries


def test_the_same_text_on_another_question_is_flagged_in_any_case_and_spacing() -> None:
    assert reasons("Looks fine to me", "something else", "  looks FINE\nto me ") == [
        (),
        (),
        (Reason.DUPLICATE_CONTENT,),
    ]


def test_a_text_is_forgotten_after_twenty_others() -> None:
    others = [f"another thought {number}" for number in range(20)]
    assert reasons("a first thought", *others[:19], "a first thought")[-1] == (Reason.DUPLICATE_CONTENT,)
    assert reasons("a first thought", *others, "a first thought")[-1] == ()


def test_five_minimal_answers_in_a_row_are_a_pattern_and_a_longer_one_ends_it() -> None:
    actual_reasons = reasons("a", "bb", "ccc", "d", "e", "f", "a longer thought", "g")
    assert [Reason.PATTERN_MATCH in flags for flags in actual_reasons] == [False] * 4 + [True, True, False, False]


def test_choices_have_no_text_to_compare_and_do_not_change_the_history() -> None:
    past = AnswerHistory(("x",), 4)
    assessed = abuse.assess(past, QuestionType.MULTIPLE_CHOICE, response(choice(), selected_option=0))
    assert assessed == abuse.Assessment(past, ())


def test_flags_of_one_answer_have_an_id_per_reason_that_repeats() -> None:
    new_response = text_response("ok", 1)
    flags_stored = abuse.flags(new_response, (Reason.SUSPICIOUS_TIMING, Reason.PATTERN_MATCH), NOON)
    assert len({flag.flag_id for flag in flags_stored}) == 2
    assert flags_stored == abuse.flags(new_response, (Reason.SUSPICIOUS_TIMING, Reason.PATTERN_MATCH), NOON)
    assert (flags_stored[0].response_id, flags_stored[0].reason, flags_stored[0].reviewed, flags_stored[0].action) == (
        new_response.response_id,
        Reason.SUSPICIOUS_TIMING,
        False,
        None,
    )
