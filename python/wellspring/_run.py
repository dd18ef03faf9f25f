"""Training runs; files, pictures and profiles of samples."""

import io
import json
import os

from . import _core
from ._arguments import LARGEST_ID, as_json, device_name, image_size, package, setting, text, whole
from ._configuration import settings

MOST_SAMPLES = 1 << 40


def train(config, overrides=(), *, set=None, callback=None, resume="auto"):
    """Trains as `wellspring train` does, and returns the final report as a dict.

    config, overrides, set   see Mixture
    callback    called with each report, a dict: "kind" is plan, step, evaluation, checkpoint or finish. If
                it returns "checkpoint", a checkpoint is written after the current step, and the run goes on.
                If it returns False or raises an exception, the run ends after the current step, with a
                checkpoint; the exception then continues here. Ctrl-C does the same.
    resume      "auto", "never" or a path, as on the command line
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, not {type(callback).__name__}")

    def report(line):
        answer = callback(json.loads(line))
        if isinstance(answer, str) and answer != "checkpoint":
            raise _core.ConfigError(f"callback returned {answer!r}\n  return 'checkpoint', False (stop) or None")
        return answer

    return json.loads(_core.train(*settings(config, overrides, set or {}), text("resume", resume),
                                  None if callback is None else report))


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

    def image(self):
        """As a PIL.Image."""
        return package("PIL.Image", "Picture.image", install="Pillow").open(io.BytesIO(self.png))


def _unused(kind, **arguments):
    """Refuses arguments that samples of this kind do not have: {name: (value, default)}."""
    for name, (value, default) in arguments.items():
        if value != default:
            raise _core.ConfigError(f"{name} is not for {kind}\n  leave it out")


def _samples(what, count, first, seed, size, plane, device, split, step, overrides, parameters, *, usual=False):
    """The samples that `what` names: a generator, a configuration or a data set. `usual`: without count, as many as a
    profile has; otherwise all."""
    named = [(key, setting(key, value)) for key, value in parameters.items()]
    first = whole("first", first, 0, LARGEST_ID)
    if count is not None:
        count = whole("count", count, 1, MOST_SAMPLES)
    if isinstance(what, str) and (what.endswith(".h") or what in dict(_core.list_generators())):
        if overrides or split != "train" or step != 0:
            raise _core.ConfigError(f"overrides, split and step are for configurations, not for the generator '{what}'")
        if count is None and not usual:
            raise TypeError("count must be an integer, not NoneType")
        return _core.generator_samples(what, named, image_size(size), whole("seed", seed, 0, LARGEST_ID), first, count,
                                       bool(plane), device_name(device))
    if _is_dataset(what):
        path = os.fspath(what)
        _unused(f"the data set {path}", seed=(seed, 0), size=(size, 64), plane=(plane, False), split=(split, "train"),
                step=(step, 0), overrides=(list(overrides), []), device=(device_name(device), "cpu"))
        return _core.dataset_samples(path, named, first, count, usual)
    if isinstance(what, str) and not what.endswith((".yaml", ".yml")) and not os.path.isfile(what):
        _core.Generator(what, [], (64, 64), 0, "cpu", 0, False, "{}")  # refuses the name, with the nearest one
    if parameters:
        raise _core.ConfigError(f"unknown argument '{next(iter(parameters))}'\n"
                                "  parameters are for generators; a configuration has overrides")
    if split not in ("train", "eval"):
        raise _core.ConfigError(f"split = '{split}' is unknown\n  choose 'train' or 'eval'")
    return _core.run_samples(*settings(what, overrides, {"device": device_name(device)}), split == "eval",
                             whole("step", step, 0, LARGEST_ID), count, bool(plane), usual)


def _is_dataset(what):
    """True for the path of a data set. The folder of a run contains pictures, but is not a data set."""
    if not isinstance(what, (str, os.PathLike)):
        return False
    path = os.fspath(what)
    if path.endswith((".yaml", ".yml")) or not _core.names_dataset(path):
        return False
    configuration = os.path.join(path, "config.resolved.yaml")
    if os.path.isfile(configuration):
        raise _core.ConfigError(f"'{path}' is the folder of a run\n"
                                f"  for the samples of the run, give its configuration: {configuration}")
    return True


def export(what, out, *, count=None, first=0, seed=0, size=64, plane=False, device="cpu", split="train", step=0,
           overrides=(), layout="", pixels="f32", channels="last", **parameters):
    """Writes samples as `wellspring export` does; returns the names of the arrays.

    what    a generator (with `parameters`, first, seed, size), a configuration, a file or a dict (with
            overrides, split, step), or the path of a data set (with the keys of its format, first)
    out     NAME.npz, NAME.h5 or NAME.trackml
    """
    if count is None and split == "train" and not _is_dataset(what):
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


def stats(what, *, against=None, count=None, first=0, seed=0, size=64, device="cpu", split="train", step=0, overrides=(),
          **parameters):
    """Measures samples as `wellspring stats` does; returns their profile as a dict.

    what     a generator, a configuration or the path of a data set, with the arguments of `export`
    against  an earlier profile to compare with: a dict, or the JSON file of `wellspring stats --out`
    count    number of samples; by default 4,096 images or 20,000 events, or all of a data set or of held-out samples
             if they are fewer

    profile["sources"] has for each source its "name", the number of "samples", how many of them are "duplicates" (with
    the x of an earlier one), and "columns": channels or features, label, targets and latents. Each column has its
    "mean", "deviation" (population), "low" and "high" over the finite "values", the number of values that are
    "not_finite", and a "histogram" with one entry per sample. Images are measured before normalisation.

    With `against`, profile["drift"] says whether the samples "drifts": {"drifts": bool, "false_alarm_rate",
    "columns": [{"source", "column", "distance", "threshold", "not_finite", "drifts"}], "not_compared"}. The test is
    that of Kolmogorov and Smirnov for all columns together.
    """
    if against is not None and not isinstance(against, (dict, str, os.PathLike)):
        raise TypeError(f"against must be a profile or the path of one, not {type(against).__name__}")
    stored = as_json("against", against) if isinstance(against, dict) else None
    file = None if against is None or stored is not None else os.fspath(against)
    samples = _samples(what, count, first, seed, size, False, device, split, step, overrides, parameters, usual=True)
    return json.loads(samples.profile(stored, file))
