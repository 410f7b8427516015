"""Pages made from code: `python -m docs.making` writes them anew."""
