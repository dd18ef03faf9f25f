#!/usr/bin/env python3
"""A functor without a member that its form requires, or with a misspelt one, must not compile, and the error must name
the member. scripts/check-layers must report a misspelt member that no form requires.

    forms_test.py COMPILER
"""

import pathlib
import subprocess
import sys
import unittest

from support import load_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = load_script("check-layers")

CANVAS = """
#include "kernels/emission/emitter.h"
using namespace wellspring;

struct Dust {
  static constexpr int kLatents = 0;
  static constexpr forms::Canvas kForm = {.settles = true};
  struct Scene { float x; };
  using Cell = std::uint32_t;
  Scene draw(const SampleKey&, Truth<0>&) const { return {0}; }
  std::int64_t cells(SampleShape) const { return 1; }
  int painters() const { return 1; }
  template <class Team>
  void paint(Team&, const Scene&, ScatterWork, Cell*) const {}
  bool settles() const { return true; }
  template <class Team>
  void settle(Team&, const Scene&, Cell*) const {}
  template <int N>
  void shade(const Scene&, const Cell*, const PixelRun<N>&, ColourRun<N>&) const {}
};
Emitter<Dust> emitter;
"""

GENERATOR = """
#include "generators/functor_generator.h"
using namespace wellspring;

struct Flat {
  static constexpr int kLatents = 0;
  static constexpr forms::Pixels kForm = {.tells_cost = true, .blocks = 2};
  static constexpr GeneratorHooks kHooks = {.notes = true};
  struct Params {};
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params&);
  explicit Flat(const Params&) {}
  std::vector<std::string> notes(SampleShape) const { return {}; }
  struct Scene { float x; };
  Scene draw(const SampleKey&, Truth<0>&) const { return {0}; }
  float cost(const Scene&) const { return 1; }
  Rgb at(const Scene&, PixelCoordinate) const { return {}; }
};
FunctorGenerator<Flat> generator({}, {4, 4, 3});
"""


def errors_of(source):
    """The compiler's messages for a source; empty if it compiles."""
    result = subprocess.run(
        [COMPILER, "-std=c++20", "-fsyntax-only", "-I", str(ROOT), "-x", "c++", "-"],
        input=source, capture_output=True, text=True)
    return result.stderr if result.returncode else ""


class Forms(unittest.TestCase):
    def expect(self, source, changes, named):
        for old, new in changes:
            self.assertIn(old, source)
            source = source.replace(old, new)
        self.assertIn(named, errors_of(source))

    def test_complete_functors_compile(self):
        self.assertEqual(errors_of(CANVAS), "")
        self.assertEqual(errors_of(GENERATOR), "")

    def test_a_missing_form_is_reported(self):
        self.expect(CANVAS, [("kForm", "kFrom")], "must state its form")

    def test_missing_required_members_are_reported(self):
        self.expect(CANVAS, [("int painters()", "int painter()")], "painters()")
        self.expect(CANVAS, [("void paint(", "void paints(")], "paint(Team&")
        self.expect(GENERATOR, [("Rgb at(", "Rgb att(")], "at(const Scene&, PixelCoordinate)")

    def test_mismatched_hooks_are_reported(self):
        self.expect(CANVAS, [("void settle(", "void settel(")], "settle(Team&")
        self.expect(CANVAS, [(".settles = true", "")], "settles()")
        self.expect(GENERATOR, [("float cost(", "float costs(")], "cost(const Scene&)")
        self.expect(GENERATOR, [("notes(SampleShape)", "note(SampleShape)")], "notes(SampleShape)")
        self.expect(GENERATOR, [(".notes = true", "")], "notes(SampleShape)")

    def test_names_of_hooks_are_checked(self):
        self.expect(CANVAS, [(".settles", ".settels")], "settels")
        self.expect(GENERATOR, [(".blocks", ".block")], "block")

    def test_unused_members_are_found(self):
        folders = [ROOT / "kernels", ROOT / "generators"]
        others = "".join(path.read_text() for folder in folders for path in folder.rglob("*.h"))

        def unused(functor):
            return list(CHECK.unused_members(functor, CHECK.words_of(others + functor)))

        header = (ROOT / "generators/images/ifs_multi.h").read_text()
        others = others.replace(header, "")
        self.assertEqual(unused(header), [])
        self.assertEqual(unused(header.replace("kLabels =", "kLabel =")), ["kLabel"])
        self.assertEqual(unused(CANVAS.replace("void settle(", "void settel(")), ["settel"])


if __name__ == "__main__":
    COMPILER = sys.argv.pop(1)
    unittest.main()
