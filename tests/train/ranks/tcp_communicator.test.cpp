// Ranks over TCP, as threads of this process: sums, broadcasts, and how all ranks end when one ends.
#include "train/ranks/tcp_communicator.h"

#include "core/signals.h"
#include "tests/support/error_testing.h"
#include "tests/train/ranks/tcp_ranks.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

namespace wellspring::test {
namespace {

using std::chrono::milliseconds;

const std::vector<std::string> kFine3(3), kFine4(4);

/// Value `i` of rank `rank`: an integer, so that sums in f32 are exact.
float value(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 7919 + i * 31) % 4096);
}

TEST(TcpCommunicator, SumsAnyNumberOfValues) {
  for (const int size : {2, 3, 4}) {
    SCOPED_TRACE(size);
    const auto ends = run_tcp_ranks(size, [&](TcpCommunicator& ranks) {
      Stream stream(Device::cpu(), 1);
      // Fewer values than ranks; no multiple of this number; more than the kernel's buffers hold.
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{3'000'001}}) {
        std::vector<float> values(count);
        std::vector<double> wide(count);
        for (std::size_t i = 0; i < count; ++i) wide[i] = values[i] = value(ranks.rank(), i);
        ranks.all_reduce(stream, values.data(), static_cast<std::int64_t>(count));
        ranks.all_reduce(wide);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) {
          float sum = 0;
          for (int rank = 0; rank < size; ++rank) sum += value(rank, i);
          wrong += values[i] != sum || wide[i] != sum;
        }
        EXPECT_EQ(wrong, 0u) << count << " values";
      }
    });
    EXPECT_EQ(ends, std::vector<std::string>(static_cast<std::size_t>(size)));
  }
}

TEST(TcpCommunicator, RoundsAlikeOnAllRanksAndInAllRuns) {
  constexpr std::size_t kCount = 1000;
  std::array<std::array<std::vector<float>, 4>, 2> sums;
  for (auto& of_run : sums)
    EXPECT_EQ(run_tcp_ranks(4,
                            [&](TcpCommunicator& ranks) {
                              Stream stream(Device::cpu(), 1);
                              std::vector<float> values(kCount);
                              for (std::size_t i = 0; i < kCount; ++i)
                                values[i] = 1 / (1 + value(ranks.rank(), i));
                              ranks.all_reduce(stream, values.data(), kCount);
                              of_run[static_cast<std::size_t>(ranks.rank())] = values;
                            }),
              kFine4);
  for (const auto& of_run : sums)
    for (const auto& of_rank : of_run) EXPECT_EQ(of_rank, sums[0][0]);
}

TEST(TcpCommunicator, BroadcastsTheFirstRanksBytes) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, (std::size_t{5} << 20) + 3})
    EXPECT_EQ(run_tcp_ranks(3,
                            [&](TcpCommunicator& ranks) {
                              std::vector<std::byte> values(bytes, std::byte(ranks.rank() + 1));
                              ranks.broadcast(values);
                              EXPECT_EQ(values, std::vector<std::byte>(bytes, std::byte{1}));
                            }),
              kFine3);
}

TEST(TcpCommunicator, BarrierWaitsForAllRanks) {
  std::atomic<int> arrived = 0;
  EXPECT_EQ(run_tcp_ranks(4,
                          [&](TcpCommunicator& ranks) {
                            if (ranks.rank() == 2) std::this_thread::sleep_for(milliseconds(200));
                            ++arrived;
                            ranks.barrier();
                            EXPECT_EQ(arrived, 4);
                          }),
            kFine4);
}

