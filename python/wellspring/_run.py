"""Training runs; files, pictures and profiles of samples."""

import io
import json
import os
from collections.abc import Mapping

from . import _core
from ._arguments import LARGEST_ID, as_json, device_name, image_size, package, setting, text, whole
from ._configuration import lines_of, settings

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


def _refuse_given(kind, **arguments):
    """Refuses arguments that samples of this kind do not have: {name: (value, advice)}; None: not given."""
    for name, (value, advice) in arguments.items():
        if value is not None:
            raise _core.ConfigError(f"{name} is not for {kind}\n  {advice}")


def _in_params(name, value):
    """Advice for an argument that may be meant as a parameter or key with the same name."""
    return f"for a parameter or key of this name, give params={{{name!r}: {value!r}}}"


def _merged(params, parameters):
    """Parameters of a generator or keys of a data set. In `params`, their names may equal arguments."""
    if params is None:
        return parameters
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict, not {type(params).__name__}")
    for name in params:
        if text("a name in params", name) in parameters:
            raise TypeError(f"{name} is given twice, in params and as an argument")
    return {**parameters, **params}


def _with_device(overrides, device):
    """The overrides with a device: by default cpu, because samples are the same on every device."""
    lines = lines_of(overrides)
    named = [value.strip() for key, _, value in (line.partition("=") for line in lines) if key.strip() == "device"]
    if not named:
        return [*lines, "device=" + device_name("cpu" if device is None else device)]
    if device is not None and device_name(device) not in named:
        raise _core.ConfigError(f"device = {device_name(device)!r}, but overrides have device={named[0]}\n"
                                "  leave out one of them")
    return lines


def _samples(what, count, first, seed, size, plane, device, split, step, overrides, params, parameters, *, usual=False):
    """The samples that `what` names: a generator, a configuration or a data set. `usual`: without count, as many as a
    profile has; otherwise all."""
    named = [(key, setting(key, value)) for key, value in _merged(params, parameters).items()]
    start = whole("first", 0 if first is None else first, 0, LARGEST_ID)
    if count is not None:
        count = whole("count", count, 1, MOST_SAMPLES)
    if isinstance(what, str) and (what.endswith(".h") or what in dict(_core.list_generators())):
        _refuse_given(f"the generator '{what}'",
                      overrides=(lines_of(overrides) or None, "give its parameters as arguments"),
                      split=(split, "configurations have a split; " + _in_params("split", split)),
                      step=(step, "configurations have steps; " + _in_params("step", step)))
        if count is None and not usual:
            raise TypeError("count must be an integer, not NoneType")
        return _core.generator_samples(what, named, image_size(64 if size is None else size),
                                       whole("seed", 0 if seed is None else seed, 0, LARGEST_ID), start, count,
                                       bool(plane), device_name("cpu" if device is None else device))
    if _is_dataset(what):
        path = os.fspath(what)
        _refuse_given(f"the data set {path}", seed=(seed, "its rows are stored; leave it out"),
                      size=(size, "give resize=N or resize=[H, W] for image files"),
                      plane=(plane or None, "it has no dense labels; leave it out"),
                      split=(split, _in_params("split", split)), device=(device, "leave it out"),
                      step=(step, "select the first row with first=N"),
                      overrides=(lines_of(overrides) or None, "give its keys as arguments"))
        return _core.dataset_samples(path, named, start, count, usual)
    if isinstance(what, str) and not what.endswith((".yaml", ".yml")) and not os.path.isfile(what):
        _core.Generator(what, [], (64, 64), 0, "cpu", 0, False, "{}")  # refuses the name, with the nearest one
    if named:
        raise _core.ConfigError(f"unknown argument '{named[0][0]}'\n"
                                "  parameters are for generators; a configuration has overrides")
    _refuse_given("a configuration", first=(first, "select the first step with step=N"),
                  seed=(seed, f'give overrides=["seed={seed}"]'),
                  size=(size, 'give overrides=["data.size=N"] or overrides=["data.size=[H, W]"]'))
    if split not in (None, "train", "eval"):
        raise _core.ConfigError(f"split = '{split}' is unknown\n  choose 'train' or 'eval'")
    if split == "eval":
        _refuse_given("split='eval'", step=(step, "held-out samples are the same at every step; leave it out"))
    return _core.run_samples(*settings(what, _with_device(overrides, device), {}), split == "eval",
                             whole("step", 0 if step is None else step, 0, LARGEST_ID), count, bool(plane), usual)


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


def export(what, out, *, count=None, first=None, seed=None, size=None, plane=False, device=None, split=None, step=None,
           overrides=(), layout="", pixels="f32", channels="last", params=None, **parameters):
    """Writes samples as `wellspring export` does; returns the names of the arrays.

    what    a generator (with `parameters`, first, seed, size, device), a configuration, a file or a dict (with
            overrides, split, step, device), or the path of a data set (with the keys of its format, first)
    out     NAME.npz, NAME.h5 or NAME.trackml; layout, pixels and channels describe this file
    params  a dict of further parameters or keys, whose names may equal arguments: {"split": "valid"}

    Defaults: first, seed and step 0, size 64, device "cpu", split "train".
    """
    if count is None and split in (None, "train") and not _is_dataset(what):
        raise _core.ConfigError("count is missing\n  give the number of samples")
    for name, value, known in (("pixels", pixels, ("f32", "u8")), ("channels", channels, ("first", "last"))):
        if value not in known:
            raise _core.ConfigError(f"{name} = '{value}' is unknown\n  choose {' or '.join(map(repr, known))}; "
                                    + _in_params(name, value))
    if layout == "auto":  # a value of the key of data sets
        raise _core.ConfigError("layout = 'auto' is unknown\n  leave it out; " + _in_params("layout", layout))
    if not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"out must be a path, not {type(out).__name__}")
    path = text("out", os.fspath(out))
    samples = _samples(what, count, first, seed, size, plane, device, split, step, overrides, params, parameters)
    return samples.write(path, text("layout", layout), pixels, channels)


def preview(what, *, count=36, first=None, seed=None, size=None, plane=False, device=None, split=None, step=None,
            overrides=(), params=None, **parameters):
    """Draws samples as `wellspring preview` does: images in a grid, events as histograms. Returns a Picture.

    For the arguments, see `export`.
    """
    samples = _samples(what, count, first, seed, size, plane, device, split, step, overrides, params, parameters)
    return Picture(samples.draw())


def stats(what, *, against=None, count=None, first=None, seed=None, size=None, device=None, split=None, step=None,
          overrides=(), params=None, **parameters):
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
    samples = _samples(what, count, first, seed, size, False, device, split, step, overrides, params, parameters,
                       usual=True)
    return json.loads(samples.profile(stored, file))
