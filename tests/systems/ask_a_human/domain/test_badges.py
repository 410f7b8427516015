"""Badges: their list, their measures, and their thresholds."""

from __future__ import annotations

from keyplan_systems.ask_a_human.domain import badges


def test_the_badges_and_thresholds_match_the_documents() -> None:
    assert {badge.name: (badge.id, badge.counter, badge.threshold) for badge in badges.TABLE} == {
        "First Steps": ("first_steps", "answers", 1),
        "Getting Started": ("getting_started", "answers", 10),
        "Century": ("century", "answers", 100),
        "Veteran": ("veteran", "answers", 500),
        "Legend": ("legend", "answers", 1000),
        "On a Roll": ("on_a_roll", "streak", 3),
        "Week Warrior": ("week_warrior", "streak", 7),
        "Monthly Maven": ("monthly_maven", "streak", 30),
        "Centurion": ("centurion", "streak", 100),
        "Tech Expert": ("tech_expert", "category:technical", 25),
        "Product Pro": ("product_pro", "category:product", 25),
        "Ethics Advocate": ("ethics_advocate", "category:ethics", 25),
        "Creative Mind": ("creative_mind", "category:creative", 25),
        "Generalist": ("generalist", "category:general", 25),
        "Early Bird": ("early_bird", "early", 1),
        "Night Owl": ("night_owl", "night", 10),
        "Speed Demon": ("speed_demon", "speedy", 5),
        "Confident": ("confident", "confident", 10),
    }
    assert {badge.id: badge.name for badge in badges.TABLE} == badges.NAMES
