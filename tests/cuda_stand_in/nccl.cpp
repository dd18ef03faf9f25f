// NCCL for programs that run on the stand-in, as libnccl.so.2: ranks are processes of this machine
// that add their values in shared memory. As in NCCL, a sum is enqueued on the stream and
// waits for all ranks, and only aborting the communicator ends the wait for a lost rank.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" void stand_in_enqueue_kernel(void* stream, void (*work)(void*), void* data);
extern "C" void stand_in_progress();

namespace {

constexpr std::size_t kMostRanks = 8, kPart = 4096;  // values added at a time

struct UniqueId {
  std::array<char, 128> name;
};

struct Shared {
  std::atomic<int> arrived, phase, attached;
  float parts[kMostRanks][kPart];
};

struct Comm {
  Shared* shared;
  int rank, size;
  std::atomic<bool> aborted = false;
  std::thread device{};  ///< lets the device work while the host waits for other ranks

  /// False: aborted.
  bool meet() {
    const int phase = shared->phase;
    if (++shared->arrived == size) {
      shared->arrived = 0;
      ++shared->phase;
      return true;
    }
    while (shared->phase == phase) {
      if (aborted) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return true;
  }
  void sum(float* values, std::size_t count) {
    for (std::size_t begin = 0; begin < count; begin += kPart) {
      const std::size_t part = std::min(kPart, count - begin);
      std::memcpy(shared->parts[rank], values + begin, part * sizeof(float));
      if (!meet()) return;
      for (std::size_t i = 0; i < part; ++i) {
        float total = 0;
        for (int r = 0; r < size; ++r) total += shared->parts[r][i];
        values[begin + i] = total;
      }
      if (!meet()) return;
    }
  }
};

struct Sum {
  Comm* comm;
  float* values;
  std::size_t count;
};

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  const char* const text = std::getenv("WELLSPRING_STAND_IN_NCCL");
  *version = text == nullptr ? 0 : std::atoi(text);
  return 0;
}
const char* ncclGetErrorString(int /*result*/) {
  return "refused by the stand-in";
}
int ncclGetUniqueId(UniqueId* id) {
  std::snprintf(id->name.data(), id->name.size(), "/wellspring-nccl-%d", getpid());
  const int file = shm_open(id->name.data(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return 2;
  close(file);
  return 0;
}
int ncclCommInitRank(Comm** comm, int size, UniqueId id, int rank) {
  const int file = shm_open(id.name.data(), O_RDWR, 0600);
  if (file < 0 || size > static_cast<int>(kMostRanks)) return 4;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return 2;
  static std::vector<std::unique_ptr<Comm>> all;  // recorded sums point to them
  *comm = all.emplace_back(new Comm{static_cast<Shared*>(memory), rank, size}).get();
  if (++(*comm)->shared->attached == size) shm_unlink(id.name.data());
  (*comm)->device = std::thread([comm = *comm] {
    while (!comm->aborted) {
      stand_in_progress();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  return 0;
}
// A recorded sum runs in every replay, so its arguments live until the process ends.
int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int operation,
                  Comm* comm, void* stream) {
  constexpr int kFloat32 = 7, kSum = 0;
  if (send != receive || type != kFloat32 || operation != kSum || comm->aborted) return 4;
  static std::vector<std::unique_ptr<Sum>> sums;
  Sum* const sum =
      sums.emplace_back(std::make_unique<Sum>(Sum{comm, static_cast<float*>(receive), count}))
          .get();
  stand_in_enqueue_kernel(
      stream,
      [](void* data) {
        const Sum& work = *static_cast<const Sum*>(data);
        work.comm->sum(work.values, work.count);
      },
      sum);
  return 0;
}
int ncclCommAbort(Comm* comm) {
  comm->aborted = true;
  if (comm->device.joinable()) comm->device.join();
  return 0;
}
int ncclCommDestroy(Comm* comm) {
  return ncclCommAbort(comm);
}

}  // extern "C"
