// The fixture of tests that use generators from headers of the user. Compiling takes most of their
// time, so the tests of a process share a cache, and most use tests/support/quick_compiler; host only.
#pragma once

#include "tests/cli/command.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace wellspring::test {

namespace fs = std::filesystem;

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Writes an executable script.
inline void write_script(const fs::path& file, const std::string& text) {
  spill(file, "#!/bin/sh\n" + text);
  fs::permissions(file, fs::perms(0755));
}

/// True with WELLSPRING_OWN_HEADERS=all: compiles all headers with all compilers, in several minutes.
inline bool all_headers() {
  const char* const which = std::getenv("WELLSPRING_OWN_HEADERS");
  return which != nullptr && std::string(which) == "all";
}

class OwnGenerator : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v g++").exit_code != 0) GTEST_SKIP() << "needs g++";
  }

  /// The shared cache and quick_compiler(), unless `more` has others.
  static Process::Environment environment(const Process::Environment& more = {}) {
    Process::Environment all = {{"WELLSPRING_CACHE", cache().path().string()},
                                {"WELLSPRING_CXX", quick_compiler().string()},
                                {"WELLSPRING_PARSED", WELLSPRING_BINARY_DIR "/tests/parsed"}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Outcome run(const std::string& arguments, const fs::path& folder,
                     const Process::Environment& more = {}) {
    return wellspring(split_words(arguments), folder, environment(more));
  }
  Outcome run(const std::string& arguments) const { return run(arguments, folder_.path()); }
  /// Compiles a header without its check, which would compile a second object.
  void compile(const std::string& header) const {
    const Outcome outcome = run("compile --trust " + header);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  /// The same as run() with the compiler that users have.
  Outcome run_optimised(const std::string& arguments) const {
    return run(arguments, folder_.path(), {{"WELLSPRING_CXX", ""}});
  }

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

  static fs::path quick_compiler() { return source_folder() / "tests/support/quick_compiler"; }
  TemporaryFolder folder_;
};

}  // namespace wellspring::test
