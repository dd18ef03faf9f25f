#include "core/error.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

std::string compose(const ErrorText& text) {
  std::string message = text.problem;
  if (!text.why.empty()) message += " (" + text.why + ")";
  if (!text.advice.empty()) message += "\n  " + text.advice;
  return message;
}

}  // namespace

Error::Error(ErrorKind kind, const ErrorText& text)
    : std::runtime_error(compose(text)), kind_(kind) {}

void fail(ErrorKind kind, const ErrorText& text) {
  throw Error(kind, text);
}

namespace detail {
void contract_failed(const char* expression, const char* file, int line) {
  throw std::logic_error(
      fmt::format("{}:{}: internal contract violated: {}", file, line, expression));
}
}  // namespace detail

}  // namespace wellspring
