#include "generators/images/rcdb.h"

#include "core/error.h"
#include "generators/generator.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

TEST(Rcdb, RefusesRangesBeyondItsPrecision) {
  EXPECT_NO_THROW(make_generator(
      "rcdb", 32, {{"vertices_mean", "10"}, {"vertices_low", "800"}, {"vertices_high", "2000"}}));
  const std::string message = test::message_of(ErrorKind::config, [] {
    make_generator("rcdb", 32,
                   {{"vertices_mean", "10"}, {"vertices_low", "801"}, {"vertices_high", "2000"}});
  });
  test::expect_parts(message, {"vertices_low of at most 800"});
}

}  // namespace
}  // namespace wellspring
