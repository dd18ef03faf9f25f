// Broken user headers: each is refused with a clear error, and no part of it is kept.
#include "tests/cli/own_generator_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace wellspring::test {
namespace {

/// A change to the grating, and a part of the message that refuses the change.
struct Broken {
  std::string from, to, message;
};

class BrokenHeader : public OwnGenerator {
 protected:
  /// `command` ends before grating.h.
  void expect_refused(const std::string& command, const std::vector<Broken>& cases,
                      const Process::Environment& more = {}) const {
    for (const Broken& broken : cases) {
      write("grating", broken.from, broken.to);
      const Outcome outcome = run(command + " ./grating.h", folder_.path(), more);
      EXPECT_EQ(outcome.exit_code, 2) << broken.to << outcome.err;
      EXPECT_NE(outcome.err.find(broken.message), std::string::npos) << broken.to << "\n"
                                                                     << outcome.err;
    }
  }
};

TEST_F(BrokenHeader, IsReportedWithPlaceAndRemedy) {
  // An included header reports the error, so no header may be precompiled.
  expect_refused("compile --trust",
                 {{"}  // namespace wellspring", "", "a closing brace is missing"}},
                 {{"WELLSPRING_CXX", ""}});
  const std::vector<Broken> when_it_is_loaded = {
      {"struct Grating {", "float far(float x);\nstruct Grating {\n  float f = far(1);",
       "needs a definition in the header"}};
  const std::vector<Broken> in_its_text = {
      {"#pragma once", "#pragma once\n#include \"missing.h\"", "searched for next to the header"},
      {"#pragma once", "#pragma once\n#error not finished", "grating.h:4:2: #error not finished"},
      {"#pragma once", "#include \"grating.h\"", "#include nested depth"},
      {"struct Grating {", "asm(\"no_instruction\");\nstruct Grating {", "no such instruction"},
      {"turn.cosine / period", "turn.cosine / period +", "grating.h:61:35: expected"},
      {"float contrast", "flot contrast", "grating.h:16:5: 'flot' does not name a type"},
      {"info.summary", "info.summery", "did you mean 'summary'"},
      {"namespace wellspring {", "namespace mine {", "'ParamTable' does not name a type"},
      {"struct Grating {", "struct Gratings {", "must define the functor `struct Grating`"},
      {"math::sin_turns(turns)", "math::sine(turns)", "the same bits on every device"},
  };
  const std::vector<Broken> in_its_members = {
      {"static SampleInfo describe(", "static SampleInfo described(",
       "static SampleInfo describe("},
      {"static SampleInfo describe(", "SampleInfo describe(", "without object"},
      {"table() {", "tables() {", "static const ParamTable<Params>& table()"},
      {"Scene draw(const SampleKey& key, ", "Scene draw(", "draw(const SampleKey&"},
      {"PixelCoordinate p) const {", "PixelCoordinate p) {", "needs the member at("},
      {"explicit Grating(const Params& params) : params_(params)", "Grating()",
       "no matching function for call to 'wellspring::Grating::Grating("},
      {"  static constexpr forms::Pixels kForm = {};", "", "another form"},
      {"forms::Pixels", "forms::Canvas", "needs the member Cell"},
      {"static constexpr int kLatents = 2;", "", "NUMBER_OF_LATENTS"},
      {"static constexpr int kLatents = 2;",
       "static constexpr int kLatents = 2;\n  static constexpr GeneratorHooks kHooks = {.tables = "
       "true};",
       "name the hook in kHooks"},
      {"  Params params_;", "  Params params_;\n  std::string name_;", "no std::string"},
      {"  explicit Grating(", "  virtual ~Grating() {}\n  explicit Grating(", "virtual function"},
      {"float across_x, ", "std::string name; float across_x, ", "may only have numbers"},
  };
  const TemporaryFolder own;
  const Process::Environment empty = {{"WELLSPRING_CACHE", own.path().string()}};
  expect_refused("digest --count 1", when_it_is_loaded, empty);
  // The check would compile a second object at the same time, with the same errors.
  expect_refused("compile --trust", in_its_text, empty);
  expect_refused("compile --trust", in_its_members, empty);
  // Only the header without a definition compiles; its objects are in the cache.
  int objects = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(own / "generators")) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
    objects += entry.path().extension() == ".so" ? 1 : 0;
  }
  EXPECT_EQ(objects, 2);
}

