#include "core/text/json_reason.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace wellspring {
namespace {

using Json = nlohmann::json;

template <class Read>
std::string reason_of(const Read& read) {
  try {
    read();
  } catch (const Json::exception& error) {
    return json_reason(error.what());
  }
  return "accepted";
}

TEST(JsonReason, ExplainsErrorsInOurWords) {
  const Json object = {{"step", "x"}};
  EXPECT_EQ(reason_of([] { return Json::parse("{\n \"a\": ]"); }), "not JSON at line 2, column 7");
  EXPECT_EQ(reason_of([&] { return object.at("files"); }), "it has no key 'files'");
  EXPECT_EQ(reason_of([&] { return object.at("step").get<int>(); }), "a value has the wrong type");
  EXPECT_EQ(reason_of([] { return Json::array().at(3); }), "a value is out of range");
}

}  // namespace
}  // namespace wellspring
