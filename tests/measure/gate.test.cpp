#include "measure/gate.h"

#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring::test {
namespace {

bool fails(const std::string& condition) {
  Ladder ladder;
  RungResult& rung = ladder.rungs.emplace_back();
  rung.share = 0.5;
  rung.wait = 0.25;
  rung.samples = 10;
  rung.rate = 20;
  rung.p99 = 0.125;
  Diagnosis diagnosis;
  diagnosis.speed_up = 2;
  diagnosis.lost = 0.5;
  return Gate::parse(condition).fails(ladder, diagnosis);
}

TEST(Gate, ComparesFigures) {
  EXPECT_TRUE(fails("share_of_ceiling < 0.9"));
  EXPECT_FALSE(fails("share_of_ceiling<0.5"));
  EXPECT_TRUE(fails("share_of_ceiling <= 50%"));
  EXPECT_TRUE(fails("wait>5%"));
  EXPECT_FALSE(fails("wait > 25 %"));
  EXPECT_TRUE(fails(" lost >= .5 "));
  EXPECT_FALSE(fails("speed_up > 2"));
  EXPECT_TRUE(fails("samples_per_second < 201"));
  EXPECT_TRUE(fails("step_p99_ms > 1e2"));
}

TEST(Gate, RefusesAnythingElse) {
  for (const char* text :
       {"", "share_of_ceiling", "share_of_ceiling = 1", "share_of_ceiling < ",
        "share_of_ceiling < 0.9 0", "share_of_ceiling << 1", "wait > nan", "wait > inf",
        "wait < 1 and lost < 1", "0.9 > share_of_ceiling", "step_p99_ms > 5%"})
    expect_parts(message_of(ErrorKind::config, [&] { Gate::parse(text); }),
                 {"--fail-if '" + std::string(text) + "' is not a condition"});
  expect_parts(message_of(ErrorKind::config, [&] { Gate::parse("share_of_cieling < 1"); }),
               {"did you mean 'share_of_ceiling'?"});
}

}  // namespace
}  // namespace wellspring::test
