// Generators from headers of the user, through the command line. The tests share a cache, because
// each header takes seconds to compile.
#include "tests/cli/command.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class OwnGenerator : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v g++").exit_code != 0) GTEST_SKIP() << "needs g++";
  }

  static Outcome run(const std::string& arguments, const fs::path& folder,
                     Process::Environment more = {}) {
    more.emplace_back("WELLSPRING_CACHE", cache().path().string());
    return wellspring(split_words(arguments), folder, more);
  }
  Outcome run(const std::string& arguments) const { return run(arguments, folder_.path()); }

  /// Writes NAME.h: the example grating with one replacement.
  void write(const std::string& name, const std::string& from, const std::string& to) const {
    spill(folder_ / (name + ".h"),
          replaced(slurp(source_folder() / "examples/generators/grating.h"), from, to));
  }

  static std::string digest(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? nlohmann::json::parse(outcome.out).at("sha256") : "";
  }

  static const TemporaryFolder& cache() {
    static const TemporaryFolder folder;
    return folder;
  }
  TemporaryFolder folder_;
};

TEST_F(OwnGenerator, TemplatesOfAllKindsWork) {
  for (const std::string kind : {"image", "canvas", "event", "set", "field"}) {
    const std::string name = "my_" + kind;
    ASSERT_EQ(run("new generator " + name + " --kind " + kind).exit_code, 0);
    const Outcome first = run("digest ./" + name + ".h --count 5");
    EXPECT_NE(first.err.find("note: compiling "), std::string::npos) << first.err;
    const std::string whole = digest(first);
    EXPECT_EQ(digest(run("digest ./" + name + ".h --count 5 --batch 2 --threads 2")), whole);
    EXPECT_NE(run("compile " + name + ".h").out.find("already compiled"), std::string::npos);
    const Outcome described = run("describe ./" + name + ".h");
    EXPECT_NE(described.out.find(name + ", version 1"), std::string::npos);
    EXPECT_EQ(described.err.find("compiling"), std::string::npos) << described.err;
  }
  EXPECT_EQ(run("new generator my_image").exit_code, 2) << "overwrites nothing";
}

/// Runs the test that `new generator` writes, in `folder`.
Outcome run_test_of(const std::string& name, const fs::path& folder, const fs::path& cache) {
  return shell(
      fmt::format("PATH='{}':\"$PATH\" WELLSPRING_CACHE='{}' sh {}.test.sh",
                  fs::path(wellspring_path()).parent_path().string(), cache.string(), name),
      folder);
}

TEST_F(OwnGenerator, TheWrittenTestChecksTheLaws) {
  ASSERT_EQ(run("new generator rings").exit_code, 0);
  EXPECT_NE(slurp(folder_ / "rings.md").find("# rings\n"), std::string::npos);
  for (int i = 0; i < 2; ++i) {
    const Outcome passed = run_test_of("rings", folder_.path(), cache().path());
    EXPECT_EQ(passed.exit_code, 0) << passed.err;
    EXPECT_NE(passed.out.find("4096 samples passed"), std::string::npos) << passed.out;
  }
  EXPECT_EQ(run("compile ./rings.h --samples 64 tilt=90 contrast=1").exit_code, 0);
  EXPECT_NE(run("compile ./rings.h tilt=90").err.find("--samples"), std::string::npos);
  EXPECT_NE(run("compile ./rings.h --samples 9 tlit=90").err.find("did you mean 'tilt'"),
            std::string::npos);

  const std::string text = slurp(folder_ / "rings.h");
  struct Break {
    std::string from, to, message;
  };
  for (const auto& [from, to, message] : std::vector<Break>{
           {"info.draws = {.scene = 1};", "", "random numbers, and info.draws"},
           {"draw.uniform(4, 16);\n", "draw.uniform(5, 16);\n", "latent period is in [5"},
           {"tilt < 0 ? 0 : 1", "key.rng.sample == 77 ? 5 : tilt < 0 ? 0 : 1",
            "sample 77: label is 5"},
           {"0.5f + 0.5f *", "0.5f + 0.4f *", "samples have changed"}}) {
    spill(folder_ / "rings.h", replaced(text, from, to));
    const Outcome failed = run_test_of("rings", folder_.path(), cache().path());
    EXPECT_NE(failed.exit_code, 0) << message;
    EXPECT_NE(failed.err.find(message), std::string::npos) << failed.err;
  }
}

