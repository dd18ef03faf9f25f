"""mypy --strict accepts the stubs of the package and the examples. Skipped without mypy."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

if importlib.util.find_spec("mypy") is None:
    print("tests/python: Skipped\nmypy is not installed in the Python of this build", flush=True)
    sys.exit(0)

PYTHON = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python")


def complaints(*files):
    """Without PyTorch or JAX, their classes count as Any; that is allowed here."""
    lenient = [] if importlib.util.find_spec("torch") and importlib.util.find_spec("jax") else [
        "--ignore-missing-imports", "--allow-subclassing-any", "--allow-untyped-decorators",
        "--no-warn-unused-ignores", "--no-warn-return-any"]
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *lenient, *map(str, files)],
                              capture_output=True, text=True, env=os.environ | {"MYPYPATH": str(PYTHON)})
    return "" if done.returncode == 0 else done.stdout + done.stderr


class Types(unittest.TestCase):
    def test_of_stubs_and_examples_are_strict(self):
        files = [*sorted(PYTHON.glob("wellspring/*.pyi")), *sorted(PYTHON.glob("examples/*.py"))]
        self.assertGreater(len(files), 4)
        self.assertEqual(complaints(*files), "")

    def test_finds_wrong_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "wrong.py")
            file.write_text("import wellspring as ws\nws.Generator('shapes').batch('first', 3)\n")
            self.assertIn("arg-type", complaints(file))


if __name__ == "__main__":
    unittest.main()
