"""Batches as tables of pandas and as arrays of awkward. Both packages are imported on first use."""

from collections import Counter

import numpy as np

from . import _core
from ._arguments import package, text

_NAMES = {"x": "features", "latents": "latents", "globals": "globals", "target": "targets"}  # column: key of describe()
_PICTURES = ("plane", "mask")


def _array(name, column):
    """A column as a NumPy array."""
    try:
        return column if isinstance(column, np.ndarray) else np.from_dlpack(column)
    except (BufferError, RuntimeError, TypeError, AttributeError) as error:
        raise _core.ConfigError(f"column '{name}' cannot be read as a NumPy array: {error}\n"
                                "  make the batch on the CPU, with dtype f32 or f16") from None


def _arrays(batch):
    if not isinstance(batch, dict) or "x" not in batch:
        raise TypeError(f"batch must be a Batch or a dict with a column x, not {type(batch).__name__}")
    return {name: _array(name, column) for name, column in batch.items()}


def _names(column, width, generator, otherwise):
    """Names of a column's last axis, all different: the generator's, or numbers."""
    facts = [] if generator is None else [fact["name"] for fact in generator.describe().get(_NAMES.get(column), [])]
    if len(facts) != width:
        return [f"{otherwise}{i}" for i in range(width)]
    if len(set(facts)) < width:
        raise _twice(Counter(facts).most_common(1)[0][0])
    return facts


def _twice(name):
    return _core.ConfigError(f"two columns are called '{name}'\n  leave generator out")


def _kept(arrays):
    """[rows, items]: True for items, False for padding."""
    return np.arange(arrays["x"].shape[1]) < arrays["count"][:, None]


def to_pandas(batch, generator=None, *, rows=None):
    """A batch as a pandas.DataFrame.

    generator  where the names of features, latents, globals and targets come from; without it, they are numbered
    rows       "samples": one row per sample, with x of events (not of images and sets), label, weight, count, and
               columns such as "latents.pt". "items": one row per item of sets, with their features and the index
               (sample, item). By default "items" for sets, otherwise "samples".
    """
    pandas = package("pandas", "to_pandas")
    arrays = _arrays(batch)
    x = arrays["x"]
    rows = text("rows", rows if rows is not None else "items" if "count" in arrays else "samples")
    if rows not in ("samples", "items"):
        raise _core.ConfigError(f"rows = '{rows}' is unknown\n  choose 'samples' or 'items'")
    if rows == "items":
        if "count" not in arrays:
            raise _core.ConfigError("rows = 'items' is for sets: this batch has no column count\n  leave rows out")
        kept = _kept(arrays)
        index = pandas.MultiIndex.from_arrays(np.nonzero(kept), names=["sample", "item"])
        return pandas.DataFrame(x[kept], index=index, columns=_names("x", x.shape[2], generator, "x"))
    columns = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            columns[name] = array
        elif array.ndim == 2 and name not in _PICTURES:
            prefix = "" if name == "x" else f"{name}."
            names = _names(name, array.shape[1], generator, "x" if name == "x" else "")
            for i, column in enumerate(names):
                if prefix + column in columns:
                    raise _twice(prefix + column)
                columns[prefix + column] = array[:, i]
    return pandas.DataFrame(columns, index=pandas.RangeIndex(len(x), name="sample"))


def to_awkward(batch, generator=None):
    """A batch as an awkward.Array with a record per sample.

    Its fields are the columns of the batch. Sets have a list of items without the padding, so `count` is left out.
    Features, latents, globals and targets are records with the names that `generator` has for them; without it,
    with numbers, as in `events.latents["0"]`. Images are arrays.
    """
    awkward = package("awkward", "to_awkward")
    arrays = _arrays(batch)
    fields = {}
    for name, array in arrays.items():
        is_set = name == "x" and "count" in arrays
        values = array[_kept(arrays)] if is_set else array
        if name == "count":
            continue
        if values.ndim == 2 and name not in _PICTURES:
            names = _names(name, values.shape[1], generator, "x" if name == "x" else "")
            values = awkward.zip({column: np.ascontiguousarray(values[:, i]) for i, column in enumerate(names)})
        fields[name] = awkward.unflatten(values, arrays["count"]) if is_set else awkward.Array(values)
    return awkward.zip(fields, depth_limit=1)