TEST_F(OwnGenerator, FunctionsOfTheCLibraryAreNoticed) {
  fs::copy_file(source_folder() / "examples/generators/grating.h", folder_ / "exact.h");
  write("grating", "math::sin_turns(turns)", "__builtin_sinf(turns)");
  EXPECT_NE(run("compile grating.h").err.find("calls sinf of the C library"), std::string::npos);
  const TemporaryFolder own;
  write("grating", "#pragma once", "#pragma once\n// exact");
  EXPECT_EQ(run("compile grating.h", folder_.path(), {{"WELLSPRING_CACHE", own.path().string()}})
                .err.find("C library"),
            std::string::npos);
}

TEST_F(OwnGenerator, CopiesOfBuiltInGeneratorsGiveTheSameBytes) {
  for (const std::string header : {"images/noise", "images/shapes", "images/ising", "images/ifs",
                                   "events/ee_mumu", "events/ginkgo"}) {
    const std::string name = fs::path(header).filename();
    const fs::path copy = folder_ / (name + ".h");
    fs::copy_file(source_folder() / "generators" / (header + ".h"), copy);
    EXPECT_EQ(digest(run("digest ./" + name + ".h --count 9 --seed 3")),
              digest(run("digest " + name + " --count 9 --seed 3")))
        << name;
  }
}

TEST_F(OwnGenerator, BenchComparesACopyWithTheBuiltInGenerator) {
  fs::copy_file(source_folder() / "generators/images/noise.h", folder_ / "noise.h");
  const Outcome copy =
      run("bench generators ./noise.h law=uniform --batch 64 --size 64 --repeats 1");
  EXPECT_EQ(copy.exit_code, 0) << copy.err;
  EXPECT_NE(copy.out.find("the built-in noise"), std::string::npos) << copy.out;
  const Outcome built_in = run("bench generators noise --batch 64 --size 64 --repeats 1");
  EXPECT_EQ(built_in.exit_code, 0) << built_in.err;
  EXPECT_EQ(built_in.out.find("the built-in noise"), std::string::npos) << built_in.out;
  EXPECT_NE(run("bench generators ./noise.h lav=uniform").err.find("lav"), std::string::npos);
  EXPECT_NE(run("bench generators nois").err.find("noise"), std::string::npos);
}

// The program has functions of the same names, which the copy must not call.
TEST_F(OwnGenerator, AChangedCopyOfABuiltInGeneratorIsNotTheBuiltInOne) {
  spill(folder_ / "noise.h",
        replaced(slurp(source_folder() / "generators/images/noise.h"),
                 "colour.r[i] = math::fma(width,", "colour.r[i] = 0.5f * math::fma(width,"));
  EXPECT_NE(digest(run("digest ./noise.h --count 4 law=uniform")),
            digest(run("digest noise --count 4 law=uniform")));
}

/// A change of the grating, and a part of the message that refuses it.
struct Broken {
  std::string from, to, message;
};

