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
from keyplan_systems.ask_a_human.pages.visitors import Visitors, delete_skipped, is_skipped, skip, zone_of
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
class QuestionCard:
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
class _Resources:
    """The objects that the routes share: the page renderer, the service, and the object that identifies users by
    cookies.
    """

    pages: Pages
    service: Service
    visitors: Visitors


def add_routes(router: APIRouter, pages: Pages, service: Service, visitors: Visitors) -> None:
    """Add the routes of the pages for users to the router."""
    resources = _Resources(pages, service, visitors)
    _add_feed(router, pages, service, visitors)
    _add_question(router, resources)
    _add_answering(router, resources)
    _add_leaderboards(router, pages, service, visitors)


def _add_feed(router: APIRouter, pages: Pages, service: Service, visitors: Visitors) -> None:
    @router.get("/")
    def feed(request: Request, audience: Audience | None = None, cursor: str | None = None) -> Response:
        person = visitors.identify_reader(request)
        try:
            page = service.answers.neediest(audience, PAGE_QUESTIONS, cursor)
        except CursorError:  # the cursor belongs to a list with another filter or to another server
            return RedirectResponse(request.url.path, 303)
        answered_ids = frozenset[str]() if person is None else service.answers.answered_question_ids(person)
        now_ms = service.base.now_ms
        cards = [QuestionCard(question, question.question_id in answered_ids, now_ms) for question in page]
        next_query = None if page.cursor is None else str(request.url.include_query_params(cursor=page.cursor).query)
        return pages.render(
            request, "feed.html.j2", cards=cards, next_query=next_query, audience=audience, audiences=list(Audience)
        )

    @router.get("/next")
    def next_question(request: Request) -> Response:
        person = visitors.identify_reader(request)
        answered_ids = frozenset[str]() if person is None else service.answers.answered_question_ids(person)
        for question in service.answers.neediest(None, NEXT_QUESTIONS, None):
            if question.question_id not in answered_ids and not is_skipped(request, question.question_id):
                return RedirectResponse(f"questions/{question.question_id}", 303)
        response = redirect("./", "You have seen every question that needs an answer. New ones arrive all the time.")
        delete_skipped(request, response)
        return response


def _add_question(router: APIRouter, resources: _Resources) -> None:
    service, visitors = resources.service, resources.visitors

    @router.get("/questions/{question_id}")
    def question(request: Request, question_id: str) -> Response:
        person = visitors.identify_reader(request)
        token = None
        if person is None:
            service.base.question(question_id, service.base.now_ms)  # registers only users who can see the question
            token = visitors.register(request)
        shown_question = service.base.question(question_id, service.base.now_ms)
        answer = None if person is None else service.answers.find_answer(question_id, person)
        response = _question_page(request, resources, shown_question, is_answered=answer is not None)
        if token is not None:
            visitors.store_token(request, response, token)
        return response

    @router.post("/questions/{question_id}/skip")
    def skip_question(request: Request, _form: Form, question_id: str) -> Response:
        response = RedirectResponse("../../next", 303)
        skip(request, response, question_id)
        return response

    @router.get("/questions/{question_id}/thanks")
    def thanks(request: Request, question_id: str) -> Response:
        person = visitors.identify_reader(request)
        answer = None if person is None else service.answers.find_answer(question_id, person)
        reply = None if answer is None else answer[1]
        if person is None or reply is None:
            return RedirectResponse(f"../{question_id}", 303)
        record = service.leaderboards.record(person.person, zone_of(request))
        return resources.pages.render(
            request,
            "thanks.html.j2",
            reply=reply,
            badges=[badges.NAMES[badge] for badge in reply.new_badges],
            record=record,
            daily_cap=scoring.DAILY_CAP,
        )


def _add_answering(router: APIRouter, resources: _Resources) -> None:
    service, visitors = resources.service, resources.visitors

    @router.post("/questions/{question_id}")
    def answer(request: Request, form: Form, question_id: str) -> Response:
        person, token = visitors.identify(request), None
        if person is None:  # the browser does not keep cookies, or lost them after it opened the question
            service.base.question(question_id, service.base.now_ms)
            token = visitors.register(request)
            person = service.devices.identify(token)
            assert person is not None, "the token is new"
        is_json = "text/html" not in request.headers.get("accept", "")
        try:
            result = _store_answer(request, resources, person, form)
        except (RefusedError, TooManyRequestsError) as error:
            if is_json:
                raise
            response: Response = _refusal_page(request, resources, form, error)
        else:
            response = _json_confirmation(request, result) if is_json else _thanks_redirect(question_id)
        if token is not None:
            visitors.store_token(request, response, token)
        return response


