// Generators from user headers: training, stored text, the cache, and device code.
#include "tests/cli/own_generator_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace wellspring::test {
namespace {

constexpr const char* kRun = R"(name: own
device: cpu
threads: 1
data:
  size: 16
  augment: [{flip_x: 0.5}]
  sources:
    - {name: grating, generator: ./grating.h, params: {contrast: 1}}
    - {name: shapes, generator: shapes}
model: {name: cnn, widths: [8], blocks: [0], pool: [1], norm: none}
optimizer: {kind: sgd, lr: 0.01}
train: {batch: 8, steps: 20}
eval: {samples: 64, sources: [{of: grating}, {of: shapes}]}
)";

// The generator's path is relative to the configuration. A checkpoint belongs to the header's text,
// and evaluating it compiles nothing.
TEST_F(OwnGenerator, TrainsAndResumesOnlyWithTheSameHeader) {
  fs::create_directory(folder_ / "configs");
  spill(folder_ / "configs/run.yaml", kRun);
  const fs::path header = folder_ / "configs/grating.h";
  const std::string text = slurp(source_folder() / "examples/generators/grating.h");
  spill(header, text);
  compile("configs/grating.h");
  const std::string train = "train configs/run.yaml out=run";
  ASSERT_EQ(run(train).exit_code, 0);
  EXPECT_NE(slurp(folder_ / "run/report.html").find("grating"), std::string::npos);
  for (const std::string command :
       {"eval run", "export configs/run.yaml --count 8 --out mixed.npz",
        "preview configs/run.yaml --out mixed.png", "digest configs/run.yaml --count 8",
        "diagnose configs/run.yaml --seconds 5"}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, 0) << command << outcome.err;
  }

  spill(header, text + "// another version\n");
  // Stored configurations compile nothing, whatever the name of the model file.
  fs::copy_file(folder_ / "run/checkpoints/step-20/model.safetensors", folder_ / "model.yaml");
  for (const std::string command :
       {"eval run", "predict model.yaml mixed.npz", "digest run/config.resolved.yaml --count 8"}) {
    const Outcome stored = run(command);
    EXPECT_EQ(stored.exit_code, 2) << command;
    EXPECT_NE(stored.err.find("run wellspring compile"), std::string::npos) << stored.err;
  }
  const Outcome resumed = run(train);
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_NE(resumed.err.find("generator_header"), std::string::npos) << resumed.err;

  // The folder of the header is not part of the run's identity.
  fs::rename(folder_ / "configs", folder_ / "moved");
  spill(folder_ / "moved/grating.h", text);
  const Outcome moved = run("train moved/run.yaml out=run");
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
}

// A compiler that fails shows that it was started.
TEST_F(OwnGenerator, IsCompiledForConfigurationsOfAnyName) {
  const TemporaryFolder own;
  fs::copy_file(source_folder() / "examples/generators/grating.h", folder_ / "grating.h");
  write_script(folder_ / "fails", R"([ "$1" = --version ] && exec g++ --version
echo grating.h:1:2: error: mine >&2
exit 1
)");
  for (const char* const name : {"run.yaml", "run.conf", "run"}) {
    spill(folder_ / name, kRun);
    const Outcome outcome = run(fmt::format("digest {} --count 1", name), folder_.path(),
                                {{"WELLSPRING_CACHE", own.path().string()},
                                 {"WELLSPRING_CXX", (folder_ / "fails").string()}});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("mine"), std::string::npos) << name << outcome.err;
  }
}

TEST_F(OwnGenerator, StoresItsTextOnRequest) {
  const std::string text = slurp(source_folder() / "examples/generators/grating.h");
  spill(folder_ / "grating.h",
        replaced(text, "#pragma once", "#pragma once\n#include \"in/more.h\""));
  fs::create_directory(folder_ / "in");
  spill(folder_ / "in/more.h", "// more: \033[2J\n");
  spill(folder_ / "run.yaml", kRun);
  compile("grating.h");
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

  // A stored path that leads out of the folder, and damaged text.
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
  compile("grating.h");
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
                "p=(); for r in 0 1 2; do (export "
                "OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=$r "
                "OMPI_COMM_WORLD_LOCAL_SIZE=3; exec '{}' train run.yaml train.batch=12 out=run) & "
                "p+=($!); done; s=0; for i in ${{p[@]}}; do wait $i || s=$?; done; exit $s",
                wellspring_path()),
            folder_.path(), environment({{"WELLSPRING_CACHE", own.path().string()}}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t first = outcome.err.find("note: compiling ");
  EXPECT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("note: compiling ", first + 1), std::string::npos) << outcome.err;
}