class BrokenHeader : public OwnGenerator {
 protected:
  void expect_refused(const std::vector<Broken>& cases) const {
    for (const Broken& broken : cases) {
      write("grating", broken.from, broken.to);
      const Outcome outcome = run("digest ./grating.h --count 1");
      EXPECT_EQ(outcome.exit_code, 2) << broken.to << outcome.err;
      EXPECT_NE(outcome.err.find(broken.message), std::string::npos) << broken.to << "\n"
                                                                     << outcome.err;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(cache() / "generators"))
      EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
};

TEST_F(BrokenHeader, IsReportedWithPlaceAndRemedy) {
  expect_refused({
      {"#pragma once", "#pragma once\n#include \"missing.h\"", "searched next to the header"},
      {"#pragma once", "#pragma once\n#error not finished", "grating.h:4:2: #error not finished"},
      {"#pragma once", "#include \"grating.h\"", "#include nested depth"},
      {"turn.cosine / period", "turn.cosine / period +", "grating.h:61:35: expected"},
      {"float contrast", "flot contrast", "grating.h:16:5: 'flot' does not name a type"},
      {"info.summary", "info.summery", "did you mean 'summary'"},
      {"}  // namespace wellspring", "", "a closing brace is missing"},
      {"namespace wellspring {", "namespace mine {", "'ParamTable' does not name a type"},
      {"struct Grating {", "struct Gratings {", "must define the functor `struct Grating`"},
      {"math::sin_turns(turns)", "math::sine(turns)", "equal bits on every device"},
      {"struct Grating {", "float far(float x);\nstruct Grating {\n  float f = far(1);",
       "needs a definition in the header"},
  });
}

TEST_F(BrokenHeader, IsRefusedIfAMemberDoesNotFit) {
  expect_refused({
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
  });
}

TEST_F(BrokenHeader, IsRefusedIfItsSamplesBreakALaw) {
  const std::string label = "truth.label = tilt < 0 ? 0 : 1;";
  const std::string period = "truth.latents[1] = period;";
  expect_refused({
      {"info.name = \"grating\"", "info.name = \"gratings\"", "write info.name = \"grating\""},
      {"info.version = 1;", "info.version = 0;", "sets no version"},
      {"\"tilt\", \"angle", "\"period\", \"angle", "two latents 'period'"},
      {"info.high = 1;", "info.high = 0.7f;", "sample 0: x["},
      {"info.high = 1;", "info.high = -1;", "declares values from 0 to -1"},
      {"return {grey, grey, grey};", "return {grey, grey, __builtin_nanf(\"\")};", "x[2] is nan"},
      {"info.classes = {\"left\", \"right\"};", "", "not in [0, -1]"},
      {label, "truth.label = 2;", "label is 2, not in [0, 1]"},
      {label, "truth.label = -1;", "label is -1, not in [0, 1]"},
      {period, "truth.latents[1] = 99;", "latent period is 99"},
      {period, "truth.latents[1] = __builtin_nanf(\"\");", "latent period is nan"},
      {period, "", "latent period is 0, not in [4, 16]"},
      {period, "static int calls = 0; truth.latents[1] = static_cast<float>(4 + ++calls % 7);",
       "its latents differs between batches of 1 and of 12"},
      {label, "*(volatile int*)8 = 1;", "sample 0: crashed"},
      {label, "throw 7;", "sample 0: crashed"},
      {label, "__builtin_exit(0);", "sample 0: ended the process"},
      {": params_(params) {}", ": params_(params) { throw 7; }", "constructor or its tables"},
      {"struct Grating {", "inline int early = (__builtin_abort(), 0);\nstruct Grating {",
       "constructor or its tables: crashed"},
  });
}

TEST_F(BrokenHeader, OfAnotherKindOrOnAFullDiskIsReported) {
  spill(folder_ / "empty.h", "");
  EXPECT_NE(run("digest ./empty.h --count 1").err.find("`struct Empty`"), std::string::npos);
  spill(folder_ / "binary.h", std::string("\x7f\0ELF\x01", 6));
  EXPECT_EQ(run("digest ./binary.h --count 1").exit_code, 2);
  fs::create_directory(folder_ / "folder.h");
  EXPECT_EQ(run("digest ./folder.h --count 1").exit_code, 3);
  fs::copy_file(source_folder() / "examples/generators/walk.h", folder_ / "walk.h");
  const Outcome full = shell(
      "ulimit -f 8; WELLSPRING_CACHE=full " + wellspring_path() + " digest ./walk.h --count 1",
      folder_.path());
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("free some space"), std::string::npos) << full.err;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "full/generators"))
    EXPECT_EQ(entry.path().extension(), ".lock");
}

