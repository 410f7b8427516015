"""Designs made of what a team has: CloudFormation templates, descriptions of tables, NoSQL Workbench models.

Each source is read to the same thing, `source.SourceTable`; `writing` makes a Python file of these, in the words of
the design language. What a source says and a design cannot is kept as a gap, told and written into the file.
"""
