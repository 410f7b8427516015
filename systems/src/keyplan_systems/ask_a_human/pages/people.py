"""Pages for users: questions that need answers, the answer form, the confirmation of an answer, and leaderboards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from keyplan.client.errors import CursorError
from keyplan.pages import Pages, redirect
from keyplan_systems.ask_a_human import serializers
from keyplan_systems.ask_a_human.answers import AnswerResult
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain import badges, questions, scoring
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.domain.questions import Question, Status
from keyplan_systems.ask_a_human.domain.refusals import (
    AlreadyAnsweredError,
    InvalidRequestError,
    QuestionClosedError,
    RefusedError,
)
from keyplan_systems.ask_a_human.domain.requests import Audience, QuestionType
from keyplan_systems.ask_a_human.domain.timestamps import as_datetime
from keyplan_systems.ask_a_human.pages.visitors import Visitors, forget_skipped, skip, was_skipped, zone_of
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.web.browsing import Form, FormFields
from keyplan_systems.web.problems import problem_of
from keyplan_systems.web.rate_limits import TooManyRequestsError

PAGE_QUESTIONS = 12
NEXT_QUESTIONS = 60
"""Maximum number of questions that are read to find the next question that the user has neither answered
nor skipped.
"""
PREVIEW_CHARS = 180
ANSWER_MIN_CHARS = 3
"""Minimum number of characters of an answer in the form. The API accepts a single character, but an answer such as "ok"
is not helpful.
"""
ANSWER_SOFT_CHARS = 500
"""Number of characters above which the form recommends a shorter answer. Longer answers are accepted."""
ANSWER_MAX_CHARS = 5000
BOARD_ROWS = 20
_MINUTE_MS = 60_000
_LONGEST_MS = 86_400_000
_PERIODS = {Period.DAILY: "Today", Period.WEEKLY: "This week", Period.ALL_TIME: "All time"}


@dataclass(frozen=True)
class Card:
    """A question as shown in a list of questions."""

    question: Question
    is_answered: bool
    now_ms: int

    @property
    def preview(self) -> str:
        """The beginning of the question's prompt, on one line."""
        line = " ".join(self.question.prompt.split())
        return line if len(line) <= PREVIEW_CHARS else f"{line[: PREVIEW_CHARS - 1].rstrip()}…"

    @property
    def expires_at(self) -> Any:
        """The deadline of the question, in UTC."""
        return as_datetime(self.question.deadline_ms)

    @property
    def points(self) -> int:
        """The number of points for an answer that includes a confidence value. Bonuses for length, speed and streaks
        are not included.
        """
        in_demand = 2 * self.question.current_responses < self.question.required_responses
        base = scoring.BASE_POINTS[self.question.type] + scoring.CONFIDENCE_POINTS
        return base + (scoring.IN_DEMAND_POINTS if in_demand else 0)

    @property
    def is_urgent(self) -> bool:
        """Whether the deadline of the question is less than ten minutes away."""
        return self.question.deadline_ms - self.now_ms < 10 * _MINUTE_MS


@dataclass(frozen=True)
class _Parts:
    """The objects that the routes share: the page renderer, the service, and the object that identifies users by
    cookies.
    """

    pages: Pages
    service: Service
    visitors: Visitors


def add_routes(router: APIRouter, pages: Pages, service: Service, visitors: Visitors) -> None:
    """Add the routes of the pages for users to the router."""
    parts = _Parts(pages, service, visitors)
    _add_feed(router, pages, service, visitors)
    _add_question(router, parts)
    _add_answering(router, parts)
    _add_boards(router, pages, service, visitors)


def _add_feed(router: APIRouter, pages: Pages, service: Service, visitors: Visitors) -> None:
    @router.get("/")
    def feed(request: Request, audience: Audience | None = None, cursor: str | None = None) -> Response:
        person = visitors.reading(request)
        try:
            page = service.answers.neediest(audience, PAGE_QUESTIONS, cursor)
        except CursorError:  # the cursor belongs to a list with another filter or to another server
            return RedirectResponse(request.url.path, 303)
        answered = frozenset[str]() if person is None else service.answers.answered(person)
        now_ms = service.base.now_ms
        cards = [Card(question, question.question_id in answered, now_ms) for question in page]
        more = None if page.cursor is None else str(request.url.include_query_params(cursor=page.cursor).query)
        return pages.render(
            request, "feed.html.j2", cards=cards, more=more, audience=audience, audiences=list(Audience)
        )

    @router.get("/next")
    def next_question(request: Request) -> Response:
        person = visitors.reading(request)
        answered = frozenset[str]() if person is None else service.answers.answered(person)
        for question in service.answers.neediest(None, NEXT_QUESTIONS, None):
            if question.question_id not in answered and not was_skipped(request, question.question_id):
                return RedirectResponse(f"questions/{question.question_id}", 303)
        response = redirect("./", "You have seen every question that needs an answer. New ones arrive all the time.")
        forget_skipped(request, response)
        return response