TEST_F(OwnGenerator, AnEndlessLoopEndsAfterItsTime) {
  write("grating", "RngStream draw(key.rng, Purpose::scene);",
        "for (volatile int i = 0; i >= 0;) {}\n RngStream draw(key.rng, Purpose::scene);");
  const Outcome outcome = run("digest ./grating.h --count 1");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("sample 0: not finished"), std::string::npos) << outcome.err;
}

TEST_F(OwnGenerator, TrustSkipsTheCheck) {
  write("grating", "info.high = 1;", "info.high = 0.7f;");
  EXPECT_EQ(run("compile --trust ./grating.h").exit_code, 0);
  EXPECT_EQ(run("digest ./grating.h --count 1").exit_code, 0);
}

TEST_F(OwnGenerator, ABadNameOrMissingFileIsRefused) {
  EXPECT_NE(run("digest ./missing.h --count 1").err.find("missing.h"), std::string::npos);
  spill(folder_ / "my-rings.h", "");
  EXPECT_NE(run("digest ./my-rings.h --count 1").err.find("underscores"), std::string::npos);
  EXPECT_EQ(run("new generator ../rings").exit_code, 2);
  EXPECT_EQ(run("new generator my-rings").exit_code, 2);
  EXPECT_NE(run("new generator shapes").err.find("built-in"), std::string::npos);
}

TEST_F(OwnGenerator, WorksInAFolderWithAnyName) {
  const fs::path folder = folder_ / "Grüße & \"x\" $y";
  fs::create_directory(folder);
  fs::copy_file(source_folder() / "examples/generators/grating.h", folder / "grating.h");
  spill(folder / "rings.h", "");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run("digest ./grating.h --count 1", folder).exit_code, 0);
}

constexpr const char* kRun = R"(name: own
device: cpu
threads: 1
data:
  size: 16
  sources:
    - {name: grating, generator: ./grating.h, params: {contrast: 1}}
    - {name: shapes, generator: shapes}
model: {name: cnn, widths: [8], blocks: [0], pool: [1], norm: none}
optimizer: {kind: sgd, lr: 0.01}
train: {batch: 8, steps: 20}
eval: {samples: 64, sources: [{of: grating}, {of: shapes}]}
)";

// The generator's path starts at the configuration. A checkpoint belongs to the header's text, and
// evaluating it compiles nothing.
TEST_F(OwnGenerator, TrainsAndResumesOnlyWithTheSameHeader) {
  fs::create_directory(folder_ / "configs");
  spill(folder_ / "configs/run.yaml", kRun);
  const fs::path header = folder_ / "configs/grating.h";
  const std::string text = slurp(source_folder() / "examples/generators/grating.h");
  spill(header, text);
  const std::string train = "train configs/run.yaml out=run";
  ASSERT_EQ(run(train).exit_code, 0);
  ASSERT_EQ(run("eval run").exit_code, 0);
  ASSERT_EQ(run("export configs/run.yaml --count 8 --out mixed.npz").exit_code, 0);

  spill(header, text + "// another version\n");
  const Outcome evaluated = run("eval run");
  EXPECT_EQ(evaluated.exit_code, 2);
  EXPECT_NE(evaluated.err.find("run wellspring compile"), std::string::npos) << evaluated.err;
  const Outcome resumed = run(train);
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_NE(resumed.err.find("generator_header"), std::string::npos) << resumed.err;

  // The folder of the header is no part of the run's identity.
  fs::rename(folder_ / "configs", folder_ / "moved");
  spill(folder_ / "moved/grating.h", text);
  const Outcome moved = run("train moved/run.yaml out=run");
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
}