TEST_F(OwnGenerator, IsNewIfItIncludesANewFile) {
  write("grating", "#pragma once", "#pragma once\n#include \"amount.h\"");
  const std::string text = slurp(folder_ / "grating.h");
  spill(folder_ / "grating.h", replaced(text, "grey = 0.5f", "grey = kGrey"));
  spill(folder_ / "amount.h", "constexpr float kGrey = 0.5f;\n");
  compile("grating.h");
  const std::string before = digest(run("digest ./grating.h --count 2"));
  spill(folder_ / "amount.h", "constexpr float kGrey = 0.4f;\n");
  compile("grating.h");
  EXPECT_NE(digest(run("digest ./grating.h --count 2")), before);

  spill(folder_ / "amount.h", "constexpr float kGrey = 0.3f;\n");
  fs::permissions(folder_ / "amount.h", fs::perms::others_write, fs::perm_options::add);
  const Outcome open = run("digest ./grating.h --count 2");
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_NE(open.err.find("amount.h: other users can write"), std::string::npos) << open.err;

  fs::remove(folder_ / "amount.h");
  const Outcome missing = run("digest ./grating.h --count 2");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("grating.h:4:10: amount.h: No such file"), std::string::npos)
      << missing.err;
}

TEST_F(OwnGenerator, DamagedObjectsAreCompiledAgain) {
  const TemporaryFolder own;
  const Process::Environment in_own = environment({{"WELLSPRING_CACHE", own.path().string()}});
  fs::copy_file(source_folder() / "examples/generators/detector.h", folder_ / "detector.h");
  const auto compile = [&](const Process::Environment& more = {}) {
    Process::Environment all = in_own;
    all.insert(all.end(), more.begin(), more.end());
    return wellspring({"compile", "detector.h"}, folder_.path(), all);
  };
  // A compiler that is killed while it writes the object leaves nothing.
  write_script(folder_ / "killed", R"([ "$1" = --version ] && exec g++ --version
for object; do :; done
echo unfinished >"$object"
kill -9 $$
)");
  const Outcome killed = compile({{"WELLSPRING_CXX", (folder_ / "killed").string()}});
  EXPECT_EQ(killed.exit_code, 2) << killed.err;
  EXPECT_NE(killed.err.find("signal 9"), std::string::npos) << killed.err;
  for (const fs::directory_entry& entry : fs::directory_iterator(own / "generators"))
    EXPECT_EQ(entry.path().extension(), ".lock");
  const Outcome absent = compile({{"WELLSPRING_CXX", "/nonexistent/g++"}});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.err.find("apt install g++"), std::string::npos) << absent.err;
  EXPECT_NE(run("doctor").out.find(quick_compiler().string()), std::string::npos);

  // An old object that no longer fits is evicted.
  const fs::path old = own / "generators/old.so";
  spill(old, "");
  fs::resize_file(old, std::uintmax_t{300} << 20);  // sparse

  // One of two processes compiles.
  const std::vector<std::string> words = {wellspring_path(), "compile", "detector.h"};
  Process first(words, folder_.path(), in_own), second(words, folder_.path(), in_own);
  const std::string both = first.wait().out + second.wait().out;
  EXPECT_NE(both.find(" compiled:"), std::string::npos) << both;
  EXPECT_NE(both.find("already compiled:"), std::string::npos) << both;
  EXPECT_FALSE(fs::exists(old));
  EXPECT_EQ(fs::status(own / "generators").permissions(), fs::perms::owner_all);

  // A prepared cache needs no compiler; without a writable cache, nothing is kept.
  EXPECT_EQ(compile({{"WELLSPRING_CXX", "/nonexistent/g++"}}).exit_code, 0);
  EXPECT_EQ(compile({{"WELLSPRING_CACHE", "/dev/null"}}).exit_code, 0);

  for (const fs::directory_entry& file : fs::directory_iterator(own / "generators")) {
    EXPECT_FALSE(file.is_directory()) << file.path();
    if (file.path().extension() == ".so") std::ofstream(file.path(), std::ios::app) << "damage";
  }
  EXPECT_NE(compile().out.find(" compiled:"), std::string::npos);
}

// A killed process leaves no entry, lock or folder.
TEST_F(OwnGenerator, LeavesNoEntryIfTheProcessIsKilled) {
  const TemporaryFolder own;
  fs::copy_file(source_folder() / "examples/generators/walk.h", folder_ / "walk.h");
  write_script(folder_ / "slow", R"([ "$1" = --version ] && exec g++ --version
echo $$ >written && mv written started
exec sleep 100
)");
  const Process::Environment in_own = environment({{"WELLSPRING_CACHE", own.path().string()}});
  Process killed({wellspring_path(), "compile", "--trust", "walk.h"}, folder_.path(),
                 environment({{"WELLSPRING_CACHE", own.path().string()},
                              {"WELLSPRING_CXX", (folder_ / "slow").string()}}));
  while (killed.running() && !fs::exists(folder_ / "started")) ::usleep(1000);
  killed.send(SIGKILL);
  killed.wait();
  ASSERT_EQ(::kill(std::stoi(slurp(folder_ / "started")), SIGKILL), 0);
  fs::path left;
  for (const fs::directory_entry& entry : fs::directory_iterator(own / "generators")) {
    EXPECT_NE(entry.path().extension(), ".entry");
    if (entry.is_directory()) left = entry.path();
  }
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(run("compile --trust walk.h", folder_.path(), in_own).exit_code, 0);
  EXPECT_FALSE(fs::exists(left)) << left;
}

