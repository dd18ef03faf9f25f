// A small run through the command line. Called by the tests of `train`; host only.
#pragma once

#include "core/io/files.h"
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {

namespace fs = std::filesystem;

/// A run of about a second.
inline constexpr const char* kConfig = R"(name: small
device: cpu
threads: 1
data:
  size: 16
  sources:
    - name: shapes
      generator: shapes
model:
  name: cnn
  widths: [8]
  blocks: [0]
  pool: [1]
  norm: none
optimizer:
  kind: sgd
  lr: 0.01
train:
  batch: 8
  steps: 20
  log_every: 5
eval:
  samples: 64
  sources:
    - of: shapes
)";

class Train : public testing::Test {
 protected:
  Train() { spill(config(), kConfig); }
  fs::path folder() const { return folder_.path(); }
  fs::path config() const { return folder() / "small.yaml"; }
  Outcome run(std::vector<std::string> arguments) const {
    return wellspring(std::move(arguments), folder());
  }
  /// Tensors of the newest checkpoint, without the header, which holds the configuration.
  std::string weights() const {
    fs::path newest;
    int newest_step = -1;
    for (const auto& entry : fs::directory_iterator(folder() / "runs" / "small" / "checkpoints")) {
      const int step = std::stoi(entry.path().filename().string().substr(5));  // "step-N"
      if (step > newest_step) newest = entry.path();
      newest_step = std::max(step, newest_step);
    }
    const std::string file = slurp(newest / "model.safetensors");
    std::uint64_t header = 0;  // little-endian length of the JSON that follows it
    std::memcpy(&header, file.data(), sizeof header);
    return file.substr(sizeof header + header);
  }

  TemporaryFolder folder_;
};

}  // namespace wellspring::test
