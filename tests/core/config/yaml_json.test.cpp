#include "core/config/yaml_json.h"

#include "core/config/config_values.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wellspring {
namespace {

TEST(YamlJson, PreservesValuesTypesAndOrder) {
  const std::string yaml =
      "z: 0.5\na: 3\nbig: 18446744073709551615\nlow: -1e-05\non: true\nlaw: gaussian\n"
      "text: \"3\"\nlist: [80, 110.5, \"b\"]\nempty:\nsub:\n  - name: \"é\"\n    x: []\n";
  EXPECT_EQ(yaml_to_json(yaml).dump(),
            R"({"z":0.5,"a":3,"big":18446744073709551615,"low":-1e-05,"on":true,"law":"gaussian",)"
            R"("text":"3","list":[80,110.5,"b"],"empty":null,"sub":[{"name":"é","x":[]}]})");
  EXPECT_EQ(yaml_to_json("").dump(), "{}");
}

// The metadata of an export stores its configuration as JSON, which is also valid YAML.
TEST(YamlJson, RoundTripsTheConfiguration) {
  const std::string yaml = "name: \"1\"\nout: \"a \\\"b\\\"\"\nlr: 0.003\nsub:\n  deep: [1, 2]\n";
  EXPECT_TRUE(config_differences(yaml, yaml_to_json(yaml).dump(2)).empty());
}

TEST(YamlJson, RefusesBrokenYaml) {
  test::expect_parts(test::message_of(ErrorKind::data, [] { yaml_to_json("a: [1"); }), {"YAML"});
}

}  // namespace
}  // namespace wellspring
