"""The forum of a learning platform. In its threads, participants discuss tasks with helpers. Each pair of a task and a
participant has one thread.
"""
