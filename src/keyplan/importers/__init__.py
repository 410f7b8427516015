"""Import designs from CloudFormation templates, table descriptions and NoSQL Workbench models.

Every source is converted to `schemas.SourceTable`; `writing` writes these as a Python file in the design language.
A setting that a design cannot express is a gap, which is reported and written into the file.
"""
