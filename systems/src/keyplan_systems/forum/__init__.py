"""The forum of a learning platform: discussion threads between a participant and helpers, with one thread per task and
participant.
"""
