"""The notebook of python/examples runs, with nbclient if it is installed and otherwise cell by cell, and stores no
output."""

import ast
import importlib.util
import json
import os
import pathlib
import unittest

import wellspring as ws

NOTEBOOK = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples/gallery.ipynb")
HAS_NBCLIENT = importlib.util.find_spec("nbclient") is not None and importlib.util.find_spec("ipykernel") is not None


def value_of(source, names):
    """Runs a cell and returns the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)


class Notebook(unittest.TestCase):
    def setUp(self):
        self.notebook = json.loads(NOTEBOOK.read_text())
        self.cells = [cell for cell in self.notebook["cells"] if cell["cell_type"] == "code"]

    def test_stores_no_output(self):
        for cell in self.cells:
            self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))

    def test_shows_every_generator(self):
        names, pages = {}, ""
        for cell in self.cells:
            value = value_of("".join(cell["source"]), names)
            self.assertIsNotNone(value)
            pages += value._repr_html_() if hasattr(value, "_repr_html_") else ""
        for name in ws.generators():
            self.assertIn(f"<p>{name}: ", pages)

    @unittest.skipUnless(HAS_NBCLIENT, "nbclient and ipykernel are not installed in the Python of this build")
    def test_runs_in_jupyter(self):
        import nbclient
        import nbformat

        done = nbclient.NotebookClient(nbformat.read(NOTEBOOK, as_version=4), timeout=250).execute()
        self.assertTrue(all(cell["outputs"] for cell in done["cells"] if cell["cell_type"] == "code"))


if __name__ == "__main__":
    unittest.main()
