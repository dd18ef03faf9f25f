"""Checks and conversions of arguments that the whole package shares."""

import importlib
import json
import numbers
import operator

import numpy as np

from . import _core

LARGEST_ID = 2**63 - 1
LARGEST_SIDE = 1 << 14


def whole(name, value, low, high):
    """`value` as an int in [low, high]; otherwise an exception that names the argument."""
    if type(value) is int and low <= value <= high:  # the usual case, in little time
        return value
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not low <= number <= high:
        raise _core.ConfigError(f"{name} = {number} is out of range\n  choose an integer from {low} to {high}")
    return number


def image_size(value):
    """(height, width) of `size`: one number for squares, or both; otherwise an exception."""
    if not isinstance(value, (tuple, list)):
        value = (value, value)
    if len(value) != 2:
        raise _core.ConfigError(f"size = {value!r} is not a size\n  give one number, or (height, width)")
    return tuple(whole("size", side, 1, LARGEST_SIDE) for side in value)


def text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    return value


def native_stream(stream):
    """The cudaStream_t of a stream as an integer."""
    return whole("stream", getattr(stream, "cuda_stream", stream), 0, (1 << 64) - 1)


def device_name(value):
    """"cpu", "cuda:1"; devices of other packages, such as torch.device, give the same text."""
    return text("device", value if isinstance(value, str) else str(value))


def dtype_name(dtype):
    """"bf16", from the name or the type of another package."""
    if dtype is None:
        return "f32"
    return getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")


def setting(name, value):
    """A parameter's value as text, as it would be written on the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return setting(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(setting(name, element) for element in value) + "]"
    raise TypeError(f"{name} must be a number, a string, a bool or a list of them, not {type(value).__name__}")


def rows_of(name, value, count):
    """Numbers as a C-ordered float32 array with `count` rows."""
    try:
        rows = np.ascontiguousarray(value, dtype=np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} must be an array of numbers in host memory: {error}") from None
    if rows.ndim != 2 or len(rows) != count:
        raise _core.ConfigError(f"{name} has the shape {rows.shape}, not ({count}, latents)\n  give one row per sample")
    return rows


def as_json(name, value):
    """A value from Python as JSON, which is also YAML."""
    try:
        return json.dumps(value, default=lambda other: other.tolist(), allow_nan=False)
    except (TypeError, ValueError, AttributeError) as error:
        raise TypeError(f"{name} cannot be written as a configuration: {error}") from None


def package(name, use, install=None):
    """A package that only some functions need."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        install = install or name
        raise ImportError(f"{use} needs {install}: {error}\n  pip install {install}", name=name) from None
