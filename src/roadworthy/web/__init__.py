"""The local web page: write a requirement, try it, run it, and look at what came of it.

::

    from roadworthy.web.app import create_app
    app = create_app(Settings(out=Path("roadworthy-runs")))     # `roadworthy serve` runs this by uvicorn

``settings`` says what a server may use, ``security`` lets in who may come in, ``services`` is what all pages
share; each page is a file of its name. ``rule_text`` and ``spec_text`` read what is typed, ``jobs/`` runs it
in processes of its own. Importing this package loads nothing: the processes of ``jobs/`` need no web server.
"""

from __future__ import annotations
