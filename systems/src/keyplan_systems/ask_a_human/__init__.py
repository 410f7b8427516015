"""Ask-a-Human: agents ask questions, users answer them for points, and subscribers get push notifications."""
