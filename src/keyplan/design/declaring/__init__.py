"""Declarations: tables, patterns, transactions, consumers, and the design that holds them."""
