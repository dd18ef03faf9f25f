"""Generators from NumPy functions, for first experiments."""

import hashlib

import numpy as np

from ._arguments import LARGEST_ID, text, whole
from ._batch import Batch
from ._core import ConfigError

_MOST_ROWS = 1 << 24
_COLUMNS = ("x", "label", "latents")


class NumpyGenerator:
    """Samples of a function. Sample i is a pure function of the function's code, name, seed and i.

    fn       is called as fn(rng) for each sample, with a numpy.random.Generator of its own, from which all
             random numbers must come. It returns x, or {"x": ..., "label": ..., "latents": [...]}, with x of
             shape [features], [items, features] or [height, width, channels].
    name     key of the random numbers (default: the function's name)
    seed     seed of all samples
    classes  names of the classes; label i means classes[i]
    latents  names of the latents
    low, high  range of x; values outside are errors

    The function runs in this process, at NumPy's speed. Such generators have no other batches than these:
    configurations, exports and training need a C++ header.
    """

    def __init__(self, fn, *, name=None, seed=0, classes=("sample",), latents=(), low=-np.inf, high=np.inf):
        if not callable(fn):
            raise TypeError(f"fn must be a function, not {type(fn).__name__}")
        self.name = text("name", getattr(fn, "__name__", None) if name is None else name)
        self.classes, self.latents = [*classes], [*latents]
        self._function, self._range = fn, (low, high)
        identity = f"{self.name}\0{whole('seed', seed, 0, LARGEST_ID)}"
        self._key = np.frombuffer(hashlib.sha256(identity.encode()).digest()[:16], "<u8")
        self._shape = None
        first = self._sample(0)
        self._shape = first["x"].shape
        again = self._sample(0)
        if any(not np.array_equal(first[column], again[column]) for column in _COLUMNS):
            raise self._error(0, "differs when it is made again", "take all random numbers from rng, and keep no state")

    def batch(self, first, count):
        """The samples first, first + 1, ..., first + count - 1 as a Batch of x, label, latents and weight."""
        count = whole("count", count, 1, _MOST_ROWS)
        first = whole("first", first, 0, LARGEST_ID + 1 - count)
        samples = [self._sample(first + row) for row in range(count)]
        columns = {column: np.stack([sample[column] for sample in samples]) for column in _COLUMNS}
        if not self.latents:
            del columns["latents"]
        return Batch(columns, weight=np.ones(count, np.float32))

    def _sample(self, sample):
        # The last word of the counter is the id, so the streams of two samples never overlap.
        stream = np.random.Philox(key=self._key, counter=[0, 0, 0, sample])
        made = self._function(np.random.Generator(stream))
        made = made if isinstance(made, dict) else {"x": made}
        if unknown := set(made) - set(_COLUMNS):
            raise self._error(sample, f"has the unknown column '{min(unknown)}'", f"return {', '.join(_COLUMNS)}")
        if "x" not in made:
            raise self._error(sample, "has no x", "return an array, or a dict with x")
        x = np.asarray(made["x"], np.float32)
        if not 1 <= x.ndim <= 3 or (self._shape is not None and x.shape != self._shape):
            expected = "one to three axes" if self._shape is None else f"the shape {self._shape} of sample 0"
            raise self._error(sample, f"has an x of shape {x.shape}, not {expected}", "give all samples one shape")
        low, high = self._range
        if not np.all(np.isfinite(x) & (x >= low) & (x <= high)):
            raise self._error(sample, f"has an x outside [{low}, {high}]", "set low and high, and avoid NaN")
        label = np.asarray(made.get("label", 0))
        if label.shape != () or label.dtype.kind not in "iu" or not 0 <= label < len(self.classes):
            raise self._error(sample, f"has the label {made['label']!r}", f"return an integer below {len(self.classes)}")
        latents = np.asarray(made.get("latents", ()), np.float32)
        if latents.shape != (len(self.latents),) or not np.all(np.isfinite(latents)):
            raise self._error(sample, f"has the latents {latents.tolist()}", f"return {len(self.latents)} finite numbers")
        return {"x": x, "label": label.astype(np.int32), "latents": latents}

    def _error(self, sample, problem, advice):
        return ConfigError(f"{self.name}: sample {sample} {problem}\n  {advice}")

    def __repr__(self):
        return f"<wellspring.Generator.from_numpy {self.name}: x {self._shape}, {len(self.classes)} classes>"
