"""Load pages of the console, and the recording of the load that they show. The recorder and the observer of an engine
do not require a web framework.
"""
