"""Configurations: a file or a dict, with overrides."""

import os

from ._arguments import as_json, setting


def lines_of(overrides):
    """Overrides as a list: one string, or any number of them."""
    lines = [overrides] if isinstance(overrides, str) else list(overrides)
    for line in lines:
        if not isinstance(line, str):
            raise TypeError(f"overrides must be strings, not {type(line).__name__}")
    return lines


def settings(config, overrides, changes):
    """(file, text or None, overrides) for the extension module.

    config      the path of a YAML file, or a dict of the same structure
    overrides   "train.batch=64", as on the command line
    changes     {"train.batch": 64}
    """
    lines = lines_of(overrides) + [f"{key}={setting(key, value)}" for key, value in changes.items()]
    if isinstance(config, dict):
        return "config", as_json("config", config), lines
    if isinstance(config, (str, os.PathLike)):
        return os.fspath(config), None, lines
    raise TypeError(f"config must be a path or a dict, not {type(config).__name__}")
