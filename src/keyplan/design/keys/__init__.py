"""Key templates such as `TASK#{task_id}`, the encodings of their fields, and the overlap of two templates."""
