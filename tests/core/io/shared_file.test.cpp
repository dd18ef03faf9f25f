#include "core/io/shared_file.h"

#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace wellspring::test {
namespace {

struct SharedFiles : ::testing::Test {
  SharedFile::Options options(int sharers, const std::string& job = "a:1") const {
    return {folder.path(), job, sharers, 4096, 1024, "use less"};
  }
  std::size_t names() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder.path()), {}));
  }
  /// Leaves a file whose only process ended without cleaning up.
  void leave_one(int sharers) const {
    const pid_t child = fork();
    if (child == 0) {
      const SharedFile file(options(sharers));
      file.memory()[0] = std::byte{7};
      raise(SIGKILL);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }

  TemporaryFolder folder;
};

TEST_F(SharedFiles, HaveNoNameInASingleProcess) {
  SharedFile file(options(1));
  EXPECT_EQ(names(), 0u);
  ASSERT_EQ(file.memory().size(), 1024u);
  for (const std::byte byte : file.memory()) ASSERT_EQ(byte, std::byte{0});
  const std::vector<std::byte> bytes(100, std::byte{5});
  file.write(4096 - 100, bytes);
  file.write(10, bytes);
  std::vector<std::byte> read(100);
  file.read(4096 - 100, read);
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(file.memory()[10], std::byte{5});
  EXPECT_EQ(file.memory()[110], std::byte{0});
}

TEST_F(SharedFiles, LoseTheirNameWhenAllHaveOpenedThem) {
  const SharedFile first(options(3)), other(options(3, "b:1")), second(options(3));
  EXPECT_EQ(names(), 2u);
  const SharedFile third(options(3));
  EXPECT_EQ(names(), 1u);
  first.memory()[3] = std::byte{9};
  EXPECT_EQ(second.memory()[3], std::byte{9});
  EXPECT_EQ(third.memory()[3], std::byte{9});
  EXPECT_EQ(other.memory()[3], std::byte{0});
  const SharedFile next(options(3));  // the next run of the job
  EXPECT_EQ(next.memory()[3], std::byte{0});
}

TEST_F(SharedFiles, AreRemovedByTheLastOfFewerProcesses) {
  std::optional<SharedFile> first, second;
  first.emplace(options(3));
  second.emplace(options(3));
  first.reset();
  EXPECT_EQ(names(), 1u);
  second.reset();
  EXPECT_EQ(names(), 0u);
}

TEST_F(SharedFiles, AreRemovedAfterAProcessIsKilled) {
  leave_one(1);
  EXPECT_EQ(names(), 0u);
  leave_one(2);
  ASSERT_EQ(names(), 1u);
  const SharedFile other(options(1, "other"));
  EXPECT_EQ(names(), 0u);
  leave_one(2);
  const SharedFile same(options(2));  // not the file of the killed process
  EXPECT_EQ(same.memory()[0], std::byte{0});
  const SharedFile partner(options(2));
  EXPECT_EQ(names(), 0u);
}

TEST_F(SharedFiles, MeetInAnyOrder) {
  constexpr int kSharers = 4, kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::optional<SharedFile>> files(kSharers);
    {
      std::vector<std::jthread> threads;
      for (auto& file : files)
        threads.emplace_back([&] {
          file.emplace(options(kSharers));
          auto* const count = reinterpret_cast<int*>(file->memory().data());
          std::atomic_ref(*count).fetch_add(1);
        });
    }
    for (const auto& file : files)
      ASSERT_EQ(*reinterpret_cast<const int*>(file->memory().data()), kSharers) << round;
    ASSERT_EQ(names(), 0u);
  }
}

TEST_F(SharedFiles, RefuseWhatCannotBe) {
  const auto refused = [](ErrorKind kind, const SharedFile::Options& options) {
    return message_of(kind, [&] { const SharedFile file(options); });
  };
  for (const int sharers : {1, 2}) {
    SharedFile::Options huge = options(sharers);
    huge.bytes = std::uint64_t{1} << 60;
    expect_parts(refused(ErrorKind::runtime, huge),
                 {folder.path().string(), "no room for a cache of", "are free", "use less"});
  }
  EXPECT_EQ(names(), 0u);
  SharedFile::Options absent = options(1);
  absent.folder /= "absent";
  expect_parts(refused(ErrorKind::data, absent), {"absent"});
  const SharedFile file(options(3));
  SharedFile::Options other = options(3);
  other.bytes = 5000;
  expect_parts(refused(ErrorKind::runtime, other), {"belongs to another job"});
}

}  // namespace
}  // namespace wellspring::test
