"""The command `python -m docs.making`, which writes the generated pages and, with `--transcripts`, the output in
transcripts.
"""

from __future__ import annotations

import sys

from docs.making import transcripts
from docs.making.pages import DOCS, generated_pages, stale_pages


def main() -> None:
    """Write each page that differs, remove pages that are no longer generated, and print the changed paths."""
    for path in stale_pages():
        path.unlink()
        print(f"removed {path.relative_to(DOCS)}")  # noqa: T201 - a command's output
    for name, text in generated_pages().items():
        _write(name, text)
    if "--transcripts" in sys.argv[1:]:
        for name, text in transcripts.refreshed_pages().items():
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
