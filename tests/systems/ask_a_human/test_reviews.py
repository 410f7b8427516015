"""Commands of reviewers: flags that wait, a person's answers, decisions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tests.systems.ask_a_human.stage import TABLES
from typer.testing import CliRunner

import keyplan
from keyplan.clock import SystemClock
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain.requests import Audience, QuestionRequest, QuestionType, fingerprint_hash
from keyplan_systems.ask_a_human.reviews import app
from keyplan_systems.ask_a_human.service import Service

ADA = fingerprint_hash("ada")


def output_of(*arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def flagged(address: str) -> list[str]:
    """Return the questions that Ada has answered too fast, oldest first."""
    with keyplan.connect(address) as connection:
        connection.create_tables(*TABLES)
        service, question_ids = Service.from_connection(connection, SystemClock()), []
        for number in range(2):
            request = QuestionRequest(
                prompt="Which label is clearer?", type=QuestionType.TEXT, audience=[Audience.PRODUCT]
            )
            question_ids.append(service.questions.ask(f"agent-{number}", request, None).question.question_id)
            body = {"question_id": question_ids[-1], "answer": f"number {number}", "response_time_ms": 10}
            service.answers.answer(Identity(ADA, ADA), ZoneInfo("UTC"), body)
    return question_ids


def test_a_reviewer_sees_flags_and_answers_and_decides(address: str) -> None:
    first, second = flagged(address)
    waiting = output_of("waiting", "--url", address)
    assert [(flag["question"], flag["reason"]) for flag in waiting] == [
        (first, "suspicious_timing"),
        (second, "suspicious_timing"),
    ]
    assert {flag["person"] for flag in waiting} == {ADA}
    answers = output_of("answers", ADA, "--url", address)
    assert [(answer["question_id"], answer["answer"]) for answer in answers] == [
        (second, "number 1"),
        (first, "number 0"),
    ]
    assert output_of("answers", ADA, "--most", "1", "--url", address) == answers[:1]
    [decided] = output_of("decide", waiting[0]["flag_id"], "banned", "--url", address)
    assert (decided["flag_id"], decided["action"], decided["reviewed"]) == (waiting[0]["flag_id"], "banned", True)
    assert output_of("waiting", "--url", address) == waiting[1:]


def test_review_errors_are_reported_on_one_line(tmp_path: Path) -> None:
    address = str(tmp_path / "data.db")
    flagged(address)
    unknown = "6f1b3c1e-7d7e-4a53-9f0e-3f1d4b1c2a55"
    for arguments, problem in (
        (("decide", unknown, "approved", "--url", address), f"flag {unknown} does not exist"),
        (("waiting", "--url", "ftp://x"), "ftp://x"),
    ):
        command = [sys.executable, "-m", "keyplan_systems.ask_a_human.reviews", *arguments]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
        assert problem in refused.stderr
