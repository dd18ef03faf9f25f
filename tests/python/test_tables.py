"""Batches as tables of pandas and arrays of awkward. Tests of a package are skipped where it is missing."""

import importlib.util
import sys
import unittest
from unittest import mock

import numpy as np

import wellspring as ws

MISSING = [name for name in ("pandas", "awkward") if importlib.util.find_spec(name) is None]


def needs(name):
    return unittest.skipIf(name in MISSING, f"{name} is missing")


def fact_names(g, kind):
    return [fact["name"] for fact in g.describe()[kind]]


class Repeated:
    """A generator whose features have the same name."""

    def __init__(self, generator):
        self._facts = dict(generator.describe())
        self._facts["features"] = [dict(fact, name="twice") for fact in self._facts["features"]]

    def describe(self):
        return self._facts


class Pandas(unittest.TestCase):
    @needs("pandas")
    def test_items_of_sets_have_a_row_each(self):
        g = ws.Generator("tracks", seed=3)
        sets = g.batch(5, 4)
        table = ws.to_pandas(sets, g)
        self.assertEqual(list(table.columns), ["x", "y", "z", "volume_id", "layer_id"])
        self.assertEqual(table.index.names, ["sample", "item"])
        self.assertEqual(len(table), sets.count.sum())
        for sample, count in enumerate(sets.count):
            np.testing.assert_array_equal(table.loc[sample].to_numpy(), sets.x[sample, :count])
            self.assertEqual(list(table.loc[sample].index), list(range(count)))

    @needs("pandas")
    def test_names_follow_the_parameters(self):
        g = ws.Generator("tracks", columns="truth")
        table = ws.to_pandas(g.batch(0, 2), g)
        self.assertEqual(list(table.columns), fact_names(g, "features"))
        self.assertGreater(len(table.columns), 5)
        np.testing.assert_array_equal(ws.to_pandas(g.batch(0, 2)).to_numpy(), table.to_numpy())

    @needs("pandas")
    def test_samples_have_a_row_each(self):
        g = ws.Generator("gaussian_linear")
        events = g.batch(0, 6)
        table = ws.to_pandas(events, g)
        self.assertEqual(table.index.name, "sample")
        self.assertEqual(list(table.columns)[: events.x.shape[1]], fact_names(g, "features"))
        np.testing.assert_array_equal(table[fact_names(g, "features")].to_numpy(), events.x)
        np.testing.assert_array_equal(table["latents.theta1"], events.latents[:, 1])
        np.testing.assert_array_equal(table["label"], events.label)
        sets = ws.Generator("ginkgo").batch(0, 3)
        numbered = ws.to_pandas(sets, rows="samples")
        np.testing.assert_array_equal(numbered["count"], sets.count)
        np.testing.assert_array_equal(numbered["globals.0"], sets.globals[:, 0])
        self.assertNotIn("x0", numbered)

    @needs("pandas")
    def test_every_generator_has_columns_of_its_own(self):
        for name in ws.generators():
            with self.subTest(name):
                g = ws.Generator(name, size=16)
                batch = g.batch(0, 2)
                table = ws.to_pandas(batch, g, rows="samples")
                self.assertEqual(len(table), 2)
                widths = [1 if column.ndim == 1 else column.shape[1] for column in batch.values() if column.ndim <= 2]
                self.assertEqual(len(table.columns), sum(widths))
                self.assertIn("latents." + g.latents[0] if g.latents else "label", table)

    @needs("pandas")
    def test_repeated_names_are_refused(self):
        for name, rows in (("gaussian_linear", "samples"), ("ginkgo", "items")):
            g = ws.Generator(name)
            with self.subTest(rows), self.assertRaisesRegex(ws.ConfigError, "two columns are called 'twice'"):
                ws.to_pandas(g.batch(0, 2), Repeated(g), rows=rows)

    @needs("pandas")
    def test_wrong_arguments_are_refused(self):
        batch = ws.Generator("gaussian_linear").batch(0, 2)
        for kind, words, call in (
            (ws.ConfigError, "rows = 'item' is unknown", lambda: ws.to_pandas(batch, rows="item")),
            (ws.ConfigError, "rows = 'items' is for sets", lambda: ws.to_pandas(batch, rows="items")),
            (TypeError, "batch must be a Batch", lambda: ws.to_pandas(batch.x)),
            (TypeError, "rows must be a string", lambda: ws.to_pandas(batch, rows=3)),
            (ws.ConfigError, "column 'x' cannot be read.*f32",
             lambda: ws.to_pandas(ws.Generator("gaussian_linear").batch(0, 2, dtype="bf16"))),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, "(?s)" + words):
                call()


class Awkward(unittest.TestCase):
    @needs("awkward")
    def test_sets_are_lists_of_records(self):
        g = ws.Generator("ginkgo", seed=3)
        sets = g.batch(5, 4)
        array = ws.to_awkward(sets, g)
        self.assertEqual(len(array), 4)
        self.assertEqual(array.x.fields, fact_names(g, "features"))
        self.assertEqual(array.x[array.x.fields[0]].to_list(),
                         [sets.x[i, :count, 0].tolist() for i, count in enumerate(sets.count)])
        np.testing.assert_array_equal(array.label, sets.label)
        np.testing.assert_array_equal(array.globals[fact_names(g, "globals")[0]], sets.globals[:, 0])
        self.assertNotIn("count", array.fields)
        self.assertEqual(ws.to_awkward(sets).x.fields[0], "x0")

    @needs("awkward")
    def test_events_and_images(self):
        g = ws.Generator("gaussian_linear")
        events = g.batch(0, 6)
        np.testing.assert_array_equal(ws.to_awkward(events, g).latents.theta1, events.latents[:, 1])
        np.testing.assert_array_equal(ws.to_awkward(events).latents["1"], events.latents[:, 1])
        images = ws.Generator("shapes", size=16, plane=True).batch(0, 3)
        array = ws.to_awkward(images)
        np.testing.assert_array_equal(array.x, images.x)
        np.testing.assert_array_equal(array.plane, images.plane)

    @needs("awkward")
    def test_repeated_names_are_refused(self):
        for name in ("gaussian_linear", "ginkgo"):
            g = ws.Generator(name)
            with self.subTest(name), self.assertRaisesRegex(ws.ConfigError, "two columns are called 'twice'"):
                ws.to_awkward(g.batch(0, 2), Repeated(g))

    @needs("awkward")
    def test_close_points_of_a_trajectory_have_a_field_each(self):
        g = ws.Generator("ode", points=1024, duration=0.05)
        self.assertEqual(len(ws.to_awkward(g.batch(0, 2), g).x.fields), 3 * 1024)


class Packages(unittest.TestCase):
    def test_a_missing_package_is_named(self):
        batch = ws.Generator("gaussian_linear").batch(0, 2)
        for package, function in (("pandas", ws.to_pandas), ("awkward", ws.to_awkward)):
            with mock.patch.dict(sys.modules, {package: None}), self.assertRaisesRegex(ImportError, f"pip install {package}"):
                function(batch)


if __name__ == "__main__":
    if MISSING:
        print(f"not installed in the Python of this build: {', '.join(MISSING)}; tests that need it are skipped")
    unittest.main()
