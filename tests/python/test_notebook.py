"""Runs the code of the example notebook, with fewer samples. Notebooks are stored without outputs."""

import json
import os
import pathlib
import sys
import types
import unittest

import wellspring as ws

NOTEBOOK = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples/generators.ipynb")


def code_cells():
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


class Notebook(unittest.TestCase):
    def test_shows_every_generator(self):
        shown = []
        fake = types.ModuleType("IPython.display")  # Jupyter is not a dependency of the tests
        fake.display, fake.Markdown = lambda *things: shown.extend(things), str
        sys.modules["IPython.display"] = fake
        sys.modules.setdefault("IPython", types.ModuleType("IPython"))
        names = {}
        for cell in code_cells():
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
            if cell["id"] == "names":
                names.update(size=16, images=4, events=50)
        pictures = [thing for thing in shown if isinstance(thing, ws.Picture)]
        self.assertGreaterEqual(len(pictures), len(ws.generators()))
        self.assertTrue(all(picture._repr_png_().startswith(b"\x89PNG") for picture in pictures))
        for name in ws.generators():
            self.assertTrue(any(str(thing).startswith(f"### {name}\n") for thing in shown), name)

    def test_has_no_outputs(self):
        for cell in code_cells():
            self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), cell["id"])


if __name__ == "__main__":
    unittest.main()
