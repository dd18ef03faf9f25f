"""JAX makes batches within compiled functions. Skipped without JAX."""

import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("tests/python: Skipped\nJAX is not installed in the Python of this build", flush=True)
    sys.exit(0)

import wellspring as ws

if ws._core.jax_handlers is None:
    print("tests/python: Skipped\nthis build was configured without the headers of jaxlib", flush=True)
    sys.exit(0)

import wellspring.jax

EXAMPLE = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples/jax_training.py")


def compiled(g, count, **options):
    return jax.jit(lambda first: wellspring.jax.batch(g, first, count, **options))


class Memory(unittest.TestCase):
    def test_dlpack_shares_it(self):
        batch = ws.Generator("shapes", size=32).batch(0, 16)
        for name, array in batch.items():
            self.assertEqual(jax.dlpack.from_dlpack(array).unsafe_buffer_pointer(), array.ctypes.data, name)


class Batches(unittest.TestCase):
    def same(self, got, want):
        self.assertEqual(set(got), set(want))
        for name in want:
            self.assertEqual(np.asarray(got[name]).tobytes(), want[name].tobytes(), name)

    def test_equal_those_of_every_generator(self):
        for name in ws.generators():
            with self.subTest(name):
                g = ws.Generator(name, seed=7)
                self.same(compiled(g, 3)(5), g.batch(5, 3))

    def test_of_augmented_images_with_dense_labels(self):
        g = ws.Generator("dead_leaves", size=32, plane=True, augment=[{"flip_x": 0.5}, "crop_resize"],
                         normalise={"mean": [0.5], "std": [0.25]})
        make = compiled(g, 4)
        for first in (0, 4, 1000):
            self.same(make(first), g.batch(first, 4))

    def test_bf16(self):
        g = ws.Generator("shapes", size=16)
        want = jnp.asarray(g.batch(0, 4).x).astype(jnp.bfloat16)
        got = compiled(g, 4, dtype="bf16", columns=[])(0)
        self.assertEqual(list(got), ["x"])
        self.assertTrue((got.x == want).all())

    def test_f16_and_u8(self):
        g = ws.Generator("shapes", size=16)
        for dtype in ("f16", "u8"):
            self.same(compiled(g, 4, dtype=dtype)(8), g.batch(8, 4, dtype=dtype))
        with self.assertRaisesRegex(Exception, "u8"):
            compiled(ws.Generator("gaussian_linear"), 4, dtype="u8")(0)["x"].block_until_ready()

    def test_takes_ids_of_all_integer_types(self):
        g = ws.Generator("gaussian_linear")
        large = 2**62 + 5
        self.same(jax.jit(lambda: wellspring.jax.batch(g, large, 2))(), g.batch(large, 2))
        self.same(wellspring.jax.batch(g, 3, 2), g.batch(3, 2))  # without jit
        self.same(compiled(g, 2)(jnp.uint32(2**32 - 1)), g.batch(2**32 - 1, 2))
        with jax.enable_x64(True):
            self.same(compiled(g, 2)(jnp.int64(large)), g.batch(large, 2))

    def test_in_loops_and_under_vmap(self):
        g = ws.Generator("gaussian_linear")
        _, scanned = jax.jit(lambda: jax.lax.scan(lambda i, _: (i + 4, wellspring.jax.batch(g, i, 4).x), 0, length=3))()
        self.assertEqual(np.asarray(scanned).tobytes(), g.batch(0, 12).x.tobytes())
        mapped = jax.vmap(lambda first: wellspring.jax.batch(g, first, 4).x)(jnp.array([0, 4, 8]))
        self.assertEqual(np.asarray(mapped).tobytes(), g.batch(0, 12).x.tobytes())

    def test_of_epochs_and_repeats(self):
        g = ws.Generator("shapes", size=16, augment=["simclr"])
        self.same(compiled(g, 6, epoch=2, repeat=3)(5), g.batch(5, 6, epoch=2, repeat=3))
        make = jax.jit(lambda first, epoch: wellspring.jax.batch(g, first, 4, epoch=epoch, repeat=2))
        for first, epoch in ((0, 0), (2**31, 1), (7, np.int16(300)), (7, np.uint8(3))):
            self.same(make(jnp.uint32(first), epoch), g.batch(first, 4, epoch=int(epoch), repeat=2))
        for epoch in (-1, 65536):
            with self.assertRaisesRegex(Exception, "epoch is out of range"):
                jax.block_until_ready(make(0, epoch))

    def test_outlive_the_name_of_the_generator(self):
        want = ws.Generator("gaussian_linear", seed=3).batch(0, 4)
        g = ws.Generator("gaussian_linear", seed=3)
        make = compiled(g, 4)
        make(0)
        del g
        self.same(make(0), want)


class Arguments(unittest.TestCase):
    def test_are_checked(self):
        g = ws.Generator("shapes", size=16)
        augmented = ws.Generator("shapes", size=16, augment=["simclr"])
        for words, kind, call in (
            ("first", Exception, lambda: jax.block_until_ready(compiled(g, 4)(-1))),
            ("first", ws.ConfigError, lambda: wellspring.jax.batch(g, -1, 4)),
            ("first", TypeError, lambda: compiled(g, 4)(0.5)),
            ("lable", ws.ConfigError, lambda: wellspring.jax.batch(g, 0, 4, columns=["lable"])),
            ("dtype", ws.ConfigError, lambda: wellspring.jax.batch(g, 0, 4, dtype="f8")),
            ("count", ws.ConfigError, lambda: wellspring.jax.batch(g, 0, 0)),
            ("epoch = 1 needs augmentation", ws.ConfigError, lambda: compiled(g, 4, epoch=jnp.int32(1))(0)),
            ("repeat = 3 does not divide", ws.ConfigError, lambda: wellspring.jax.batch(g, 0, 4, repeat=3)),
            ("epoch", ws.ConfigError, lambda: wellspring.jax.batch(g, 0, 4, epoch=-1)),
            ("epoch", TypeError, lambda: wellspring.jax.batch(g, 0, 4, epoch=0.5)),
            ("epoch", TypeError, lambda: jax.jit(lambda e: wellspring.jax.batch(augmented, 0, 4, epoch=e))(0.5)),
            ("first.*range", ws.ConfigError, lambda: wellspring.jax.batch(augmented, 2**47, 4, repeat=2)),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()


@unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "a sanitized training takes minutes")
class Example(unittest.TestCase):
    def test_learns(self):
        run = subprocess.run([sys.executable, str(EXAMPLE), "--steps", "200"], check=True, capture_output=True, text=True,
                             timeout=250)
        losses = [float(line.split()[-1]) for line in run.stdout.splitlines()]
        self.assertLess(losses[-1], 1.0)  # chance: ln 4


if __name__ == "__main__":
    unittest.main()
