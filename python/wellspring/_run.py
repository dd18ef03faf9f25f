"""Training runs, files and pictures of samples."""

import json
import os

from . import _core
from ._arguments import LARGEST_ID, device_name, image_size, setting, text, whole
from ._configuration import settings

MOST_SAMPLES = 1 << 40


def train(config, overrides=(), *, set=None, callback=None, resume="auto"):
    """Trains as `wellspring train` does, and returns the final report as a dict.

    config, overrides, set   see Mixture
    callback    called with each report, a dict: "kind" is plan, step, evaluation, checkpoint or finish. If
                it returns False or raises an exception, the run ends after the current step, with a
                checkpoint; the exception then continues here. Ctrl-C does the same.
    resume      "auto", "never" or a path, as on the command line
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, not {type(callback).__name__}")
    report = None if callback is None else lambda line: callback(json.loads(line))
    return json.loads(_core.train(*settings(config, overrides, set or {}), text("resume", resume), report))


def load(checkpoint):
    """{name: NumPy array} of the weights of a run folder, a checkpoint folder or a safetensors file."""
    return _core.load(os.fspath(checkpoint))


class Picture:
    """A PNG file in memory. Notebooks show it."""

    def __init__(self, png):
        self.png = png

    def _repr_png_(self):
        return self.png

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.png)


def _samples(what, count, first, seed, size, plane, device, split, step, overrides, parameters):
    """The samples that `what` names: a generator, or a configuration."""
    if isinstance(what, str) and (what.endswith(".h") or what in dict(_core.list_generators())):
        if overrides or split != "train" or step != 0:
            raise _core.ConfigError(f"overrides, split and step are for configurations, not for the generator '{what}'")
        count = whole("count", count, 1, MOST_SAMPLES)
        named = [(key, setting(key, value)) for key, value in parameters.items()]
        return _core.generator_samples(what, named, image_size(size), whole("seed", seed, 0, LARGEST_ID),
                                       whole("first", first, 0, LARGEST_ID + 1 - count), count, bool(plane),
                                       device_name(device))
    if isinstance(what, str) and not what.endswith((".yaml", ".yml")) and not os.path.isfile(what):
        _core.Generator(what, [], (64, 64), 0, "cpu", 0, False, "{}")  # refuses the name, with the nearest one
    if parameters:
        raise _core.ConfigError(f"unknown argument '{next(iter(parameters))}'\n"
                                "  parameters are for generators; a configuration has overrides")
    if split not in ("train", "eval"):
        raise _core.ConfigError(f"split = '{split}' is unknown\n  choose 'train' or 'eval'")
    if count is not None:
        count = whole("count", count, 1, MOST_SAMPLES)
    return _core.run_samples(*settings(what, overrides, {"device": device_name(device)}), split == "eval",
                             whole("step", step, 0, LARGEST_ID), count, bool(plane))


def export(what, out, *, count=None, first=0, seed=0, size=64, plane=False, device="cpu", split="train", step=0,
           overrides=(), layout="", pixels="f32", channels="last", **parameters):
    """Writes samples as `wellspring export` does; returns the names of the arrays.

    what    a generator (with `parameters`, first, seed, size) or a configuration, a file or a dict (with
            overrides, split, step)
    out     NAME.npz, NAME.h5 or NAME.trackml
    """
    if count is None and split == "train":
        raise _core.ConfigError("count is missing\n  give the number of samples")
    for name, value, known in (("pixels", pixels, ("f32", "u8")), ("channels", channels, ("first", "last"))):
        if value not in known:
            raise _core.ConfigError(f"{name} = '{value}' is unknown\n  choose {' or '.join(map(repr, known))}")
    if not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"out must be a path, not {type(out).__name__}")
    path = text("out", os.fspath(out))
    samples = _samples(what, count, first, seed, size, plane, device, split, step, overrides, parameters)
    return samples.write(path, text("layout", layout), pixels, channels)


def preview(what, *, count=36, first=0, seed=0, size=64, plane=False, device="cpu", split="train", step=0, overrides=(),
            **parameters):
    """Draws samples as `wellspring preview` does: images in a grid, events as histograms. Returns a Picture."""
    return Picture(_samples(what, count, first, seed, size, plane, device, split, step, overrides, parameters).draw())
