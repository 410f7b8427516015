"""Pages for agents: a list of their questions, a form to ask a question, and the answers as they arrive.

An agent signs in with its ID and secret, as in the API. They are stored in a cookie that scripts cannot read and that
the browser sends only to these pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import anyio
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from keyplan.client.errors import CursorError
from keyplan.pages import Pages, charts, redirect
from keyplan_systems.ask_a_human.api_dependencies import client_address
from keyplan_systems.ask_a_human.domain import limits, questions, requests
from keyplan_systems.ask_a_human.domain.questions import Question
from keyplan_systems.ask_a_human.domain.refusals import (
    AgentIdTakenError,
    AgentQuotaError,
    InvalidRequestError,
    RateLimitedError,
)
from keyplan_systems.ask_a_human.domain.requests import (
    AgentRegistration,
    Audience,
    QuestionRequest,
    QuestionType,
)
from keyplan_systems.ask_a_human.domain.timestamps import as_datetime
from keyplan_systems.ask_a_human.pages.visitors import is_secure
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.web.browsing import Form, FormFields

AGENT: Final = "aah_agent"
"""Name of the cookie with the agent's ID and secret. It is deleted at the end of the browser session."""
WAIT_S: Final = 20.0
"""Maximum time in seconds for which a request waits for further answers."""
CHECK_S: Final = 0.5
PAGE_QUESTIONS: Final = 20
_TIMES: Final = ((600, "10 minutes"), (3600, "1 hour"), (14_400, "4 hours"), (86_400, "1 day"))


@dataclass(frozen=True)
class QuestionView:
    """A question as shown in the list of its agent's questions."""

    question: Question
    now_ms: int

    @property
    def status(self) -> str:
        """The effective status of the question in lower case."""
        return questions.status_at(self.question, self.now_ms).value.lower()

    @property
    def is_open(self) -> bool:
        """Whether the question still accepts answers."""
        return questions.status_at(self.question, self.now_ms).answerable

    @property
    def created_at(self) -> Any:
        """The time at which the question was created, in UTC."""
        return as_datetime(self.question.created_at_ms)

    @property
    def expires_at(self) -> Any:
        """The deadline of the question, in UTC."""
        return as_datetime(self.question.deadline_ms)


def add_routes(router: APIRouter, pages: Pages, service: Service, trusted_proxies: int) -> None:
    """Add the routes of the pages for agents to the router."""
    _add_connecting(router, pages, service, trusted_proxies)
    _add_asking(router, pages, service)
    _add_answers(router, pages, service)


def _signed_in_agent(request: Request, service: Service) -> str | None:
    """Return the ID of the agent that is signed in with this browser, or None if no agent is signed in."""
    agent, _, secret = request.cookies.get(AGENT, "").partition(" ")
    return agent if _is_secret(service, agent, secret) else None


def _is_secret(service: Service, agent: str, secret: str) -> bool:
    try:
        return bool(secret) and service.agents.authenticate(requests.agent_id(agent), secret)
    except InvalidRequestError:
        return False


def _count_poll(request: Request, service: Service) -> str | None:
    agent = _signed_in_agent(request, service)
    if agent is not None:
        service.base.count(limits.POLLS, agent)
    return agent


