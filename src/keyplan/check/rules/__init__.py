"""The rules, in one package for each family of codes."""
