// The fixture of tests that use generators from headers of the user. The tests of a process share a
// cache and a precompiled header, because compiling takes most of their time; host only.
#pragma once

#include "tests/cli/command.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
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

/// Writes an executable script.
inline void write_script(const fs::path& file, const std::string& text) {
  spill(file, "#!/bin/sh\n" + text);
  fs::permissions(file, fs::perms(0755));
}

class OwnGenerator : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v g++").exit_code != 0) GTEST_SKIP() << "needs g++";
  }

  /// The shared cache and quick_compiler(), unless `more` has others.
  static Process::Environment environment(const Process::Environment& more = {}) {
    Process::Environment all = {{"WELLSPRING_CACHE", cache().path().string()},
                                {"WELLSPRING_CXX", quick_compiler().string()}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Outcome run(const std::string& arguments, const fs::path& folder,
                     const Process::Environment& more = {}) {
    return wellspring(split_words(arguments), folder, environment(more));
  }
  Outcome run(const std::string& arguments) const { return run(arguments, folder_.path()); }
  /// The same with the compiler that users have.
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

  /// g++ that does not optimise and parses Wellspring's headers once per set of flags. Its version is
  /// another one, so that g++ does not use its objects.
  static const fs::path& quick_compiler() {
    static const TemporaryFolder folder;
    static const fs::path script = [] {
      fs::path file = folder / "g++";
      spill(folder / "all.h",
            "#include \"generators/own/instance.h\"\n#include \"kernels/emission/pixels.h\"\n");
      for (const fs::path& path : {folder.path(), folder / "all.h"})
        fs::permissions(path, fs::perms(0755));  // a test runs it as another user
      write_script(file, fmt::format(R"(all='{}'
if [ "$1" = --version ]; then g++ --version | sed '1s/$/ without optimisation/'; exit; fi
flags= rule= kind=plain before=
for word; do
  [ "$word" = -include ] && break
  [ "$word" = -DWELLSPRING_SANITIZED=1 ] && kind=checked
  flags="$flags $word"
done
for word; do [ "$before" = -MF ] && rule=$word; before=$word; done
if [ ! -e "$all.gch/$kind" ]; then
  mkdir -p "$all.gch"
  g++ $flags -O0 -x c++-header "$all" -o "$all.$$" && mv "$all.$$" "$all.gch/$kind" || exit 3
fi
g++ -include "$all" "$@" -O0 || exit
sed -i "s|$all[^ ]*||g" "$rule"  # no source of the generator
)",
                                     (folder / "all.h").string()));
      return file;
    }();
    return script;
  }
  TemporaryFolder folder_;
};

}  // namespace wellspring::test
