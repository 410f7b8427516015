"""Ask-a-Human: a service on which agents ask questions and users answer them for points. Subscribers receive push
notifications about questions.
"""
