// Checks the message and kind of errors. For tests; host only.
#pragma once

#include "core/error.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace wellspring::test {

/// Runs `body`, which must throw an Error of this kind, and returns its message.
inline std::string message_of(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a wellspring::Error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

/// Expects the message to contain every part.
inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' not in: " << message;
  }
}

}  // namespace wellspring::test
