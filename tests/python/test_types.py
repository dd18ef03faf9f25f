"""mypy --strict accepts the stubs of the package and the examples, and the stubs agree with the package. Skipped without mypy."""

import ast
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import wellspring as ws
from wellspring import _core

if importlib.util.find_spec("mypy") is None:
    print("tests/python: Skipped\nmypy is not installed in the Python of this build", flush=True)
    sys.exit(0)

PYTHON = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python")

# Correct code that mypy's stubtest reports. An entry that matches no report fails the test.
ALLOWED = r"""
wellspring\.(\w+\.)?(Batches|Generator|Mixture|Samples)  # nanobind's metaclass
wellspring\._core\.(Batches|Samples)\.__init__           # only functions make them
wellspring\._core\.[a-z_]+                               # functions of nanobind; see test_of_the_bindings
wellspring\.torch(\.IterableDataset)?                    # a class of PyTorch, which is skipped or missing
(wellspring\.jax)?                                       # JAX or its handlers may be missing
"""
SETTINGS = """
[mypy]
ignore_missing_imports = True
[mypy-torch.*,jax.*,numpy.*]
follow_imports = skip
"""


def run_mypy(*arguments):
    done = subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True,
                          env=os.environ | {"MYPYPATH": str(PYTHON)})
    return "" if done.returncode == 0 else done.stdout + done.stderr


def complaints(*files):
    """Without PyTorch or JAX, their classes count as Any; that is allowed here."""
    lenient = [] if importlib.util.find_spec("torch") and importlib.util.find_spec("jax") else [
        "--ignore-missing-imports", "--allow-subclassing-any", "--allow-untyped-decorators",
        "--no-warn-unused-ignores", "--no-warn-return-any"]
    with tempfile.TemporaryDirectory() as cache:
        return run_mypy("mypy", "--strict", "--cache-dir", cache, *lenient, *files)


def arguments_of(function, defaults=None):
    """[(name, only by keyword, default)] of a parsed function without self. `defaults`: the values that its numbers stand for."""
    def value(node):
        if node is None:
            return "none"
        return (ast.literal_eval(node) if defaults is None else defaults[node.value],)

    given = function.args
    names = [*given.posonlyargs, *given.args]
    values = [None] * (len(names) - len(given.defaults)) + given.defaults
    rows = [(one.arg, False, value(node)) for one, node in zip(names, values)]
    rows += [(one.arg, True, value(node)) for one, node in zip(given.kwonlyargs, given.kw_defaults)]
    return [row for row in rows if row[0] != "self"]


def bound_arguments(function):
    """The same of a function of nanobind, or None if it is not one. Without names, arguments are "arg", or "arg0", "arg1"."""
    if not hasattr(function, "__nb_signature__"):
        return None
    ((text, _, defaults),) = function.__nb_signature__
    return arguments_of(ast.parse(re.sub(r"\\(\d+)", r"\1", text) + ": ...").body[0], defaults)


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

    def test_of_the_package_are_those_of_the_stubs(self):
        with tempfile.TemporaryDirectory() as folder:
            allowed, settings = pathlib.Path(folder, "allowed"), pathlib.Path(folder, "mypy.ini")
            allowed.write_text(ALLOWED)
            settings.write_text(SETTINGS)
            self.assertEqual(run_mypy("mypy.stubtest", "wellspring", "--concise", "--allowlist", allowed,
                                      "--mypy-config-file", settings), "")

    def test_of_the_bindings_are_those_of_the_stubs(self):
        """stubtest cannot inspect functions of nanobind: names, order and defaults of their arguments."""
        compared = set()
        for module, file in ((_core, "_core.pyi"), (ws, "__init__.pyi")):
            stub = ast.parse((PYTHON / "wellspring" / file).read_text())
            owners = [(module, stub), *((getattr(module, node.name), node) for node in stub.body
                                        if isinstance(node, ast.ClassDef) and hasattr(module, node.name))]
            for owner, node in owners:
                for function in (one for one in node.body if isinstance(one, ast.FunctionDef)):
                    bound = bound_arguments(getattr(owner, function.name))
                    if bound is None:
                        continue
                    want = arguments_of(function)
                    if bound and re.fullmatch(r"arg\d*", bound[0][0]):
                        want = [(name, *row[1:]) for (name, *_), row in zip(bound, want, strict=True)]
                    self.assertEqual(want, bound, f"{file}: {owner.__name__}.{function.name}")
                    compared.add(f"{file} {function.name}")
        self.assertLessEqual({"_core.pyi batch", "__init__.pyi batch", "__init__.pyi batches", "_core.pyi train"}, compared)


if __name__ == "__main__":
    unittest.main()
