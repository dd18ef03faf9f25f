"""Repeats and epochs of a generator, against the batches that training makes of the same source."""

import unittest

import numpy as np

import wellspring as ws


class Passes(unittest.TestCase):
    AUGMENT = ["simclr", {"mask_patches": {"patch": 4, "ratio": 0.5}}]

    def mixture(self, source=None, **data):
        source = {"name": "a", "kind": "generator", "generator": "shapes", "seed": 7} | (source or {})
        return ws.Mixture({"device": "cpu", "data": {"size": 16, "augment": self.AUGMENT, "sources": [source], **data},
                           "model": {"name": "mlp"}, "loss": {"kind": "cross_entropy"},
                           "train": {"batch": 24, "steps": 4}})

    def generator(self):
        return ws.Generator("shapes", size=16, seed=7, augment=self.AUGMENT)

    def test_repeats_are_those_of_training(self):
        g = self.generator()
        for batch in self.mixture({"repeats": 3}):
            order = np.argsort(batch.sample, kind="stable")  # training permutes the rows of a batch
            first = int(batch.sample[order[0]])
            want = g.batch(first, 24, repeat=3)
            for rows in range(0, 24, 3):
                trained, made = ([row.tobytes() for row in x] for x in (batch.x[order][rows : rows + 3], want.x[rows : rows + 3]))
                self.assertEqual(sorted(trained), sorted(made))
                self.assertEqual(len(set(made)), 3)
            np.testing.assert_array_equal(batch.label[order], want.label)

    def test_epochs_are_the_views_of_training(self):
        g = self.generator()
        batch = self.mixture(views=3).batch(2)
        for view in range(3):
            want = g.batch(16, 8, epoch=view)
            for name in ("x", "label", "latents", "mask"):
                np.testing.assert_array_equal(batch[name][view::3], want[name])
        np.testing.assert_array_equal(g.batch(16, 8).x, g.batch(16, 8, epoch=0).x)

    def test_epochs_and_repeats_give_other_augmentations_of_the_same_samples(self):
        g = self.generator()
        seen = {row.tobytes() for epoch in (0, 1, 65535) for row in g.batch(2**46 - 2, 8, epoch=epoch, repeat=4).x}
        self.assertEqual(len(seen), 24)
        plain = ws.Generator("shapes", size=16, seed=7).batch(2**46 - 2, 2)
        self.assertEqual(g.batch(2**46 - 2, 8, epoch=3, repeat=4).label.tolist(), np.repeat(plain.label, 4).tolist())
        large = g.batch(0, 3 * 5000, repeat=3)  # by several threads
        np.testing.assert_array_equal(large.x[-6:], g.batch(4998, 6, repeat=3).x)

    def test_batches_continue_with_the_next_samples(self):
        g = self.generator()
        out = {"x": np.empty((6, 16, 16, 3), np.float16)}
        for step, batch in enumerate(g.batches(6, first=10, steps=3, dtype="f16", out=out, epoch=2, repeat=2)):
            np.testing.assert_array_equal(batch.x, g.batch(10 + 3 * step, 6, dtype="f16", epoch=2, repeat=2).x)
        self.assertEqual(len(list(g.batches(6, first=2**47 - 7, repeat=2))), 2)

    def test_refuse_wrong_arguments(self):
        g = self.generator()
        for words, kind, call in (
            ("repeat = 3 does not divide count = 8", ws.ConfigError, lambda: g.batch(0, 8, repeat=3)),
            ("repeat.*range", ws.ConfigError, lambda: g.batch(0, 8, repeat=0)),
            ("epoch.*range", ws.ConfigError, lambda: g.batch(0, 8, epoch=65536)),
            ("epoch must be an integer", TypeError, lambda: g.batches(8, epoch=0.5)),
            ("first.*range", ws.ConfigError, lambda: g.batch(2**48 - 7, 8, epoch=1)),
            ("first.*range", ws.ConfigError, lambda: g.batch(2**47 - 3, 8, repeat=2)),
            ("steps.*range", ws.ConfigError, lambda: g.batches(8, first=2**47 - 4, steps=2, repeat=2)),
            ("repeat = 2 needs augmentation", ws.ConfigError, lambda: ws.Generator("shapes").batch(0, 8, repeat=2)),
            ("epoch = 1 needs.*only images", ws.ConfigError, lambda: ws.Generator("tracks").batches(8, epoch=1)),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, "(?s)" + words):
                call()


if __name__ == "__main__":
    unittest.main()
