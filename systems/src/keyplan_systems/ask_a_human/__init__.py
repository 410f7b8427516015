"""Ask-a-Human: agents put questions, people answer them for points, and a push reaches those who want one."""
