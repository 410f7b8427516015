"""The web pages of the forum. They show threads, threads to answer, notifications, and permissions to ask for help."""

from keyplan_systems.forum.pages import lists, notifications, threads
from keyplan_systems.forum.pages.base import PAGES, router

PARTS = (lists, notifications, threads)
"""Modules that define the routes of the forum's pages."""
__all__ = ["PAGES", "PARTS", "router"]
