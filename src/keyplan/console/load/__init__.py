"""Load pages of the console: recording of load, and its pages. The recorder and the observer of an engine need no web
framework.
"""
