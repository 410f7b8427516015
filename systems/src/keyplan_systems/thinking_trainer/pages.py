"""The web pages of the trainer: scenarios, an attempt with its evaluation, the profile and the history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from keyplan.pages import Link, redirect
from keyplan_systems.thinking_trainer.design import StoredAttempt, StoredScenario
from keyplan_systems.thinking_trainer.domain.attempts import (
    INACTIVITY_LIMIT,
    MAX_ANSWER_CHARACTERS,
    MIN_ANSWER_CHARACTERS,
    Status,
    word_count,
)
from keyplan_systems.thinking_trainer.domain.errors import AnswersRejected, EvaluationFailed, TrainerError
from keyplan_systems.thinking_trainer.domain.profiles import WEAK_BELOW, Profile
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS, MAX_SCORE, WEIGHT_TENTHS, Dimension
from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty
from keyplan_systems.thinking_trainer.service import ConcurrentChangeError, Service
from keyplan_systems.web.browsing import Form, FormFields, Person, page_router, system_pages
from keyplan_systems.web.problems import Problem

PAGES = system_pages(
    "keyplan_systems.thinking_trainer",
    "Critical-thinking trainer",
    (
        Link("Scenarios", "app/", "bulb"),
        Link("Profile", "app/profile", "chart"),
        Link("History", "app/history", "clock"),
    ),
    accent="amber",
    scripts=("trainer.js",),
)
_PAGE: Final = 20
_MAX_DRAFTS: Final = 100
_MAX_RECOMMENDED: Final = 3
_ANSWER: Final = "answer-"
NAMES: Final[Mapping[str, str]] = {
    **{dimension: dimension.value.capitalize() for dimension in Dimension},
    Dimension.QUANTITATIVE: "Quantitative reasoning",
    Dimension.HUMILITY: "Humility and uncertainty",
}
"""Display names of the dimensions."""


def page_routes(service: Service) -> APIRouter:
    """Return the routes of the pages."""
    router = page_router(PAGES)
    _add_scenarios(router, service)
    _add_attempts(router, service)
    _add_profile(router, service)
    return router


def _add_scenarios(router: APIRouter, service: Service) -> None:
    @router.get("/")
    def scenarios(request: Request, person: Person, difficulty: str = "", focus: str = "") -> Response:
        level = Difficulty(difficulty) if difficulty in set(Difficulty) else None
        area = Dimension(focus) if focus in set(Dimension) else None
        active_scenarios = [
            scenario for scenario in service.active_scenarios(level) if area is None or area in _areas(scenario)
        ]
        drafts = service.attempts_in_progress(person.subject, _MAX_DRAFTS, None)
        submitted_ids = {
            attempt.scenario_id for attempt in service.submitted_attempts(person.subject, _MAX_DRAFTS, None)
        }
        return PAGES.render(
            request,
            "scenarios.html.j2",
            groups=[
                (group, [entry for entry in active_scenarios if entry.difficulty is group]) for group in Difficulty
            ],
            difficulty=difficulty if level else "",
            difficulties=list(Difficulty),
            focus=area,
            names=NAMES,
            drafts={attempt.scenario_id: attempt for attempt in drafts},
            titles={scenario.scenario_id: scenario.title for scenario in active_scenarios},
            submitted_ids=submitted_ids,
            areas=_areas,
        )

    @router.get("/scenarios/{scenario_id}")
    def scenario(request: Request, person: Person, scenario_id: str) -> Response:
        stored_scenario = service.scenario(scenario_id)
        drafts = service.attempts_in_progress(person.subject, _MAX_DRAFTS, None)
        draft = next((attempt for attempt in drafts if attempt.scenario_id == scenario_id), None)
        is_administrator = person.has_role("administrators")
        return PAGES.render(
            request,
            "scenario.html.j2",
            scenario=stored_scenario,
            draft=draft,
            names=NAMES,
            is_administrator=is_administrator,
            areas=_areas(stored_scenario),
        )

    @router.post("/scenarios/{scenario_id}/attempts")
    def begin(request: Request, person: Person, scenario_id: str, form: Form) -> Response:
        del form
        return redirect(_url(request, f"attempts/{service.begin(person.subject, scenario_id).attempt_id}"))

    @router.post("/scenarios/{scenario_id}/offer")
    def offer(request: Request, person: Person, scenario_id: str, form: Form) -> Response:
        if not person.has_role("administrators"):
            raise Problem(403, "Only administrators decide which scenarios are offered.")
        service.set_active(scenario_id, form.get("active") == "yes")
        message = "Offered to learners." if form.get("active") == "yes" else "No longer offered."
        return redirect(_url(request, f"scenarios/{scenario_id}"), message)


def _areas(scenario: StoredScenario) -> list[Dimension]:
    """Return the dimensions that the questions of a scenario train, in the rubric's order."""
    trained = {area for question in scenario.questions for area in question.focus_areas}
    return [dimension for dimension in DIMENSIONS if dimension in trained]