TEST(TcpCommunicator, NamesTheRankThatEnds) {
  for (const int lost : {0, 1, 2, 3}) {
    auto ends = run_tcp_ranks(4, [&](TcpCommunicator& ranks) {
      ranks.barrier();
      if (ranks.rank() == lost) return;
      std::vector<double> values(300'000);
      ranks.all_reduce(values);
    });
    for (int rank = 0; rank < 4; ++rank) {
      const std::string& end = ends[static_cast<std::size_t>(rank)];
      if (rank == lost)
        EXPECT_EQ(end, "");
      else
        expect_parts(end,
                     {fmt::format("rank {} ended without reporting an error", lost), "checkpoint"});
    }
  }
}

TEST(TcpCommunicator, TellsAllRanksWhyOneFails) {
  const auto ends = run_tcp_ranks(4, [](TcpCommunicator& ranks) {
    ranks.barrier();
    if (ranks.rank() == 1) {
      ranks.abandon("rank 1 has failed: disk full");
      return;
    }
    ranks.barrier();
  });
  EXPECT_EQ(ends[1], "");
  for (const std::size_t rank : {0, 2, 3})
    expect_parts(ends[rank], {"rank 1 has failed: disk full"});
}

TEST(TcpCommunicator, InterruptsAllRanksIfASignalStopsOne) {
  std::atomic<int> interrupted = 0;
  const auto ends = run_tcp_ranks(4, [&](TcpCommunicator& ranks) {
    ranks.barrier();
    if (ranks.rank() == 1) {
      ranks.abandon(kStoppedBySignal);
      return;
    }
    try {
      ranks.barrier();
    } catch (const Interrupted&) {
      ++interrupted;
    }
  });
  EXPECT_EQ(interrupted, 3);
  EXPECT_EQ(ends, kFine4);
}

TEST(TcpCommunicator, NamesTheRankThatDoesNothing) {
  std::atomic<int> waiting = 3;
  const auto ends = run_tcp_ranks(
      4,
      [&](TcpCommunicator& ranks) {
        ranks.barrier();
        if (ranks.rank() == 2) {
          while (waiting > 0) std::this_thread::sleep_for(milliseconds(1));
          return;
        }
        try {
          ranks.barrier();
        } catch (...) {
          --waiting;
          throw;
        }
      },
      milliseconds(2000));
  for (const std::size_t rank : {0, 1, 3})
    expect_parts(ends[rank], {"rank 2 has done nothing for"});
}

TEST(TcpCommunicator, WaitsForASlowRank) {
  constexpr milliseconds kTimeout{4000};
  EXPECT_EQ(run_tcp_ranks(
                3,
                [&](TcpCommunicator& ranks) {
                  // Rank 1 waits for rank 0, which waits longer than the timeout, but in two calls.
                  if (ranks.rank() == 2) std::this_thread::sleep_for(kTimeout * 3 / 5);
                  ranks.barrier();
                  if (ranks.rank() == 2) std::this_thread::sleep_for(kTimeout * 3 / 5);
                  ranks.barrier();
                },
                kTimeout),
            kFine3);
}

TEST(TcpCommunicator, NoticesDifferentCalls) {
  const auto ends = run_tcp_ranks(3, [](TcpCommunicator& ranks) {
    std::vector<double> values(ranks.rank() == 1 ? 30 : 60);
    ranks.all_reduce(values);
  });
  for (const std::string& end : ends) EXPECT_NE(end, "");
  EXPECT_NE(ends[2].find("different calls"), std::string::npos) << ends[2];
}

TEST(TcpCommunicator, RefusesRanksThatDoNotFit) {
  const auto meet = [](const std::vector<RingOptions>& all) {
    std::vector<std::string> ends(all.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < all.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          const TcpCommunicator ranks(all[i]);
        } catch (const Error& error) {
          ends[i] = error.what();
        }
      });
    threads.clear();
    return ends;
  };
  const milliseconds later = std::chrono::seconds(60), soon = std::chrono::seconds(3);
  const int port = free_port();
  RingOptions other = options_of(1, 2, port, later);
  other.program = "1.1";
  for (const std::string& end : meet({options_of(0, 2, port, later), other}))
    expect_parts(end, {"rank 1 on 127.0.0.1 runs a different program (1.1, not 1.0)"});
  for (const std::string& end :
       meet({options_of(0, 2, port, later), options_of(1, 3, port, later)}))
    expect_parts(end, {"rank 1 of 3, but this is a run of 2 ranks"});
  for (const std::string& end : meet({options_of(0, 3, port, later), options_of(1, 3, port, later),
                                      options_of(1, 3, port, later)}))
    expect_parts(end, {"two processes say that they are rank 1"});
  for (const std::string& end : meet({options_of(0, 3, port, soon), options_of(1, 3, port, soon)}))
    expect_parts(end, {"not all of 3 ranks have joined: 2 missing"});
  expect_parts(meet({options_of(1, 2, port, soon)})[0], {"no rank answers at 127.0.0.1"});
}

TEST(TcpCommunicator, IgnoresStrangers) {
  const int port = free_port();
  const milliseconds timeout = std::chrono::seconds(60);
  std::jthread stranger([port] {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const Socket socket = connect_to("127.0.0.1", port, soon);
    const std::vector<std::byte> words(1000, std::byte{'x'});
    static_cast<void>(send_all(socket, words, soon));
  });
  std::jthread second([&] {
    stranger.join();
    TcpCommunicator(options_of(1, 2, port, timeout)).barrier();
  });
  TcpCommunicator(options_of(0, 2, port, timeout)).barrier();
}

}  // namespace
}  // namespace wellspring::test
