// Runs device code on the host from its listing, one warp of 32 threads at a time. It reproduces
// what a kernel writes and how often each instruction is issued, including divergence. It models
// only the instructions: there are no caches, latencies or clocks.
//
// A warp consists of groups of threads that are at the same instruction. A divergent branch splits
// a group; BSYNC joins the threads that its BSSY held together, like the convergence barriers of
// Volta and later (CUDA C++ Programming Guide, "Independent Thread Scheduling"). NVIDIA's
// "CUDA Binary Utilities" lists the instructions (instruction set of Hopper) but does not explain
// them; running them and comparing the samples with the host's showed how they work.
//
// Called by the stand-in's launcher; host only.
#pragma once

#include "kernels/runtime/kernel_handle.h"
#include "tests/cuda_stand_in/sass/accesses.h"
#include "tests/cuda_stand_in/sass/listing.h"
#include "tests/cuda_stand_in/sass/pipes.h"
#include "tests/cuda_stand_in/sass/traffic.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace wellspring::sass {

inline constexpr int kLanes = 32;
using Lanes = std::uint32_t;  ///< one bit per thread
using Row = std::array<std::uint32_t, kLanes>;
using WideRow = std::array<std::uint64_t, kLanes>;
inline constexpr Lanes kAll = ~Lanes{0};

/// Calls visit(lane) for each active lane, in order.
template <class Visit>
void each_lane(Lanes lanes, const Visit& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

class Warp;
/// The effect of an instruction on the threads for which its guard holds.
using Operation = std::function<void(Warp&, Lanes)>;

struct Instruction {
  Operation run;
  Operand guard;
};

/// A kernel that can be run, how often each instruction was issued to a warp, and the memory traffic.
struct Code {
  std::string name;
  Listing listing;
  std::vector<Instruction> instructions;
  std::vector<std::uint64_t> issued;
  Traffic traffic;
  std::uint32_t launches = 0;

  /// Throws std::runtime_error for an unknown instruction.
  explicit Code(std::string kernel, Listing lines);
  std::uint64_t warp_instructions() const;
  std::uint64_t warp_instructions(Pipe pipe) const;
};

/// A block: its index, and the memory that its threads share.
struct Block {
  std::uint32_t index = 0;
  int row_threads = 0;  ///< threads in its x dimension
  std::vector<std::byte> shared;
  const std::vector<std::byte>* constants = nullptr;  ///< c[0x0]: launch shape and parameters
  Accesses* shared_accesses = nullptr;
  Accesses* global_accesses = nullptr;
};

/// The negation of an operand: as an integer, by complement, or as a floating-point number.
enum class Sense : std::uint8_t { whole, wholes_complement, real };

class Warp {
 public:
  Warp(Code& code, Block& block, int first_thread);

  /// Runs until all threads of the warp have ended or wait for the block. Returns false if this
  /// takes more than `most` instructions.
  bool run(std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  /// Releases the threads that wait for the block.
  void leave_block_barrier();
  bool ended() const { return alive_ == 0; }

  // For operations. Rows have a lane per thread; lanes that do not take part are arbitrary.
  const std::uint32_t* read(const Operand& operand, Row& spare, Sense sense) const;
  void read_wide(const Operand& operand, WideRow& out, Sense sense) const;
  void write(const Operand& target, const Row& values, Lanes lanes);
  void write_wide(const Operand& target, const WideRow& values, Lanes lanes);
  /// Accesses one of several consecutive registers; part 0 is the operand's own register.
  void write_part(const Operand& target, int part, int lane, std::uint32_t value);
  std::uint32_t read_part(const Operand& source, int part, int lane) const;
  Lanes holds(const Operand& predicate) const;
  void set(const Operand& predicate, Lanes values, Lanes lanes);
  /// The bits of P0 to P6 of a thread.
  std::uint32_t predicates_of(int lane) const;
  std::uint64_t address(const Operand& operand, int lane) const;
  std::uint32_t special(const std::string& name, int lane) const;
  /// `bytes` bytes at an address in one kind of memory. Throws std::runtime_error if the address is
  /// not a multiple of `bytes` or not in this memory, or if the access is a race in shared or global
  /// memory. Writes of the bytes that are already there (`written`) do not conflict with each other.
  std::byte* global(std::uint64_t address, int lane, std::size_t bytes, Access access,
                    const std::byte* written = nullptr);
  std::byte* shared(std::uint64_t address, std::size_t bytes, Access access,
                    const std::byte* written = nullptr);
  std::byte* local(std::uint64_t address, int lane, std::size_t bytes);
  const std::byte* constant(std::int64_t offset, std::size_t bytes) const;
  Traffic& traffic() { return code_.traffic; }

  // Control, called by the running group.
  Lanes group() const { return groups_[current_].lanes; }
  Lanes alive() const { return alive_; }  ///< threads that have not ended
  void jump(std::int64_t target, Lanes lanes);
  void end(Lanes lanes);
  void hold_together(int barrier);
  void part_from(int barrier, Lanes lanes);
  void meet(int barrier, Lanes lanes);
  /// Synchronises the threads in a mask; each thread passes its own mask.
  void meet_some(const Operand& mask, Lanes lanes);
  void wait_for_block(Lanes lanes);

  /// Upper halves of generic addresses in shared and in local memory; no address on the host has
  /// either of them.
  static constexpr std::uint32_t kSharedWindow = 0x7f000001, kLocalWindow = 0x7f000002;
  static constexpr std::size_t kLocalBytes = 16 * 1024;

 private:
  enum class State : std::uint8_t { ready, meets, waits_for_block };
  struct Group {
    Lanes lanes;
    std::int64_t next;  ///< next instruction
    State state = State::ready;
    int barrier = 0;  ///< the barrier that it waits at
  };
  static constexpr int kBarriers = 17, kByMask = 16;

  bool is_ready() const {
    return current_ < groups_.size() && groups_[current_].state == State::ready;
  }
  bool choose();
  void require(bool condition, const char* problem) const;
  bool is_ordered(Accesses& accesses, std::uint64_t address, const std::byte* place,
                  std::size_t bytes, Access access, const std::byte* written) const;
  void release(int barrier);
  void release_all();
  Lanes split_off(Lanes lanes);

  Code& code_;
  Block& block_;
  int first_thread_;
  Lanes alive_ = kAll;
  std::vector<Group> groups_;
  std::size_t current_ = 0;
  std::array<Row, 256> registers_{};
  std::array<std::uint32_t, 64> uniforms_{};
  std::array<Lanes, 8> predicates_{}, uniform_predicates_{};
  std::array<Row, kBarriers> together_{};  ///< per barrier and thread: the threads it meets
  std::vector<std::byte> local_;
};

/// Runs a grid. `parameters` points to the kernel's single parameter. With seed 0, blocks and warps
/// run in order, each warp up to the next barrier. Other seeds shuffle the blocks and switch
/// between warps after any instruction, but not between diverged groups, which share uniform
/// registers. The order depends only on the seed.
void run_grid(Code& code, const LaunchShape& shape, const void* parameters, std::size_t bytes,
              unsigned seed = 0);

}  // namespace wellspring::sass
