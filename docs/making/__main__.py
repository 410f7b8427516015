"""`python -m docs.making`: write the pages that are made from code, and the output in the transcripts."""

from __future__ import annotations

import sys

from docs.making import transcripts
from docs.making.pages import DOCS, made, stray


def main() -> None:
    """Write what differs, remove what is no longer made, and say so."""
    for path in stray():
        path.unlink()
        print(f"removed {path.relative_to(DOCS)}")  # noqa: T201 - a command's output
    for name, text in made().items():
        _write(name, text)
    if "--transcripts" in sys.argv[1:]:
        for name, text in transcripts.refreshed().items():
            _write(name, text)


def _write(name: str, text: str) -> None:
    path = DOCS / name
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    print(f"wrote {name}")  # noqa: T201 - as above


if __name__ == "__main__":
    main()