TEST_F(OwnGenerator, ItsTextIsStoredOnRequest) {
  const std::string text = slurp(source_folder() / "examples/generators/grating.h");
  spill(folder_ / "grating.h",
        replaced(text, "#pragma once", "#pragma once\n#include \"in/more.h\""));
  fs::create_directory(folder_ / "in");
  spill(folder_ / "in/more.h", "// more: \033[2J\n");
  spill(folder_ / "run.yaml", kRun);
  ASSERT_EQ(run("train run.yaml out=bare").exit_code, 0);
  ASSERT_EQ(run("train run.yaml out=run train.store_headers=true").exit_code, 0);
  ASSERT_EQ(run("export ./grating.h --count 2 --store-headers --out g.npz").exit_code, 0);
  ASSERT_EQ(
      run("export run.yaml --count 2 --store-headers --layout webdataset --out shards").exit_code,
      0);
  const Outcome nothing = run("headers bare");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.err.find("train.store_headers=true"), std::string::npos) << nothing.err;

  // The text survives the loss of the header, and nothing compiles it.
  const std::string header = slurp(folder_ / "grating.h");
  fs::remove(folder_ / "grating.h");
  for (const std::string file : {"run", "g.npz", "shards"}) {
    const Outcome printed = run("headers " + file);
    EXPECT_NE(printed.out.find("struct Grating {"), std::string::npos) << file << printed.err;
    EXPECT_NE(printed.out.find("more: \\x1b[2J"), std::string::npos) << "a control sequence";
    EXPECT_EQ(run(fmt::format("headers {0} --out from-{0}", file)).exit_code, 0);
    EXPECT_EQ(slurp(folder_ / ("from-" + file) / "grating.h"), header);
    EXPECT_EQ(slurp(folder_ / ("from-" + file) / "in/more.h"), "// more: \033[2J\n");
  }
  EXPECT_NE(run("headers g.npz --out from-run").exit_code, 0) << "overwrites nothing";

  // A damaged text, and one that leads out of the folder.
  fs::path checkpoint;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "run"))
    if (entry.path().filename() == "checkpoint.json" && !fs::is_symlink(entry.path().parent_path()))
      checkpoint = entry.path();
  const std::string stored = slurp(checkpoint);
  spill(checkpoint, replaced(stored, "in/more.h\",", "../more.h\","));
  const Outcome outside = run("headers run --out other");
  EXPECT_EQ(outside.exit_code, 3);
  EXPECT_NE(outside.err.find("outside of --out"), std::string::npos) << outside.err;
  EXPECT_FALSE(fs::exists(folder_ / "more.h"));
  spill(checkpoint, replaced(stored, "struct Grating {", "struct Gratinq {"));
  EXPECT_NE(run("headers run").err.find("damaged"), std::string::npos);
  EXPECT_EQ(run("headers nowhere").exit_code, 3);
}

TEST_F(OwnGenerator, TextThatCannotBeStoredIsRefusedBeforeTraining) {
  write("grating", "#pragma once", "#pragma once\n// \xff");
  spill(folder_ / "run.yaml", kRun);
  const Outcome outcome = run("train run.yaml out=run train.store_headers=true");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("not UTF-8"), std::string::npos) << outcome.err;
}

// One rank compiles and says so; the others wait for it.
TEST_F(OwnGenerator, ManyRanksCompileOnce) {
  const TemporaryFolder own;
  fs::copy_file(source_folder() / "examples/generators/grating.h", folder_ / "grating.h");
  spill(folder_ / "run.yaml", kRun);
  const Outcome outcome =
      shell(fmt::format(
                "export WELLSPRING_CACHE='{}'; p=(); for r in 0 1 2; do (export "
                "OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=$r "
                "OMPI_COMM_WORLD_LOCAL_SIZE=3; exec '{}' train run.yaml train.batch=12 out=run) & "
                "p+=($!); done; s=0; for i in ${{p[@]}}; do wait $i || s=$?; done; exit $s",
                own.path().string(), wellspring_path()),
            folder_.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t first = outcome.err.find("note: compiling ");
  EXPECT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("note: compiling ", first + 1), std::string::npos) << outcome.err;
}

