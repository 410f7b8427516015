"""Load pages of the console, and the recorder of the load that they show.

Recording the load of an engine does not require a web framework.
"""
