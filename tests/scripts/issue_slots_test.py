"""scripts/issue-slots must keep its counts and compute the right bounds."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from support import load_script  # noqa: E402


class IssueSlots(unittest.TestCase):
    def setUp(self):
        self.script = load_script("issue-slots")

    def test_keeps_rows_with_and_without_traffic(self):
        rows = {("sbi", "lotka", 1): self.script.Row(1989.0, 256, 64),
                ("ising", "", 64): self.script.Row(842100.0, 64, 24592, (1.5e6, 0.0, 2400.25, 1e5, 12.0))}
        self.assertEqual(self.script.rows_of(self.script.table_text(rows, "CUDA 13.0")), rows)

    def test_limits_by_the_lowest_rate(self):
        row = self.script.Row(1000.0, 64, 10)
        bound = self.script.SLOTS / 1000
        self.assertEqual(self.script.lowest(self.script.ceilings(row)), self.script.human(bound))
        # In a cycle, an H200 issues 528 warp instructions and moves 132 * 128 bytes from its L1s.
        for name, more in (("integers", (0.0, 0.0, 0.0, 1000.0, 249.0)), ("special functions", (0, 0, 0, 0, 250.0)),
                           ("local bytes", (660, 2000 * 132 * 128 / 528, 1e9, 999, 249))):
            found = self.script.lowest(self.script.ceilings(row._replace(more=more)))
            self.assertEqual(found, f"{self.script.human(bound / 2)} ({name})")

    def test_bounds_every_measured_rate(self):
        rows, measured = self.script.rows_of(self.script.TABLE.read_text()), self.script.measured_rates()
        both = set(rows) & set(measured)
        self.assertGreater(len(both), 50)
        for key in both:
            self.assertLessEqual(measured[key], min(self.script.ceilings(rows[key]).values()), key)

    def test_keeps_the_rest_of_the_page(self):
        rows, page = self.script.rows_of(self.script.TABLE.read_text()), self.script.PAGE.read_text()
        with tempfile.TemporaryDirectory() as folder:
            self.script.PAGE = pathlib.Path(folder) / "page.md"
            self.script.PAGE.write_text(page)
            self.script.write_pages(rows)
            self.assertEqual(self.script.PAGE.read_text(), page)

    def test_replaces_only_the_rows_it_counts(self):
        known = {(name, "", side): None for name in ("ising", "xy") for side in (32, 224)}
        for generators, largest, kept in (((), None, []), (["xy"], None, [("ising", 32), ("ising", 224)]),
                                          ((), 64, [("ising", 224), ("xy", 224)]),
                                          (["xy"], 64, [("ising", 32), ("ising", 224), ("xy", 224)])):
            self.assertEqual([(name, side) for name, _, side in self.script.kept(known, generators, largest)], kept)


if __name__ == "__main__":
    unittest.main()
