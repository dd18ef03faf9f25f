// Helpers of the tests in this folder: what an Error says and what kind it is. Host only.
#pragma once

#include "core/error.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace wellspring::testing {

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

}  // namespace wellspring::testing