def _add_attempts(router: APIRouter, service: Service) -> None:
    def form_page(
        request: Request, attempt: StoredAttempt, typed: Mapping[str, str], problem: str = "", status: int = 200
    ) -> Response:
        texts = {answer.question_id: answer.answer for answer in attempt.answers} | dict(typed)
        return PAGES.render(
            request,
            "attempt.html.j2",
            status,
            attempt=attempt,
            scenario=service.scenario(attempt.scenario_id),
            texts=texts,
            words={question_id: word_count(text) for question_id, text in texts.items()},
            names=NAMES,
            problem=problem,
            min_characters=MIN_ANSWER_CHARACTERS,
            max_characters=MAX_ANSWER_CHARACTERS,
            abandoned_at=attempt.touched_at + INACTIVITY_LIMIT,
        )

    @router.get("/attempts/{attempt_id}")
    def attempt(request: Request, person: Person, attempt_id: str) -> Response:
        stored_attempt = service.attempt(person.subject, attempt_id)
        if stored_attempt.status is Status.IN_PROGRESS:
            return form_page(request, stored_attempt, {})
        scenario = service.scenario(stored_attempt.scenario_id)
        return PAGES.render(
            request,
            "result.html.j2",
            attempt=stored_attempt,
            scenario=scenario,
            names=NAMES,
            max_score=MAX_SCORE,
            weights={dimension: weight / 10 for dimension, weight in WEIGHT_TENTHS.items()},
            weak_below=WEAK_BELOW,
        )

    @router.post("/attempts/{attempt_id}")
    def change(request: Request, person: Person, attempt_id: str, form: Form) -> Response:
        typed, action = _texts(form), form.get("action", "save")
        path = _url(request, f"attempts/{attempt_id}")
        try:
            if action == "submit":
                service.submit(person.subject, attempt_id, typed)
                return redirect(path, "Your attempt was evaluated.")
            if action == "abandon":
                service.abandon(person.subject, attempt_id)
                return redirect(_url(request, ""), "The attempt was abandoned.")
            service.save(person.subject, attempt_id, {name: text for name, text in typed.items() if text})
            return redirect(path, "Saved.")
        except (AnswersRejected, ConcurrentChangeError, EvaluationFailed) as error:
            attempt = service.attempt(person.subject, attempt_id)
            if attempt.status is not Status.IN_PROGRESS:
                raise
            return form_page(request, attempt, typed, _reason(error, attempt, service), _status(error))


def _texts(form: FormFields) -> dict[str, str]:
    return {name.removeprefix(_ANSWER): text for name, text in form.items() if name.startswith(_ANSWER)}


def _status(error: TrainerError) -> int:
    return 422 if isinstance(error, AnswersRejected) else 409 if isinstance(error, ConcurrentChangeError) else 503


def _reason(error: TrainerError, attempt: StoredAttempt, service: Service) -> str:
    if isinstance(error, ConcurrentChangeError):
        return "Another window saved this attempt. Your text is kept here; check it and save again."
    if not isinstance(error, AnswersRejected):
        return f"The attempt could not be evaluated: {error}. Your answers are not lost; save them and try again later."
    numbers = {
        question.question_id: f"question {number}"
        for number, question in enumerate(service.scenario(attempt.scenario_id).questions, 1)
    }
    text = "; ".join(error.problems)
    for question_id, number in numbers.items():
        text = text.replace(f"the answer to {question_id} ", f"the answer to {number} ")
        text = text.replace(f"question {question_id} ", f"{number} ")
    return f"{text[:1].upper()}{text[1:]}."


def _add_profile(router: APIRouter, service: Service) -> None:
    @router.get("/profile")
    def profile(request: Request, person: Person) -> Response:
        history = service.progress(person.subject)
        latest = history[-1] if history else None
        weak = [weakness.dimension for weakness in latest.weaknesses] if latest else []
        return PAGES.render(
            request,
            "profile.html.j2",
            latest=latest,
            names=NAMES,
            max_score=MAX_SCORE,
            labels=[f"{profile.attempt_count}" for profile in history],
            overall=[float(profile.overall_average) for profile in history],
            averages=_averages(latest),
            lines=_lines(history),
            recommendations=_recommendations(latest, weak, service.active_scenarios(None) if weak else []),
        )

    @router.get("/history")
    def attempts(request: Request, person: Person, cursor: str | None = None) -> Response:
        page = service.submitted_attempts(person.subject, _PAGE, cursor)
        titles = {scenario.scenario_id: scenario.title for scenario in _scenarios_of(service, page)}
        return PAGES.render(
            request,
            "history.html.j2",
            attempts=page,
            titles=titles,
            more=f"?cursor={page.cursor}" if page.cursor else None,
        )


def _scenarios_of(service: Service, attempts: Iterable[StoredAttempt]) -> list[StoredScenario]:
    return [service.scenario(scenario_id) for scenario_id in {attempt.scenario_id for attempt in attempts}]


def _averages(latest: Profile | None) -> list[tuple[str, float]]:
    if latest is None:
        return []
    return [(NAMES[entry.name], float(entry.moving_average)) for entry in latest.dimensions]


def _lines(history: Sequence[Profile]) -> list[tuple[str, list[tuple[str, list[float]]]]]:
    """Return the data for two line charts, each as a title and a list of lines. A line is the name of a dimension and
    its moving averages.

    Each chart shows four of the eight dimensions, because more lines in one chart would be hard to distinguish.
    """
    lines = [
        (NAMES[name], [float(profile.dimensions[index].moving_average) for profile in history])
        for index, name in enumerate(DIMENSIONS)
    ]
    return [("Clarity, relevance, logic, evidence", lines[:4]), ("Assumptions to humility", lines[4:])]


def _recommendations(
    latest: Profile | None, weak: Sequence[Dimension], active_scenarios: Sequence[StoredScenario]
) -> list[dict[str, Any]]:
    if latest is None:
        return []
    return [
        {
            "dimension": dimension,
            "name": NAMES[dimension],
            "exercise": exercise,
            "scenarios": [scenario for scenario in active_scenarios if dimension in _areas(scenario)][
                :_MAX_RECOMMENDED
            ],
        }
        for dimension, exercise in zip(weak, latest.recommendations, strict=False)
    ]


def _url(request: Request, path: str) -> str:
    return f"{request.scope.get('root_path', '')}/app/{path}"
