"""`python -m keyplan` is the command `keyplan`."""

from keyplan.cli.main import app

if __name__ == "__main__":
    app(prog_name="keyplan")
