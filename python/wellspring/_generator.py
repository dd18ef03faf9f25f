"""Generators: samples by id."""

import json

from . import _core
from ._arguments import LARGEST_ID, as_json, device_name, dtype_name, image_size, rows_of, setting, text, whole
from ._batch import Batch
from ._numpy_generator import NumpyGenerator

MOST_ROWS = 1 << 24


def generators():
    """{name: one-line summary} of all generators."""
    return dict(_core.list_generators())


def native(stream):
    """The cudaStream_t of a stream as an integer; None stays None."""
    if stream is None:
        return None
    return whole("stream", getattr(stream, "cuda_stream", stream), 0, (1 << 64) - 1)


def _made_again(arguments):
    """A pickled generator."""
    return Generator(**arguments)


class Generator:
    """Samples of one generator. Sample i is a pure function of name, parameters, seed and i.

    name         one of wellspring.generators(), or a header of yours: "./NAME.h"
    size         side of square images in pixels, or (height, width); events and sets ignore it
    seed         seed of all samples
    device       "cpu", "cuda", "cuda:N" or "auto"
    threads      CPU threads; 0: as many as `wellspring doctor` shows
    plane        True: also make dense labels
    augment      list of operations as in a configuration: [{"flip_x": 0.5}, "grey"]
    normalise    {"mean": [...], "std": [...]}
    parameters   the generator's own, as on the command line; `wellspring describe NAME` lists them

    A generator may be used by several threads, which take turns.
    """

    def __init__(self, name, *, size=64, seed=0, device="cpu", threads=0, plane=False, augment=None,
                 normalise=None, **parameters):
        self._arguments = dict(parameters, name=name, size=size, seed=seed, device=device_name(device),
                               threads=threads, plane=plane, augment=augment, normalise=normalise)
        keys = {"augment": augment, "normalise": normalise}
        given = {key: value for key, value in keys.items() if value is not None}
        self._core = _core.Generator(
            text("name", name),
            [(key, setting(key, value)) for key, value in parameters.items()],
            image_size(size),
            whole("seed", seed, 0, LARGEST_ID),
            device_name(device),
            whole("threads", threads, 0, 1024),
            bool(plane),
            as_json("augment and normalise", given),
        )
        self._description = json.loads(self._core.describe())

    from_numpy = NumpyGenerator

    def batch(self, first, count, *, dtype=None, layout="NHWC", out=None, stream=None, latents=None):
        """The samples first, first + 1, ..., first + count - 1 as a Batch.

        dtype    "f32" (default), "bf16", "f16" or "u8": type of x. NumPy has no bf16, so x is then a DLPack
                 object. u8: 0 to 1 as 0 to 255, rounded; only if the values are from 0 to 1.
        layout   "NHWC", or "NCHW": the same memory with the axes in PyTorch's order (channels_last)
        out      {column: array} to write into instead of new memory. Each array must have the column's
                 type and shape, be contiguous and on the generator's device; x is required. Returns the
                 same arrays.
        stream   on a GPU: a stream of the caller (torch.cuda.Stream, or a cudaStream_t as an integer). The
                 batch is then enqueued there, and the call returns at once. Use it with out: new memory for
                 a batch is allocated and freed by calls that wait for the device.
        latents  array [count, latents]: use these values instead of drawing them. Everything else of a
                 sample stays as drawn, so sample i at its own latents is sample i. Latents that follow
                 from others are computed again and may be left out. Not together with stream.
        """
        count = whole("count", count, 1, MOST_ROWS)
        first = whole("first", first, 0, LARGEST_ID + 1 - count)
        if out is not None and not isinstance(out, dict):
            raise TypeError(f"out must be a dict of arrays, not {type(out).__name__}")
        if latents is not None:
            latents = rows_of("latents", latents, count)
            if stream is not None:
                raise _core.ConfigError("latents cannot be used with stream: they come from host memory\n  leave stream out")
        return Batch(self._core.batch(first, count, dtype_name(dtype), text("layout", layout), out, native(stream), latents))

    def __reduce__(self):
        return _made_again, (self._arguments,)

    def describe(self):
        """Everything that is known about the generator: parameters, classes, latents, references."""
        return json.loads(json.dumps(self._description))

    @property
    def name(self):
        return self._description["name"]

    @property
    def parameters(self):
        """{name: value} of all parameters, defaults included."""
        return dict(self._description["values"])

    @property
    def presets(self):
        """{name: help}; use one as Generator(name, preset=...)."""
        rows = (row.get("presets", []) for row in self._description["parameters"])
        return {preset["name"]: preset["help"] for row in rows for preset in row}

    @property
    def classes(self):
        """Names of the classes; label i means classes[i]."""
        return list(self._description["classes"])

    @property
    def latents(self):
        """Names of the columns of batch.latents."""
        return [latent["name"] for latent in self._description["latents"]]

    @property
    def overflow(self):
        """{"samples": ..., "items": ...}: sets with more items than a row holds, and the items left out so far."""
        samples, items = self._core.overflow()
        return {"samples": samples, "items": items}

    @property
    def notes(self):
        """Messages about tables and limits, after the first batch."""
        return self._core.notes()

    def __repr__(self):
        return f"<wellspring.Generator {self.name}: {self._description['sample']}, {len(self.classes)} classes>"