TEST_F(OwnGenerator, ANewIncludedFileMeansANewGenerator) {
  write("grating", "#pragma once", "#pragma once\n#include \"amount.h\"");
  const std::string text = slurp(folder_ / "grating.h");
  spill(folder_ / "grating.h", replaced(text, "grey = 0.5f", "grey = kGrey"));
  spill(folder_ / "amount.h", "constexpr float kGrey = 0.5f;\n");
  const std::string before = digest(run("digest ./grating.h --count 2"));
  spill(folder_ / "amount.h", "constexpr float kGrey = 0.4f;\n");
  EXPECT_NE(digest(run("digest ./grating.h --count 2")), before);
}

TEST_F(OwnGenerator, DamagedObjectsAreCompiledAgain) {
  const TemporaryFolder own;
  const Process::Environment environment = {{"WELLSPRING_CACHE", own.path().string()}};
  fs::copy_file(source_folder() / "examples/generators/detector.h", folder_ / "detector.h");
  const auto compile = [&](const Process::Environment& more = {}) {
    Process::Environment all = environment;
    all.insert(all.end(), more.begin(), more.end());
    return wellspring({"compile", "detector.h"}, folder_.path(), all);
  };
  // A compiler that is killed leaves nothing.
  spill(folder_ / "killed",
        "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\nkill -9 $$\n");
  fs::permissions(folder_ / "killed", fs::perms::owner_all);
  const Outcome killed = compile({{"WELLSPRING_CXX", (folder_ / "killed").string()}});
  EXPECT_EQ(killed.exit_code, 1) << killed.err;
  EXPECT_NE(killed.err.find("signal 9"), std::string::npos) << killed.err;
  const Outcome absent = compile({{"WELLSPRING_CXX", "/nonexistent/g++"}});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.err.find("apt install g++"), std::string::npos) << absent.err;

  // An old object that no longer fits is evicted.
  const fs::path old = own / "generators/old.so";
  spill(old, "");
  fs::resize_file(old, std::uintmax_t{300} << 20);  // sparse

  // One of two processes compiles.
  const std::vector<std::string> words = {wellspring_path(), "compile", "detector.h"};
  Process first(words, folder_.path(), environment), second(words, folder_.path(), environment);
  const std::string both = first.wait().out + second.wait().out;
  EXPECT_NE(both.find(" compiled:"), std::string::npos) << both;
  EXPECT_NE(both.find("already compiled:"), std::string::npos) << both;
  EXPECT_FALSE(fs::exists(old));

  // A prepared cache needs no compiler, and without a writable one, nothing is kept.
  EXPECT_EQ(compile({{"WELLSPRING_CXX", "/nonexistent/g++"}}).exit_code, 0);
  EXPECT_EQ(compile({{"WELLSPRING_CACHE", "/dev/null"}}).exit_code, 0);

  for (const fs::directory_entry& file : fs::directory_iterator(own / "generators")) {
    EXPECT_FALSE(file.is_directory()) << file.path();
    if (file.path().extension() == ".so") std::ofstream(file.path(), std::ios::app) << "damage";
  }
  EXPECT_NE(compile().out.find(" compiled:"), std::string::npos);
}

TEST_F(OwnGenerator, FilesThatOthersCanWriteAreRefused) {
  fs::copy_file(source_folder() / "examples/generators/detector.h", folder_ / "detector.h");
  fs::permissions(folder_ / "detector.h", fs::perms::others_write, fs::perm_options::add);
  const Outcome header = run("digest ./detector.h --count 1");
  EXPECT_EQ(header.exit_code, 2);
  EXPECT_NE(header.err.find("other users can write"), std::string::npos) << header.err;
  fs::permissions(folder_ / "detector.h", fs::perms::others_write, fs::perm_options::remove);
  const fs::path open = folder_ / "generators";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  const Outcome folder = wellspring({"digest", "./detector.h", "--count", "1"}, folder_.path(),
                                    {{"WELLSPRING_CACHE", folder_.path().string()}});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_NE(folder.err.find("other users can write"), std::string::npos) << folder.err;
}

