"""Where two exports differ first. Reads .npz files with Python's own library: NumPy may be absent."""

import ast
import bisect
import math
import struct
import zipfile
from array import array

CODES = {"<f4": ("f", "I"), "<i4": ("i", None), "<i8": ("q", None), "<u8": ("Q", None)}


def read_array(archive, name):
    """(type, shape, bytes) of a member (NumPy's format, version 1.0)."""
    data = archive.read(name)
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode("latin1"))
    return header["descr"], header["shape"], data[10 + length :]


def ulps(a, b):
    """How many floats lie between two bit patterns."""

    def ordered(bits):
        return -(bits & 0x7FFFFFFF) if bits & 0x80000000 else bits

    return abs(ordered(a) - ordered(b))


def first_difference(host, device):
    """Of two exports of the same samples: for each array that differs, how many of its values do, and
    sample id, index within the sample and both values of the first; "" where none differs."""
    words = []
    with zipfile.ZipFile(host) as one, zipfile.ZipFile(device) as other:
        ids = integers(one, "sample")
        offsets = integers(one, "offsets")  # of sets: where the items of each sample begin
        for member in one.namelist():
            kind, shape, expected = read_array(one, member)
            seen = read_array(other, member)[2]
            if expected == seen or kind not in CODES:
                continue
            name = member.removesuffix(".npy")
            if len(expected) != len(seen):
                words.append(f"{name}: {len(expected)} bytes on the host, {len(seen)} on the device")
                continue
            at, text = describe(kind, shape, expected, seen)
            row = bisect.bisect_right(offsets, at) - 1 if name == "x" and offsets else at
            words.append(f"{name}: {text.format(sample=ids[row] if row < len(ids) else row)}")
    return "; ".join(words)


def integers(archive, name):
    """An array of integers of 64 bits; empty where there is none."""
    if name + ".npy" not in archive.namelist():
        return []
    kind, _, data = read_array(archive, name + ".npy")
    return array(CODES[kind][0], data).tolist()


def describe(kind, shape, expected, seen):
    """(row of the first value that differs, words about it with a place for its sample)."""
    code, bits = CODES[kind]
    a, b = array(bits or code, expected), array(bits or code, seen)
    different = [i for i, (x, y) in enumerate(zip(a, b)) if x != y]
    at = different[0]
    width = math.prod(shape[1:])
    index, rest = [], at % width
    for extent in reversed(shape[1:]):
        index.insert(0, rest % extent)
        rest //= extent
    values = array(code, expected)[at], array(code, seen)[at]
    distance = f", {ulps(a[at], b[at])} ulp" if bits else ""
    place = f" at {index}" if index else ""
    return at // width, (
        f"{len(different)} of {len(a)} values differ, first in sample {{sample}}{place}: "
        f"host {values[0]!r}, device {values[1]!r}{distance}"
    )
