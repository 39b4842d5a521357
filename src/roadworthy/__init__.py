"""Roadworthy tests driving models and produces evidence engineers can trust."""

from roadworthy._version import __version__

__all__ = ["__version__"]
