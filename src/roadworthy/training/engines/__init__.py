"""Training learned engines: data in, an engine with its card out.

Nothing here loads torch before it is used: the modules that need it are imported by what runs a training.
"""
