"""Common tools of the truth checks: random numbers rebuilt from docs/generators/algorithms/README.md alone, and the
program's samples. Uses NumPy, but no code of the program.
"""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np

PURPOSES = {
    "scene": 1, "texture": 2, "noise": 3, "label": 4, "augment": 5, "order": 6, "init": 7, "dropout": 8, "mix": 9,
    "key": 10, "colour": 11,
}
LOW = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Ten rounds of Philox4x32. counter: four arrays of words that broadcast; key: 64-bit int. Returns four uint32."""
    c = [np.asarray(word, np.uint64) for word in np.broadcast_arrays(*counter)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [
            (p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & LOW,
            (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & LOW,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [word.astype(np.uint32) for word in c]


def named_key(seed, name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    words = philox((0, PURPOSES["key"], h & 0xFFFFFFFF, h >> 32), seed)
    return int(words[0]) + (int(words[1]) << 32)


class Sample:
    """The random words of sample `number` under a key. If `number` is an array, they are arrays of words."""

    def __init__(self, key, number):
        self.key = key
        self.number = np.asarray(number, np.uint64)

    def block(self, purpose, draw):
        """Four words, each with the broadcast shape of draw and number."""
        purpose = PURPOSES.get(purpose, purpose)
        return philox((draw, purpose, self.number & LOW, self.number >> np.uint64(32)), self.key)

    def words(self, purpose, count):
        """The first `count` words of a purpose's stream: [count, ...]."""
        blocks = [self.block(purpose, draw) for draw in range((count + 3) // 4)]
        return np.array([word for block in blocks for word in block])[:count]


def unit(word):
    return (np.asarray(word) >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


def unit_open(word):
    return ((np.asarray(word) >> np.uint32(8)) + np.uint32(1)).astype(np.float32) * np.float32(2**-24)


def uniform(word, low, high):
    low, high = np.float32(low), np.float32(high)
    return low + (high - low) * unit(word)


def below(word, n):
    return ((np.asarray(word, np.uint64) * np.uint64(n)) >> np.uint64(32)).astype(np.int64)


def normal(word0, word1):
    """Two independent standard normal numbers, in double precision."""
    radius = np.sqrt(-2 * np.log(unit_open(word0).astype(np.float64)))
    angle = 2 * np.pi * unit(word1).astype(np.float64)
    return radius * np.cos(angle), radius * np.sin(angle)


def f32(value):
    """The value rounded to f32, but stored as f64."""
    return np.float32(value).astype(np.float64)


def fma(a, b, c):
    """a b + c of f32 numbers, rounded once to f32, as README.md defines it."""
    p, c = np.asarray(a, np.float64) * np.asarray(b, np.float64), np.asarray(c, np.float64)
    s = p + c
    t = s - p
    e = (p - (s - t)) + (c - t)
    even = (s.view(np.int64) & 1) == 0
    return np.where((e != 0) & even, np.nextafter(s, np.where(e > 0, np.inf, -np.inf)), s).astype(np.float32)


class TruthTest(unittest.TestCase):
    """Compares with the program that the variable WELLSPRING names."""

    def samples(self, generator, count, *settings, seed=0, first=0, size=None):
        """The arrays of `wellspring export`, and their description under "metadata"."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples.npz")
            command = [os.environ["WELLSPRING"], "export", generator, *settings, "--count", str(count)]
            command += ["--seed", str(seed), "--first", str(first), "--out", path]
            if size is not None:
                command += ["--size", str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            with np.load(path) as file:
                arrays = {name: file[name] for name in file.files}
        arrays["metadata"] = json.loads(str(arrays["metadata"]))
        return arrays
