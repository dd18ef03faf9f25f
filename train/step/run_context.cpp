#include "train/step/run_context.h"

#include <span>

namespace wellspring {

bool RunContext::of_first(bool value) {
  ranks.broadcast(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::string RunContext::of_first(std::string text) {
  std::uint64_t length = text.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&length, 1)));
  text.resize(length);
  ranks.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace wellspring
