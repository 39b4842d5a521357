"""Stub."""


class Written: ...


def write_labels(): ...
