// TensorBoard event files: scalars over steps. Called by the trainer's metrics; host only.
#pragma once

#include "core/io/files.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace wellspring {

/// Writes an events.out.tfevents file, unbuffered. Throws the errors of OutputFile.
class TensorBoardWriter {
 public:
  /// `wall_time`: seconds since 1970; an argument, so that the writer reads no clock.
  TensorBoardWriter(const std::filesystem::path& file, double wall_time);
  /// The name that TensorBoard expects: "events.out.tfevents.<seconds>.<host>.<process>".
  static std::string file_name(double wall_time);

  void add_scalar(std::string_view tag, std::int64_t step, double wall_time, float value);
  void finish() { file_.finish(); }

 private:
  OutputFile file_;
};

/// Removes steps after `step`, and truncated last records, from the event files of a folder. Files
/// without remaining scalars are deleted. Only the folder's single writer may call it.
void cut_back_events(const std::filesystem::path& folder, std::uint64_t step);

}  // namespace wellspring