#if !WELLSPRING_CUDA
TEST_F(OwnGenerator, ArchNeedsABuildWithCuda) {
  fs::copy_file(source_folder() / "examples/generators/grating.h", folder_ / "grating.h");
  const Outcome outcome = run("compile grating.h --arch sm_90");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("built without CUDA"), std::string::npos) << outcome.err;
}
#endif

/// Headers with device code. They need nvcc, but no GPU.
class OwnGeneratorOnGpu : public OwnGenerator {
 protected:
  void SetUp() override {
    OwnGenerator::SetUp();
    const std::string doctor = run("doctor").out;
    const std::size_t line = doctor.find("CUDA compiler");
    if (line == std::string::npos) GTEST_SKIP() << "needs a build with CUDA";
    if (doctor.find("CUDA compiler    none:") != std::string::npos) GTEST_SKIP() << "needs nvcc";
  }
  void copy(const std::string& header) const {
    const fs::path file = source_folder() / "generators" / (header + ".h");
    fs::copy_file(file, folder_ / file.filename(), fs::copy_options::overwrite_existing);
  }
  static Outcome without_nvcc(const std::string& arguments, const fs::path& folder) {
    return run(arguments, folder, {{"WELLSPRING_NVCC", "/nonexistent/nvcc"}});
  }
};

TEST_F(OwnGeneratorOnGpu, CompilesWithoutAGpu) {
  const std::vector<std::string> headers = {"images/noise", "images/shapes", "images/ising",
                                            "images/ifs",   "events/ginkgo", "events/ee_mumu"};
  for (const std::string& header : headers) {
    copy(header);
    const std::string name = fs::path(header).filename();
    const Outcome outcome = run("compile " + name + ".h --arch sm_90");
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
  }
  EXPECT_EQ(run("compile noise.h ee_mumu.h --arch sm_80").exit_code, 0);
  // Both architectures have their own objects, which need no compiler any more.
  for (const std::string arch : {"sm_90", "sm_80"}) {
    const Outcome again = without_nvcc("compile noise.h --arch " + arch, folder_.path());
    EXPECT_NE(again.out.find("already compiled"), std::string::npos) << again.err;
  }
}

TEST_F(OwnGeneratorOnGpu, ErrorsNameThePlaceAndTheRemedy) {
  write("grating", "math::sin_turns(turns)", "0.01f * std::to_string(turns).size()");
  EXPECT_EQ(run("compile grating.h").exit_code, 0) << "correct on a CPU";
  const Outcome host_only = run("compile grating.h --arch sm_90");
  EXPECT_EQ(host_only.exit_code, 2);
  EXPECT_NE(host_only.err.find("grating.h:67:79: calling a __host__ function"), std::string::npos)
      << host_only.err;
  EXPECT_NE(host_only.err.find("hint: write WS_INLINE"), std::string::npos) << host_only.err;

  copy("images/noise");
  const Outcome absent = without_nvcc("compile noise.h --arch sm_100", folder_.path());
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.err.find("set WELLSPRING_NVCC"), std::string::npos) << absent.err;
  const Outcome unknown = run("compile noise.h --arch sm_1");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("sm_1"), std::string::npos) << unknown.err;
  EXPECT_NE(run("compile noise.h --arch 90").err.find("not like sm_90"), std::string::npos);
  for (const fs::directory_entry& entry : fs::directory_iterator(cache() / "generators"))
    EXPECT_FALSE(entry.is_directory()) << entry.path();
}

TEST_F(OwnGenerator, CommandsOfThePageWork) {
  std::istringstream page(slurp(source_folder() / "docs/own-generator.md"));
  bool in_block = false;
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      in_block = line == "```sh";
    } else if (in_block && line.starts_with("wellspring ")) {
      const Outcome outcome = run(line.substr(11));
      EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
      ++commands;
    }
  }
  EXPECT_GT(commands, 4);
}

}  // namespace
}  // namespace wellspring::test