/// A header with many faults, which is compiled once. The environment chooses the fault, and the
/// check runs again whenever the header is used, because it has never passed.
class FaultyHeader : public BrokenHeader {
 protected:
  static constexpr const char* kChoice = R"(
#include <csignal>
#include <cstdlib>
#include <cstring>
inline bool broken(const char* law) {
  const char* const chosen = std::getenv("BROKEN");
  return chosen != nullptr && std::strcmp(chosen, law) == 0;
}
inline int endless(volatile int* depth) {
  volatile int frame[1000];
  frame[0] = 1;
  return *depth == 0 ? 0 : endless(depth) + frame[0];
}
)";

  struct Fault {
    std::string law, message;
  };
  void expect_refused(const std::string& name, const std::vector<Fault>& faults) const {
    for (const auto& [law, message] : faults) {
      const Outcome outcome = chosen(name, law);
      EXPECT_EQ(outcome.exit_code, 2) << law << outcome.err;
      EXPECT_NE(outcome.err.find(message), std::string::npos) << law << "\n" << outcome.err;
    }
  }
  Outcome chosen(const std::string& name, const std::string& law) const {
    return run("digest ./" + name + ".h --count 1", folder_.path(), {{"BROKEN", law}});
  }
};

TEST_F(FaultyHeader, IsRefusedIfItsImagesBreakALaw) {
  std::string text = slurp(source_folder() / "examples/generators/grating.h");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text = replaced(text, from, to);
  };
  replace("#pragma once", std::string("#pragma once") + kChoice);
  replace("struct Grating {", R"(inline int early = broken("load") ? (std::abort(), 0) : 0;
struct Grating {)");
  replace(R"(info.name = "grating")", R"(info.name = broken("name") ? "gratings" : "grating")");
  replace("info.version = 1;", R"(info.version = broken("version") ? 0 : 1;)");
  replace(R"({"tilt", "angle)", R"({broken("twins") ? "period" : "tilt", "angle)");
  replace("info.high = 1;", R"(info.high = broken("high") ? 0.7f : broken("reversed") ? -1 : 1;
    if (broken("classes")) info.classes.clear();)");
  replace("params_(params) {}", R"(params_(params) {
    if (broken("constructor")) throw 7;
    if (broken("constructor exits")) std::_Exit(0);
  })");
  replace("across_y, phase;", "across_y, phase, blue;");
  replace("{grey, grey, grey}", "{grey, grey, grey + scene.blue}");
  replace("draw.uniform()};", "draw.uniform(), blue};");
  replace("    // math:: gives", R"(
    if (broken("label above")) truth.label = 2;
    if (broken("label below")) truth.label = -1;
    if (broken("latent above")) truth.latents[1] = 99;
    if (broken("latent nan")) truth.latents[1] = __builtin_nanf("");
    if (broken("latent unset")) truth.latents[1] = 0;
    if (broken("weight nan")) truth.weight = __builtin_nanf("");
    if (broken("weight 0")) truth.weight = 0;
    static int calls = 0;
    if (broken("counts its calls")) truth.latents[1] = static_cast<float>(4 + ++calls % 7);
    if (broken("late label") && key.rng.sample == 1000) truth.label = 2;
    if (broken("draws"))
      for (int i = 0; i < 3; ++i) draw.uniform();
    if (broken("late draws") && key.rng.sample == 9)
      for (int i = 0; i < 3; ++i) draw.uniform();
    if (broken("wild pointer")) *(volatile int*)8 = 1;
    volatile int depth = 1;
    if (broken("recursion")) truth.label = endless(&depth);
    if (broken("division")) truth.label = 7 / (depth - 1);
    if (broken("throws")) throw 7;
    if (broken("exits")) std::_Exit(0);
    if (broken("kills")) std::raise(SIGKILL);
    while (broken("loops")) ++depth;
    const float blue = broken("pixel nan") ? __builtin_nanf("") : broken("pixel") ? 2 : 0;
    // math:: gives)");
  spill(folder_ / "grating.h", text);
  expect_refused("grating",
                 {
                     {"name", "write info.name = \"grating\""},
                     {"version", "sets no version"},
                     {"twins", "two latents 'period'"},
                     {"high", "sample 0: x["},
                     {"reversed", "declares values from 0 to -1"},
                     {"classes", "not in [0, -1]"},
                     {"load", "constructor or its tables: crashed"},
                     {"constructor", "constructor or its tables: crashed"},
                     {"constructor exits", "constructor or its tables: ended the process"},
                     {"label above", "sample 0: label is 2, not in [0, 1]"},
                     {"label below", "sample 0: label is -1, not in [0, 1]"},
                     {"late label", "sample 1000: label is 2"},
                     {"latent above", "sample 0: latent period is 99"},
                     {"latent nan", "sample 0: latent period is nan"},
                     {"latent unset", "sample 0: latent period is 0, not in [4, 16]"},
                     {"weight nan", "sample 0: weight is nan"},
                     {"weight 0", "sample 0: weight is 0"},
                     {"pixel", "sample 0: x[2] is"},
                     {"pixel nan", "sample 0: x[2] is nan"},
                     {"counts its calls", "its latents differs between batches of 1 and of 12"},
                     {"draws", "sample 0: draws 2 blocks of random numbers, and info.draws"},
                     {"late draws", "sample 9: draws 2 blocks of random numbers, and info.draws"},
                     {"wild pointer", "sample 0: crashed"},
                     {"recursion", "sample 0: crashed"},
                     {"division", "sample 0: crashed"},
                     {"throws", "sample 0: crashed"},
                     {"exits", "sample 0: ended the process"},
                     {"kills", "sample 0: crashed with signal 9"},
                     {"loops", "sample 0: not finished after 4 s"},
                 });
  // Only the user can overrule the check.
  EXPECT_EQ(run("compile --trust ./grating.h").exit_code, 0);
  EXPECT_EQ(chosen("grating", "high").exit_code, 0);
}

TEST_F(FaultyHeader, IsRefusedIfItsSetSizesDoNotFit) {
  std::string text = slurp(source_folder() / "examples/generators/walk.h");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text = replaced(text, from, to);
  };
  replace("#pragma once", std::string("#pragma once") + kChoice);
  replace("return SampleLayout::set(kMost, 2);", R"(
    if (broken("no items")) return SampleLayout::set(0, 2);
    if (broken("negative")) return SampleLayout::set(-4, 2);
    if (broken("features")) return SampleLayout::set(kMost, 3);
    if (broken("huge")) return SampleLayout::set(1 << 30, 2);
    return SampleLayout::set(kMost, 2);)");
  replace("row.set_count(count);", R"(row.set_count(count);
      if (broken("item nan")) row.set(0, 1, __builtin_nanf(""));)");
  spill(folder_ / "walk.h", text);
  expect_refused("walk", {
                             {"no items", "layout() has 0 items of 2 features"},
                             {"negative", "layout() has -4 items of 2 features"},
                             {"features", "names 2 features, and layout() has 3"},
                             {"huge", "kernels count values in 32 bits"},
                             {"item nan", "sample 0: x[1] is nan"},
                         });
  // The header is correct in all other respects, and it was compiled once.
  const Outcome well = chosen("walk", "");
  EXPECT_EQ(well.exit_code, 0) << well.err;
  EXPECT_EQ(well.err.find("compiling"), std::string::npos) << well.err;
}

