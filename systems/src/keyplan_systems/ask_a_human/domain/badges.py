"""Badges. A user earns a badge permanently when a counter in the user's record reaches the badge's threshold."""

from __future__ import annotations

from dataclasses import dataclass

from keyplan_systems.ask_a_human.domain.requests import Audience

ANSWERS = "answers"
STREAK = "streak"
EARLY = "early"
NIGHT = "night"
SPEEDY = "speedy"
CONFIDENT = "confident"


@dataclass(frozen=True, slots=True)
class Badge:
    """A badge: its ID, its displayed name, the name of its counter, and the threshold of the counter."""

    id: str
    name: str
    counter: str
    threshold: int


def category(tag: Audience) -> str:
    """Return the name of the counter that counts a user's answers in the category `tag`."""
    return f"category:{tag.value}"


TABLE = (
    Badge("first_steps", "First Steps", ANSWERS, 1),
    Badge("getting_started", "Getting Started", ANSWERS, 10),
    Badge("century", "Century", ANSWERS, 100),
    Badge("veteran", "Veteran", ANSWERS, 500),
    Badge("legend", "Legend", ANSWERS, 1000),
    Badge("on_a_roll", "On a Roll", STREAK, 3),
    Badge("week_warrior", "Week Warrior", STREAK, 7),
    Badge("monthly_maven", "Monthly Maven", STREAK, 30),
    Badge("centurion", "Centurion", STREAK, 100),
    Badge("tech_expert", "Tech Expert", category(Audience.TECHNICAL), 25),
    Badge("product_pro", "Product Pro", category(Audience.PRODUCT), 25),
    Badge("ethics_advocate", "Ethics Advocate", category(Audience.ETHICS), 25),
    Badge("creative_mind", "Creative Mind", category(Audience.CREATIVE), 25),
    Badge("generalist", "Generalist", category(Audience.GENERAL), 25),
    Badge("early_bird", "Early Bird", EARLY, 1),
    Badge("night_owl", "Night Owl", NIGHT, 10),
    Badge("speed_demon", "Speed Demon", SPEEDY, 5),
    Badge("confident", "Confident", CONFIDENT, 10),
)
NAMES = {badge.id: badge.name for badge in TABLE}
