"""Key templates such as `TASK#{task_id}`, the encodings of their fields, and checks of whether two
templates overlap.
"""