def _add_question(router: APIRouter, parts: _Parts) -> None:
    service, visitors = parts.service, parts.visitors

    @router.get("/questions/{question_id}")
    def question(request: Request, question_id: str) -> Response:
        person = visitors.reading(request)
        token = None
        if person is None:
            service.base.question(question_id, service.base.now_ms)  # registers only users who can see the question
            token = visitors.register(request)
        found_question = service.base.question(question_id, service.base.now_ms)
        own = None if person is None else service.answers.own(question_id, person)
        response = _question_page(request, parts, found_question, is_answered=own is not None)
        if token is not None:
            visitors.remember(request, response, token)
        return response

    @router.post("/questions/{question_id}/skip")
    def skip_question(request: Request, _form: Form, question_id: str) -> Response:
        response = RedirectResponse("../../next", 303)
        skip(request, response, question_id)
        return response

    @router.get("/questions/{question_id}/thanks")
    def thanks(request: Request, question_id: str) -> Response:
        person = visitors.reading(request)
        own = None if person is None else service.answers.own(question_id, person)
        reply = None if own is None else own[1]
        if person is None or reply is None:
            return RedirectResponse(f"../{question_id}", 303)
        record = service.standings.record(person.person, zone_of(request))
        return parts.pages.render(
            request,
            "thanks.html.j2",
            reply=reply,
            badges=[badges.NAMES[badge] for badge in reply.new_badges],
            record=record,
            daily_cap=scoring.DAILY_CAP,
        )


def _add_answering(router: APIRouter, parts: _Parts) -> None:
    service, visitors = parts.service, parts.visitors

    @router.post("/questions/{question_id}")
    def answer(request: Request, form: Form, question_id: str) -> Response:
        person, token = visitors.known(request), None
        if person is None:  # the browser does not keep cookies, or lost them after it opened the question
            service.base.question(question_id, service.base.now_ms)
            token = visitors.register(request)
            person = service.devices.identify(token)
            assert person is not None, "the token is new"
        wants_json = "text/html" not in request.headers.get("accept", "")
        try:
            answered = _answered(request, parts, person, form)
        except (RefusedError, TooManyRequestsError) as error:
            if wants_json:
                raise
            response: Response = _refused(request, parts, form, error)
        else:
            response = _confirmed(request, answered) if wants_json else _thanked(question_id)
        if token is not None:
            visitors.remember(request, response, token)
        return response


def _answered(request: Request, parts: _Parts, person: Identity, form: FormFields) -> AnswerResult:
    """Store an answer from the form. Raises RefusedError or TooManyRequestsError if it is rejected."""
    service, question_id = parts.service, str(request.path_params["question_id"])
    body: dict[str, Any] = {"question_id": question_id, "response_time_ms": _duration(form, service.base.now_ms)}
    text, option, confidence = form.get("answer", ""), form.get("option", ""), form.get("confidence", "")
    if text:
        body["answer"] = text.replace("\r\n", "\n")
    if option.isdecimal():
        body["selected_option"] = int(option)
    if confidence.isdecimal():
        body["confidence"] = int(confidence)
    if "option" not in form and 0 < len(text) < ANSWER_MIN_CHARS:
        raise InvalidRequestError(
            f"Write at least {ANSWER_MIN_CHARS} characters.", {"field": "answer", "constraint": "length"}
        )
    return service.answers.answer(person, zone_of(request), body, parts.visitors.address(request))


def _duration(form: FormFields, now_ms: int) -> int | None:
    """Return the number of milliseconds between opening the form and sending it, or None if it is unknown.

    A script on the page measures this time. If the form does not contain a measured value, the function uses the
    difference between `now_ms` and the time at which the server rendered the form.
    """
    given, opened = form.get("response_time_ms", ""), form.get("opened", "")
    if given.isdecimal():
        return min(int(given), _LONGEST_MS)
    return min(max(now_ms - int(opened), 0), _LONGEST_MS) if opened.isdecimal() else None


