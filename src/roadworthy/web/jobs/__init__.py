"""Runs that were started from the page: each in a process and a folder of its own.

::

    <out>/<id>/job.json      what was asked for
    <out>/<id>/state.json    how far it has come
    <out>/<id>/run/          the run, as every other one is stored
    <out>/<id>/log.txt       what the process said
"""

from __future__ import annotations
