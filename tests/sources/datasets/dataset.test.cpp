#include "sources/datasets/dataset.h"

#include "core/error.h"
#include "core/signals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace wellspring {
namespace {

/// A data set with empty rows.
class Rows final : public Dataset {
 public:
  std::int64_t size() const override { return 1000; }
  RowLayout layout() const override { return {}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::int64_t) const override { return 0; }
  std::string location(std::int64_t) const override { return ""; }
  std::string place(std::int64_t) const override { return ""; }
  std::string summary() const override { return ""; }
  std::string size_advice(ImageSize) const override { return ""; }
  std::unique_ptr<RowReader> reader() const override { return std::make_unique<Reader>(); }

 private:
  struct Reader final : RowReader {
    void check(std::int64_t) override {}
    void read(std::int64_t, std::uint8_t*) override {}
  };
  std::vector<std::string> classes_ = {"one"};
};

TEST(ForEachRow, StopsBetweenRowsAfterASignal) {
  const SignalGuard guard;
  const Rows rows;
  int done = 0;
  EXPECT_THROW(for_each_row(rows, 1, 0, rows.size(),
                            [&](RowReader&, std::int64_t i) {
                              ++done;
                              if (i == 20) request_interrupt();
                            }),
               Interrupted);
  EXPECT_EQ(done, 21);
  EXPECT_THROW(for_each_row(rows, 4, 0, rows.size(), [&](RowReader&, std::int64_t) { done = 0; }),
               Interrupted);
  EXPECT_EQ(done, 21) << "no row may begin after the interrupt";
}

TEST(ForEachRow, ReportsProgressInTheCallingThread) {
  const Rows rows;
  for (const int threads : {1, 3}) {
    std::vector<std::int64_t> reported;
    const std::thread::id caller = std::this_thread::get_id();
    for_each_row(
        rows, threads, 100, 150, [](RowReader&, std::int64_t) {},
        [&](std::int64_t done) {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          reported.push_back(done);
        });
    EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
    EXPECT_TRUE(reported.empty() || reported.back() <= 50);
    EXPECT_TRUE(threads > 1 || (reported.size() == 50 && reported.back() == 50));
  }
}

TEST(ForEachRow, ReportsAFailureBeforeASignal) {
  const SignalGuard guard;
  const Rows rows;
  EXPECT_THROW(for_each_row(rows, 1, 0, rows.size(),
                            [&](RowReader&, std::int64_t i) {
                              if (i == 20) request_interrupt();
                              if (i == 20) fail(ErrorKind::data, {"damaged"});
                            }),
               Error);
}

}  // namespace
}  // namespace wellspring