def _confirmed(request: Request, answered: AnswerResult) -> Response:
    body = json.loads(serializers.accepted_answer(answered).model_dump_json())
    return JSONResponse({**body, "page": f"{request.url.path}/thanks"}, 200 if answered.repeated else 201)


def _thanked(question_id: str) -> Response:
    return RedirectResponse(f"{question_id}/thanks", 303)


def _refused(request: Request, parts: _Parts, form: FormFields, error: RefusedError | TooManyRequestsError) -> Response:
    """Return the page for a rejected answer, with the reason and the entered values."""
    service, question_id = parts.service, str(request.path_params["question_id"])
    problem = problem_of(request.app, error)
    assert problem is not None, "every refusal has a translation"
    found = service.base.question(question_id, service.base.now_ms)
    is_answered = isinstance(error, AlreadyAnsweredError)
    if is_answered or isinstance(error, QuestionClosedError):
        return _question_page(
            request, parts, found, problem.status_code, is_answered=is_answered, form=form, is_late=True
        )
    errors = {}
    notice = ""
    if isinstance(error, InvalidRequestError):
        errors = {_field(found): _advice(found, error)}
    else:
        notice = problem.message[:1].upper() + problem.message[1:] + "."
    headers = {name: value for name, value in (problem.headers or {}).items() if name.lower() == "retry-after"}
    return _question_page(
        request,
        parts,
        found,
        422 if errors else problem.status_code,
        form=form,
        errors=errors,
        notice=notice,
        headers=headers,
    )


def _field(question: Question) -> str:
    return "option" if question.type is QuestionType.MULTIPLE_CHOICE else "answer"


def _advice(question: Question, error: InvalidRequestError) -> str:
    if question.type is QuestionType.MULTIPLE_CHOICE:
        return "Choose one of the options."
    constraint = (error.details or {}).get("constraint")
    if constraint == "string_too_long":
        return f"Write at most {ANSWER_MAX_CHARS:,} characters."
    return error.message if constraint == "length" else "Write your answer."


def _question_page(
    request: Request,
    parts: _Parts,
    question: Question,
    status_code: int = 200,
    *,
    is_answered: bool = False,
    is_late: bool = False,
    form: FormFields | None = None,
    errors: dict[str, str] | None = None,
    notice: str = "",
    headers: dict[str, str] | None = None,
) -> Response:
    """Return the page of a question, with the answer form or the reason why the user cannot answer.

    `is_late` is True if an answer was rejected because the question no longer accepts answers. The page then shows the
    text of the answer, so that the user does not lose it.
    """
    pages, now_ms = parts.pages, parts.service.base.now_ms
    status = questions.status_at(question, now_ms)
    context: dict[str, Any] = {
        "card": Card(question, is_answered, now_ms),
        "question": question,
        "is_choice": question.type is QuestionType.MULTIPLE_CHOICE,
        "form": form or {},
    }
    if is_answered or not status.answerable:
        state = "answered" if is_answered else "closed" if status is Status.CLOSED else "expired"
        return pages.render(
            request, "state.html.j2", status_code, headers=headers, state=state, is_late=is_late, **context
        )
    limits = {"min": ANSWER_MIN_CHARS, "soft": ANSWER_SOFT_CHARS, "max": ANSWER_MAX_CHARS}
    return pages.render(
        request,
        "question.html.j2",
        status_code,
        headers={"Cache-Control": "no-store", **(headers or {})},
        limits=limits,
        bonus_over=scoring.THOUGHTFUL_OVER_CHARS,
        bonus=scoring.THOUGHTFUL_POINTS,
        confidence_points=scoring.CONFIDENCE_POINTS,
        errors=errors or {},
        notice=notice,
        opened=now_ms,
        **context,
    )


def _add_boards(router: APIRouter, pages: Pages, service: Service, visitors: Visitors) -> None:
    @router.get("/leaderboard")
    def leaderboard(request: Request, period: Period = Period.WEEKLY) -> Response:
        person = visitors.reading(request)
        entries, own = service.standings.board(period, BOARD_ROWS, None if person is None else person.person)
        return pages.render(
            request, "leaderboard.html.j2", entries=entries, own=own, period=period, periods=_PERIODS, rows=BOARD_ROWS
        )
