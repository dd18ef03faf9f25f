#include "train/metrics/observer.h"

#include <fmt/format.h>

namespace wellspring {

std::string BestReport::to_string() const {
  return fmt::format("{} {:.4g} at step {}", figure, value, step);
}

std::string to_string(RunStatus status) {
  switch (status) {
    case RunStatus::finished:
    case RunStatus::already_finished:
      return "finished";
    case RunStatus::interrupted:
      return "interrupted by a signal";
    case RunStatus::out_of_time:
      return "stopped by train.max_time";
    case RunStatus::out_of_patience:
      return "stopped by train.patience";
  }
  return "";
}

}  // namespace wellspring
