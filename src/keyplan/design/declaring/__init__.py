"""Declarations of tables, patterns, transactions and consumers, and the design that contains them."""
