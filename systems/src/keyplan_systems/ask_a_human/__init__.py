"""Ask-a-Human: agents ask questions, people answer them for points, and push notifications reach subscribers."""
