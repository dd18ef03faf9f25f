"""Runs the examples of docs/python.md, in order, in one namespace."""

import importlib.util
import os
import pathlib
import re
import tempfile
import unittest

import wellspring as ws

PAGE = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "docs/python.md")


def can_run(example):
    if "import jax" in example and ws._core.jax_handlers is None:
        return False
    return all(importlib.util.find_spec(package) for package in ("torch", "jax", "grain", "tensorflow") if f"import {package}" in example)


class Page(unittest.TestCase):
    def test_examples_run(self):
        examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(examples), 6)
        names, skipped = {}, 0
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            for example in examples:
                if not can_run(example):
                    skipped += 1
                    continue
                with self.subTest(example):
                    exec(compile(example, str(PAGE), "exec"), names)
            os.chdir(before)
        print(f"{len(examples) - skipped} examples ran, {skipped} need PyTorch, JAX, Grain or TensorFlow")


if __name__ == "__main__":
    unittest.main()
