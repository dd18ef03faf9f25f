"""Generators from NumPy functions, and the example of docs/own-generator.md."""

import os
import pathlib
import pickle
import re
import unittest

import numpy as np

import wellspring as ws

PAGE = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "docs/own-generator.md")


def walk(rng):
    steps = rng.normal(size=(5, 2))
    return {"x": steps.cumsum(axis=0), "label": int(steps.sum() > 0), "latents": steps[0]}


def of_walk(**more):
    return ws.Generator.from_numpy(walk, **{"classes": ("down", "up"), "latents": ("dx", "dy"), **more})


class Samples(unittest.TestCase):
    def test_do_not_depend_on_the_batch(self):
        g = of_walk(seed=3)
        whole = g.batch(5, 40)
        self.assertEqual({name: column.dtype.name for name, column in whole.items()},
                         {"x": "float32", "label": "int32", "latents": "float32", "weight": "float32"})
        self.assertEqual(whole.x.shape, (40, 5, 2))
        for name, column in whole.items():
            parts = np.concatenate([g.batch(5, 7)[name], g.batch(12, 33)[name]])
            np.testing.assert_array_equal(parts, column)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(g)).batch(5, 40)[name], column)

    def test_depend_on_name_seed_and_id(self):
        x = of_walk().batch(0, 64).x
        self.assertEqual(len(np.unique(x.reshape(64, -1), axis=0)), 64)
        for other in (of_walk(seed=1), of_walk(name="walk2")):
            self.assertFalse(np.any(other.batch(0, 64).x == x))
        far = of_walk().batch(2**63 - 2, 2)
        self.assertFalse(np.array_equal(far.x[0], far.x[1]))

    def test_have_the_streams_of_philox(self):
        # The documented rule: key from SHA-256 of name and seed, counter from the id.
        import hashlib
        key = np.frombuffer(hashlib.sha256(b"walk\0" + b"3").digest()[:16], "<u8")
        rng = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, 9]))
        expected = rng.normal(size=(5, 2)).cumsum(axis=0).astype(np.float32)
        np.testing.assert_array_equal(of_walk(seed=3).batch(9, 1).x[0], expected)

    def test_that_break_a_rule_are_refused(self):
        calls = []

        def counting(rng):
            calls.append(0)
            return [len(calls)]

        def growing(rng):
            return np.zeros(1 + int(rng.integers(2)))

        for function, arguments, message in (
            (counting, {}, "sample 0 differs when it is made again"),
            (lambda rng: [np.nan], {}, "x outside"),
            (lambda rng: [2.0], {"high": 1}, "x outside"),
            (lambda rng: 1.0, {}, "one to three axes"),
            (lambda rng: {"x": [1], "label": 1}, {}, "has the label 1"),
            (lambda rng: {"x": [1], "label": 0.5}, {}, "has the label 0.5"),
            (lambda rng: {"x": [1]}, {"latents": ["a"]}, "return 1 finite numbers"),
            (lambda rng: {"x": [1], "lable": 1}, {}, "unknown column 'lable'"),
            (lambda rng: {"label": 0}, {}, "has no x"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ws.ConfigError, message):
                ws.Generator.from_numpy(function, **arguments)
        with self.assertRaisesRegex(ws.ConfigError, r"sample \d+ has an x of shape"):
            ws.Generator.from_numpy(growing).batch(0, 64)
        with self.assertRaises(TypeError):
            ws.Generator.from_numpy(7)
        with self.assertRaisesRegex(ws.ConfigError, "count = 0 is out of range"):
            of_walk().batch(0, 0)


class Page(unittest.TestCase):
    def test_example_runs(self):
        (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        names = {}
        exec(compile(example, str(PAGE), "exec"), names)
        self.assertEqual(names["batch"].x.shape, (128, 64, 64, 3))


if __name__ == "__main__":
    unittest.main()
