"""Runs commands of the AWS CLI, one a line of the input, in one process: `python aws_cli.py URL`.

Prints a line for each: its exit code, and what it said of an error.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

from awscli.clidriver import create_clidriver

if __name__ == "__main__":
    driver = create_clidriver()
    for line in sys.stdin:
        said = StringIO()
        with redirect_stdout(StringIO()), redirect_stderr(said):
            code = driver.main([*shlex.split(line)[1:], "--endpoint-url", sys.argv[1]])
        print(code, " ".join(said.getvalue().split()))