// Without write access, existing entries are used; a header without an entry is compiled into a
// temporary folder.
TEST_F(OwnGenerator, UsesAReadOnlyCache) {
  // The administrator can write to every folder.
  const std::string user =
      ::geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
  for (const fs::path& program : {fs::path(wellspring_path()), quick_compiler()})
    if (shell(user + "'" + program.string() + "' --version").exit_code != 0)
      GTEST_SKIP() << "needs setpriv, and folders that all users can read";
  const TemporaryFolder own, temporary;
  fs::copy_file(source_folder() / "examples/generators/walk.h", folder_ / "walk.h");
  for (const fs::path& folder : {own.path(), folder_.path()})
    fs::permissions(folder, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(folder_ / "walk.h", fs::perms(0644));
  fs::permissions(temporary.path(), fs::perms::all);
  const Process::Environment in_own = environment(
      {{"WELLSPRING_CACHE", own.path().string()}, {"TMPDIR", temporary.path().string()}});
  ASSERT_EQ(run("compile walk.h", folder_.path(), in_own).exit_code, 0);
  const auto files = [](const fs::path& folder) {
    return std::distance(fs::recursive_directory_iterator(folder), {});
  };
  const auto before = files(own.path());
  fs::permissions(own / "generators", fs::perms(0555));
  for (const fs::directory_entry& file : fs::directory_iterator(own / "generators"))
    fs::permissions(file, fs::perms(0444));
  const auto digest = [&] {
    return shell(user + "'" + wellspring_path() + "' digest --count 1 ./walk.h", folder_.path(),
                 in_own);
  };
  const Outcome known = digest();
  EXPECT_EQ(known.exit_code, 0) << known.err;
  EXPECT_EQ(known.err.find("compiling"), std::string::npos) << known.err;
  spill(folder_ / "walk.h", slurp(folder_ / "walk.h") + "// changed\n");
  const Outcome changed = digest();
  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_NE(changed.err.find("compiling"), std::string::npos) << changed.err;
  EXPECT_EQ(files(own.path()), before);
  EXPECT_EQ(files(temporary.path()), 0);
  fs::permissions(own / "generators", fs::perms::owner_all);  // so that it can be removed
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
  const Outcome folder = run("digest ./detector.h --count 1", folder_.path(),
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
  /// Other tests check samples.
  Outcome compile_for_gpu(const std::string& arguments, const std::string& nvcc = "") const {
    return run("compile --trust " + arguments, folder_.path(), {{"WELLSPRING_NVCC", nvcc}});
  }
};

TEST_F(OwnGeneratorOnGpu, CompilesWithoutAGpu) {
  std::vector<std::string> headers = {"events/ee_mumu"};
  if (all_headers())
    for (const char* const more :
         {"images/noise", "images/shapes", "images/ising", "images/ifs", "events/ginkgo"})
      headers.emplace_back(more);
  for (const std::string& header : headers) {
    copy(header);
    const std::string name = fs::path(header).filename();
    for (const std::string arch : {"sm_90", "sm_80"}) {
      const Outcome outcome = compile_for_gpu(name + ".h --arch " + arch);
      EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
    }
  }
  // Each architecture has its own object, which no longer needs a compiler.
  for (const std::string arch : {"sm_90", "sm_80"}) {
    const Outcome again = compile_for_gpu("ee_mumu.h --arch " + arch, "/nonexistent/nvcc");
    EXPECT_NE(again.out.find("already compiled"), std::string::npos) << again.err;
  }
}

TEST_F(OwnGeneratorOnGpu, ErrorsNameThePlaceAndTheRemedy) {
  write("grating", "math::sin_turns(turns)", "0.01f * std::to_string(turns).size()");
  const Outcome host_only = compile_for_gpu("grating.h --arch sm_90");
  EXPECT_EQ(host_only.exit_code, 2);
  EXPECT_NE(host_only.err.find("grating.h:67:79: calling a __host__ function"), std::string::npos)
      << host_only.err;
  EXPECT_NE(host_only.err.find("hint: write WS_INLINE"), std::string::npos) << host_only.err;

  const Outcome absent = compile_for_gpu("grating.h --arch sm_100", "/nonexistent/nvcc");
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.err.find("set WELLSPRING_NVCC"), std::string::npos) << absent.err;
  const Outcome unknown = compile_for_gpu("grating.h --arch sm_1");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("sm_1"), std::string::npos) << unknown.err;
  EXPECT_NE(compile_for_gpu("grating.h --arch 90").err.find("not like sm_90"), std::string::npos);
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
      const Outcome outcome = run_optimised(line.substr(11));
      EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
      ++commands;
    }
  }
  EXPECT_GT(commands, 4);
}

}  // namespace
}  // namespace wellspring::test