// These commands need no compiler.
TEST_F(BrokenHeader, IsRefusedIfItsFileIsNone) {
  struct Wrong {
    std::string file;
    int exit_code;
    std::string message;
  };
  spill(folder_ / "empty.h", "\n \t\n");
  spill(folder_ / "notes.h", "// nothing yet\n");
  spill(folder_ / "binary.h", std::string("\x7f\0ELF\x01", 6));
  for (const std::string name : {"my-rings.h", "2rings.h", "größe.h"})
    spill(folder_ / name, "struct Rings {};\n");
  fs::create_directory(folder_ / "folder.h");
  fs::create_symlink("nowhere.h", folder_ / "dangling.h");
  fs::create_symlink("circle.h", folder_ / "circle.h");
  for (const Wrong& wrong : std::vector<Wrong>{
           {"empty.h", 2, "the file is empty (empty.h must define the functor `struct Empty`)"},
           {"notes.h", 2, "defines no generator (notes.h must define the functor `struct Notes`)"},
           {"binary.h", 2, "must define the functor `struct Binary`"},
           {"my-rings.h", 2, "underscores"},
           {"2rings.h", 2, "underscores"},
           {"größe.h", 2, "use ASCII letters"},
           {"missing.h", 3, "missing.h"},
           {"folder.h", 3, "folder.h"},
           {"dangling.h", 3, "dangling.h"},
           {"circle.h", 3, "circle.h"},
       }) {
    const Outcome outcome = run("digest ./" + wrong.file + " --count 1", folder_.path(),
                                {{"WELLSPRING_CXX", "/bin/false"}});
    EXPECT_EQ(outcome.exit_code, wrong.exit_code) << wrong.file << outcome.err;
    EXPECT_NE(outcome.err.find(wrong.message), std::string::npos) << wrong.file << outcome.err;
  }
}

