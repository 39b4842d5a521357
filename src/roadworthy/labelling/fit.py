"""Stub."""


class Misfit: ...


def misfits(): ...
