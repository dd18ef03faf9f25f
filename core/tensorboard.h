// TensorBoard event files: scalars over steps. Called by the trainer's metrics; host only.
#pragma once

#include "core/files.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace wellspring {

/// Writes one events.out.tfevents file; every call reaches the file before it returns. Errors
/// (runtime) as OutputFile.
class TensorBoardWriter {
 public:
  /// `wall_time`: seconds since 1970, given from outside so that nothing here reads a clock.
  TensorBoardWriter(const std::filesystem::path& file, double wall_time);
  /// The name that TensorBoard looks for: "events.out.tfevents.<seconds>.<host>.<process>".
  static std::string file_name(double wall_time);

  void add_scalar(std::string_view tag, std::int64_t step, double wall_time, float value);
  void finish() { file_.finish(); }

 private:
  OutputFile file_;
};

}  // namespace wellspring
