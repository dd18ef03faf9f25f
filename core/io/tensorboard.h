// TensorBoard event files: scalars over steps. Called by the trainer's metrics; host only.
#pragma once

#include "core/io/files.h"

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

/// Removes from the event files of a folder what they hold of later steps, and a last record that
/// was cut short; a file that is left without a scalar is removed. Only the folder's one writer may
/// call it.
void cut_back_events(const std::filesystem::path& folder, std::uint64_t step);

}  // namespace wellspring
