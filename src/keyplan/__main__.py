"""Entry point of `python -m keyplan`, which runs the `keyplan` command."""

from keyplan.cli.main import app

if __name__ == "__main__":
    app(prog_name="keyplan")