def _store_answer(request: Request, resources: _Resources, person: Identity, form: FormFields) -> AnswerResult:
    """Store an answer from the form. Raises RefusedError or TooManyRequestsError if it is rejected."""
    service, question_id = resources.service, str(request.path_params["question_id"])
    body: dict[str, Any] = {
        "question_id": question_id,
        "response_time_ms": _response_time_ms(form, service.base.now_ms),
    }
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
    return service.answers.answer(person, zone_of(request), body, resources.visitors.address(request))


def _response_time_ms(form: FormFields, now_ms: int) -> int | None:
    """Return the number of milliseconds between opening the form and sending it, or None if it is unknown.

    A script on the page measures this time. If the form does not contain a measured value, the function uses the
    difference between `now_ms` and the time at which the server rendered the form.
    """
    measured_ms, opened_ms = form.get("response_time_ms", ""), form.get("opened", "")
    if measured_ms.isdecimal():
        return min(int(measured_ms), _LONGEST_MS)
    return min(max(now_ms - int(opened_ms), 0), _LONGEST_MS) if opened_ms.isdecimal() else None


def _json_confirmation(request: Request, result: AnswerResult) -> Response:
    body = json.loads(serializers.accepted_answer(result).model_dump_json())
    return JSONResponse({**body, "page": f"{request.url.path}/thanks"}, 200 if result.is_repeat else 201)


def _thanks_redirect(question_id: str) -> Response:
    return RedirectResponse(f"{question_id}/thanks", 303)


def _refusal_page(
    request: Request, resources: _Resources, form: FormFields, error: RefusedError | TooManyRequestsError
) -> Response:
    """Return the page for a rejected answer, with the reason and the entered values."""
    service, question_id = resources.service, str(request.path_params["question_id"])
    problem = problem_of(request.app, error)
    assert problem is not None, "every refusal has a translation"
    question = service.base.question(question_id, service.base.now_ms)
    is_answered = isinstance(error, AlreadyAnsweredError)
    if is_answered or isinstance(error, QuestionClosedError):
        return _question_page(
            request, resources, question, problem.status_code, is_answered=is_answered, form=form, is_late=True
        )
    errors = {}
    notice = ""
    if isinstance(error, InvalidRequestError):
        errors = {_field_name(question): _field_message(question, error)}
    else:
        notice = problem.message[:1].upper() + problem.message[1:] + "."
    headers = {name: value for name, value in (problem.headers or {}).items() if name.lower() == "retry-after"}
    return _question_page(
        request,
        resources,
        question,
        422 if errors else problem.status_code,
        form=form,
        errors=errors,
        notice=notice,
        headers=headers,
    )


def _field_name(question: Question) -> str:
    return "option" if question.type is QuestionType.MULTIPLE_CHOICE else "answer"


def _field_message(question: Question, error: InvalidRequestError) -> str:
    if question.type is QuestionType.MULTIPLE_CHOICE:
        return "Choose one of the options."
    constraint = (error.details or {}).get("constraint")
    if constraint == "string_too_long":
        return f"Write at most {ANSWER_MAX_CHARS:,} characters."
    return error.message if constraint == "length" else "Write your answer."


def _question_page(
    request: Request,
    resources: _Resources,
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
    pages, now_ms = resources.pages, resources.service.base.now_ms
    status = questions.status_at(question, now_ms)
    context: dict[str, Any] = {
        "card": QuestionCard(question, is_answered, now_ms),
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


def _add_leaderboards(router: APIRouter, pages: Pages, service: Service, visitors: Visitors) -> None:
    @router.get("/leaderboard")
    def leaderboard(request: Request, period: Period = Period.WEEKLY) -> Response:
        person = visitors.identify_reader(request)
        entries, position = service.leaderboards.board(period, BOARD_ROWS, None if person is None else person.person)
        return pages.render(
            request,
            "leaderboard.html.j2",
            entries=entries,
            position=position,
            period=period,
            periods=_PERIODS,
            rows=BOARD_ROWS,
        )
