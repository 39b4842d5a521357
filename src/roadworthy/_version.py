"""The version, in the one place that packaging and the command line read it from."""

__version__ = "0.1.0"