TEST_F(BrokenHeader, LeavesNothingOnAFullDisk) {
  fs::copy_file(source_folder() / "examples/generators/walk.h", folder_ / "walk.h");
  ASSERT_EQ(run("compile --trust walk.h").exit_code, 0);
  const Outcome full = shell(
      "ulimit -f 8; WELLSPRING_CACHE=full " + wellspring_path() + " digest ./walk.h --count 1",
      folder_.path(), environment());
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("free some space"), std::string::npos) << full.err;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "full/generators"))
    EXPECT_EQ(entry.path().extension(), ".lock");
}

#ifdef WELLSPRING_FAULT_INJECTOR
// Makes each call in the cache fail once, as on a full disk (tests/support/fault_injector.cpp).
TEST_F(BrokenHeader, ReportsADiskThatFills) {
  fs::copy_file(source_folder() / "examples/generators/walk.h", folder_ / "walk.h");
  // A compiler that repeats its first result.
  write_script(folder_ / "repeating", fmt::format(R"([ "$1" = --version ] && exec g++ --version
before=
for word; do
  [ "$before" = -o ] && object=$word
  [ "$before" = -MF ] && rule=$word
  before=$word
done
folder=$(dirname "$object")
if [ -e kept.so ]; then
  cp kept.so "$object" && sed "s|FOLDER|$folder|g" kept.d >"$rule"
else
  '{}' "$@" && cp "$object" kept.so && sed "s|$folder|FOLDER|g" "$rule" >kept.d
fi
)",
                                                  quick_compiler().string()));
  const fs::path full = folder_ / "full", log = folder_ / "log";
  const auto compile = [&](const std::string& fault) {
    return run("compile --trust walk.h", folder_.path(),
               {{"WELLSPRING_CXX", (folder_ / "repeating").string()},
                {"WELLSPRING_CACHE", full.string()},
                {fault.empty() ? "NONE" : "LD_PRELOAD", WELLSPRING_FAULT_INJECTOR},
                {"WELLSPRING_FAULT", fault},
                {"WELLSPRING_FAULT_UNDER", full.string()},
                {"WELLSPRING_FAULT_LOG", log.string()}});
  };
  ASSERT_EQ(compile("").exit_code, 0);
  int refused = 0;
  for (const std::string call : {"open", "write", "sync", "rename", "link", "mkdir"}) {
    for (int n = 1; n < 100; ++n) {
      fs::remove_all(full);
      const Outcome outcome = compile(fmt::format("{}:{}:{}", call, n, ENOSPC));
      if (!fs::remove(log)) break;  // there are fewer calls
      if (outcome.exit_code == 0) continue;
      ++refused;
      EXPECT_TRUE(outcome.exit_code == 2 || outcome.exit_code == 3) << call << n << outcome.err;
      EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos) << outcome.err;
      if (!fs::exists(full / "generators")) continue;
      for (const fs::directory_entry& entry : fs::directory_iterator(full / "generators"))
        EXPECT_FALSE(entry.is_directory()) << call << n << entry.path();
      EXPECT_EQ(compile("").exit_code, 0) << call << n;
    }
  }
  EXPECT_GT(refused, 4);
}
#endif

TEST_F(OwnGenerator, NewRefusesNames) {
  for (const std::string name : {"../rings", "my-rings"})
    EXPECT_EQ(run("new generator " + name).exit_code, 2) << name;
  EXPECT_NE(run("new generator shapes").err.find("built-in"), std::string::npos);
}

}  // namespace
}  // namespace wellspring::test
