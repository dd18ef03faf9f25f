// The fixture of tests that use generators from headers of the user. They share a cache, because each
// header takes seconds to compile; host only.
#pragma once

#include "tests/cli/command.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace wellspring::test {

namespace fs = std::filesystem;

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
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

}  // namespace wellspring::test