def _path(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/app/agents"


def _add_connecting(router: APIRouter, pages: Pages, service: Service, trusted_proxies: int) -> None:
    @router.get("/agents")
    def list_questions(request: Request, cursor: str | None = None) -> Response:
        agent = _count_poll(request, service)
        if agent is None:
            return _connect_page(request, pages)
        try:
            page = service.questions.list_for_agent(agent, PAGE_QUESTIONS, cursor)
        except CursorError:
            return RedirectResponse(_path(request), 303)
        views = [QuestionView(question, service.base.now_ms) for question in page]
        return pages.render(request, "agents.html.j2", agent=agent, questions=views, cursor=page.cursor)

    @router.post("/agents/connect")
    def connect(request: Request, form: Form) -> Response:
        agent, secret = form.get("agent_id", ""), form.get("secret", "")
        if not _is_secret(service, agent, secret):
            message = "This secret is not valid for this agent."
            return _connect_page(request, pages, 403, fields=form, errors={"secret": message})
        response = RedirectResponse(_path(request), 303)
        _store_credentials(request, response, agent, secret)
        return response

    @router.post("/agents/disconnect")
    def disconnect(request: Request, _form: Form) -> Response:
        response = redirect(_path(request), "Disconnected.")
        response.delete_cookie(AGENT, path=_path(request))
        return response

    @router.post("/agents/register")
    def register(request: Request, form: Form) -> Response:
        service.limits.agents.take(client_address(request, trusted_proxies))
        try:
            agent = requests.parse(AgentRegistration, {"agent_id": form.get("new_agent_id", "")}).agent_id or ""
            secret = service.agents.register(agent)
        except InvalidRequestError:
            errors = {"new_agent_id": "Use 1 to 128 letters, digits or punctuation marks, without spaces."}
            return _connect_page(request, pages, 422, fields=form, errors=errors)
        except AgentIdTakenError:
            errors = {"new_agent_id": "This name is taken. Choose another."}
            return _connect_page(request, pages, 409, fields=form, errors=errors)
        response = _connect_page(request, pages, issued=(agent, secret))
        _store_credentials(request, response, agent, secret)
        return response


def _connect_page(request: Request, pages: Pages, status: int = 200, **context: Any) -> Response:
    values = {"fields": {}, "errors": {}, "issued": None, **context}
    return pages.render(request, "agents_connect.html.j2", status, headers={"Cache-Control": "no-store"}, **values)


def _store_credentials(request: Request, response: Response, agent: str, secret: str) -> None:
    response.set_cookie(
        AGENT, f"{agent} {secret}", path=_path(request), httponly=True, samesite="strict", secure=is_secure(request)
    )


def _add_asking(router: APIRouter, pages: Pages, service: Service) -> None:
    def page(request: Request, status: int = 200, **context: Any) -> Response:
        values = {
            "fields": {}, "errors": {}, "notice": "", "chosen": [], "audiences": list(Audience), "times": _TIMES,
            **context,
        }  # fmt: skip
        return pages.render(request, "agents_ask.html.j2", status, **values)

    @router.get("/agents/ask")
    def form_page(request: Request) -> Response:
        return RedirectResponse(_path(request), 303) if _signed_in_agent(request, service) is None else page(request)

    @router.post("/agents/ask")
    def ask(request: Request, form: Form) -> Response:
        agent = _signed_in_agent(request, service)
        if agent is None:
            return RedirectResponse(_path(request), 303)
        values = {"fields": form, "chosen": form.all("audience")}
        try:
            question_request = requests.parse(QuestionRequest, _question_body(form))
            question = service.questions.ask(agent, question_request, form.get("key") or None)
        except InvalidRequestError as error:
            problems = (error.details or {}).get("problems")
            errors = (
                {_field_name(problem["field"]): problem["problem"] for problem in problems}
                if isinstance(problems, list)
                else {}
            )
            return page(request, 422, errors=errors, **values)
        except (AgentQuotaError, RateLimitedError) as error:
            return page(request, error.status, notice=error.message, **values)
        return RedirectResponse(f"{_path(request)}/questions/{question.question.question_id}", 303)


def _question_body(form: FormFields) -> dict[str, Any]:
    options = [line.strip() for line in form.get("options", "").splitlines() if line.strip()]
    number, seconds = form.get("min_responses", ""), form.get("timeout_seconds", "")
    return {
        "prompt": form.get("prompt", "").replace("\r\n", "\n"),
        "type": QuestionType.MULTIPLE_CHOICE if options else QuestionType.TEXT,
        "options": options or None,
        "audience": form.all("audience") or [Audience.GENERAL],
        "min_responses": int(number) if number.isdecimal() else number,
        "timeout_seconds": int(seconds) if seconds.isdecimal() else seconds,
    }


def _field_name(name: str) -> str:
    return name.partition(".")[0]


def _add_answers(router: APIRouter, pages: Pages, service: Service) -> None:
    def render(request: Request, template: str, agent: str, question_id: str) -> Response:
        question, responses = service.questions.read(agent, question_id)
        summary = questions.tally(question, responses) if question.options else {}
        chart = charts.bars("Answers by option", list(summary.items())) if summary else None
        confidences = [response.confidence for response in responses if response.confidence is not None]
        return pages.render(
            request, template, view=QuestionView(question, service.base.now_ms), responses=responses, chart=chart,
            summary=summary, confidence=sum(confidences) / len(confidences) if confidences else None,
            headers={"Cache-Control": "no-store"}, as_datetime=as_datetime,
        )  # fmt: skip

    @router.get("/agents/questions/{question_id}")
    def question(request: Request, question_id: str) -> Response:
        agent = _count_poll(request, service)
        if agent is None:
            return RedirectResponse(_path(request), 303)
        return render(request, "agents_question.html.j2", agent, question_id)

    def has_news(question_id: str, known_count: int) -> bool:
        view = QuestionView(service.base.question(question_id, service.base.now_ms), service.base.now_ms)
        return view.question.current_responses > known_count or not view.is_open

    @router.get("/agents/questions/{question_id}/answers")
    async def answers(request: Request, question_id: str, seen: int = 0) -> Response:
        """Return the answers to a question. The response is sent as soon as the question has more than `seen` answers
        or has ended, but after WAIT_S seconds at the latest.
        """
        agent = await run_in_threadpool(_count_poll, request, service)
        if agent is None:
            return Response(status_code=403)
        with anyio.move_on_after(WAIT_S):
            while not await run_in_threadpool(has_news, question_id, seen) and not await request.is_disconnected():
                await anyio.sleep(CHECK_S)
        return await run_in_threadpool(render, request, "agents_answers.html.j2", agent, question_id)
