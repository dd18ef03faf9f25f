// Tests the machine that runs listings, using small listings with known results and counts.
#include "kernels/ops/broadcast.h"
#include "tests/cuda_stand_in/sass/kernels.h"
#include "tests/cuda_stand_in/sass/machine.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace wellspring::sass {
namespace {

using test::expect_parts;

/// Parses the lines of a kernel after adding addresses, as nvdisasm prints them.
Code code_of(const std::vector<std::string>& lines) {
  std::string text = "\t.section\t.text.kernel,\"ax\",@progbits\n";
  int place = 0;
  for (const std::string& line : lines) {
    if (line.ends_with(':')) {
      text += line + "\n";
      continue;
    }
    std::array<char, 16> hex{};
    std::snprintf(hex.data(), hex.size(), "%04x", 16 * place++);
    text += "        /*" + std::string(hex.data()) + "*/  " + line + " ;\n";
  }
  return Code("kernel", parse_listings(text).at("kernel"));
}

/// The words that the threads of a block store at [address + 4 thread]; the address is the
/// parameter.
std::vector<std::uint32_t> stored_by(Code& code, int threads, unsigned seed = 0) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(threads), 0xdeadbeef);
  const std::uint32_t* const to = out.data();
  run_grid(code, {1, threads, 1024}, &to, sizeof to, seed);
  return out;
}

void expect_refused(Code& code, int threads, unsigned seed, const std::string& problem) {
  try {
    stored_by(code, threads, seed);
    ADD_FAILURE() << "nothing was thrown with seed " << seed;
  } catch (const std::runtime_error& failure) {
    EXPECT_NE(std::string(failure.what()).find(problem), std::string::npos) << failure.what();
  }
}

const std::vector<std::string> kStore = {"ULDC.64 UR4, c[0x0][0x210]",
                                         "MOV R4, UR4",
                                         "MOV R5, UR5",
                                         "S2R R0, SR_TID.X",
                                         "IMAD.WIDE.U32 R4, R0, 0x4, R4",
                                         "STG.E desc[UR6][R4.64], R8",
                                         "EXIT"};

std::vector<std::string> with_store(std::vector<std::string> lines) {
  lines.insert(lines.end(), kStore.begin(), kStore.end());
  return lines;
}

/// Thread i of 96 writes its index to word i of shared memory and then reads word i + distance.
Code exchange(int distance, const std::string& between) {
  std::array<char, 16> shift{};
  std::snprintf(shift.data(), shift.size(), "0x%x", 96 + distance);
  return code_of(with_store(
      {"S2R R0, SR_TID.X", "IMAD R2, R0, 0x4, RZ", "STS [R2+0x400], R0", between,
       std::string("VIADD R3, R0, ") + shift.data(), "ISETP.GE.U32.AND P0, PT, R3, 0x60, PT",
       "@P0 VIADD R3, R3, 0xffffffa0", "ISETP.GE.U32.AND P0, PT, R3, 0x60, PT",
       "@P0 VIADD R3, R3, 0xffffffa0", "IMAD R3, R3, 0x4, RZ", "LDS R8, [R3+0x400]"}));
}

// 10 of the 32 threads take one branch and 22 the other. Both branches are issued once, and so is
// the code after them.
TEST(Sass, ReconvergesDivergedThreads) {
  Code code =
      code_of(with_store({"S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, 0xa, PT",
                          "BSSY B0, `(.L_x_1)", "@P0 BRA `(.L_x_0)", "MOV R8, 0x7", "BRA `(.L_x_2)",
                          ".L_x_0:", "MOV R8, 0x9", ".L_x_2:", "BSYNC B0", ".L_x_1:"}));
  const std::vector<std::uint32_t> out = stored_by(code, 32);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i < 10 ? 7u : 9u) << i;
  // 4 common instructions, 2 and 1 in the branches, BSYNC in each branch, and the store once.
  EXPECT_EQ(code.warp_instructions(), 4 + 2 + 1 + 2 + kStore.size());
}

// Threads 10 to 31 skip a part with a convergence barrier. If they took the unanimous branch, they
// would not wait for the others, and the store would be issued twice.
TEST(Sass, TakesAUnanimousBranchOnlyIfAllThreadsDo) {
  for (const bool unanimous : {false, true}) {
    Code code = code_of(
        with_store({"S2R R0, SR_TID.X", "MOV R8, 0x9",
                    std::string("ISETP.GE.AND P0, PT, R0, ") + (unanimous ? "RZ" : "0xa") + ", PT",
                    "@P0 BRA.U `(.L_x_1)", "BSSY B0, `(.L_x_1)", "@P0 BRA `(.L_x_0)", "MOV R8, 0x7",
                    ".L_x_0:", "BSYNC B0", ".L_x_1:"}));
    const std::vector<std::uint32_t> out = stored_by(code, 32);
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], !unanimous && i < 10 ? 7u : 9u) << i;
    EXPECT_EQ(code.issued.back(), 1u);
  }
}

// Two rows of 16 threads share a warp. In each row, threads 8 to 15 take another branch to the
// point of convergence, and the fourth thread has ended. The code after that point is issued once
// for all threads, and each row sees only its own threads.
TEST(Sass, JoinsPartsOfAWarp) {
  Code code = code_of({"S2R R0, SR_TID.X",
                       "S2R R1, SR_TID.Y",
                       "ISETP.EQ.AND P0, PT, R0, 0x3, PT",
                       "@P0 EXIT",
                       "IMAD R2, R1, 0x10, RZ",
                       "MOV R3, 0xffff",
                       "SHF.L.U32 R3, R3, R2, RZ",
                       "ISETP.GE.AND P1, PT, R0, 0x8, PT",
                       "@P1 BRA `(.L_x_0)",
                       "REDUX.OR UR8, R3",
                       "BRA.DIV UR8, `(.L_x_0)",
                       "EXIT",
                       ".L_x_0:",
                       "WARPSYNC R3",
                       "MATCH.ANY R8, R3",
                       "ULDC.64 UR4, c[0x0][0x210]",
                       "MOV R4, UR4",
                       "MOV R5, UR5",
                       "IMAD R2, R1, 0x10, R0",
                       "IMAD.WIDE.U32 R4, R2, 0x4, R4",
                       "STG.E desc[UR6][R4.64], R8",
                       "EXIT"});
  std::vector<std::uint32_t> out(32, 0);
  const std::uint32_t* const to = out.data();
  run_grid(code, {1, 16, 1024, 2}, &to, sizeof to);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t row = i < 16 ? 0x0000fff7 : 0xfff70000;
    EXPECT_EQ(out[i], i % 16 == 3 ? 0 : row) << i;
  }
  EXPECT_EQ(code.issued[13], 1u);
}

// Thread i loops i times, but at least once. A warp loops until its last thread is
// done.
TEST(Sass, LoopsUntilTheLastThreadIsDone) {
  Code code = code_of(with_store(
      {"S2R R0, SR_TID.X", "MOV R8, RZ", "BSSY B0, `(.L_x_1)", ".L_x_0:", "VIADD R8, R8, 0x1",
       "ISETP.GT.U32.AND P0, PT, R0, R8, PT", "@P0 BRA `(.L_x_0)", "BSYNC B0", ".L_x_1:"}));
  const std::vector<std::uint32_t> out = stored_by(code, 64);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i == 0 ? 1 : i) << i;
  EXPECT_EQ(code.issued[3], 31u + 63u);
}

TEST(Sass, PropagatesCarriesAndBorrows) {
  // Adds 2^32 - 1 and 2 in the lower words, which carries.
  Code sum = code_of(with_store(
      {"MOV R2, 0xffffffff", "IADD3 R6, P0, R2, 0x2, RZ", "IADD3.X R8, RZ, 0x5, RZ, P0, !PT"}));
  EXPECT_EQ(stored_by(sum, 32)[0], 6u);
  // Computes 5 - 3 in the upper words, minus the borrow of 0 - 1; 1 - 1 borrows nothing.
  const auto difference = [](const std::string& lower) {
    Code code = code_of(with_store({"MOV R2, " + lower, "MOV R3, 0x1", "IADD3 R6, P0, R2, -R3, RZ",
                                    "MOV R9, 0x3", "IADD3.X R8, ~R9, 0x5, RZ, P0, !PT"}));
    return stored_by(code, 32)[0];
  };
  EXPECT_EQ(difference("RZ"), 1u);
  EXPECT_EQ(difference("0x1"), 2u);
}

// The upper word of a sum is (3 << 16) + 5, or minus 5, and the carry of the lower words.
TEST(Sass, AddsCarriesToShiftedWords) {
  const auto upper = [](const std::string& lower, const std::string& summand) {
    Code code = code_of(
        with_store({"MOV R2, " + lower, "MOV R3, 0x3", "MOV R9, 0x5", "IADD3 R6, P0, R2, 0x1, RZ",
                    "LEA.X R8, R3, " + summand + ", 0x10, P0"}));
    return stored_by(code, 32)[0];
  };
  EXPECT_EQ(upper("0x7", "R9"), 0x30005u);
  EXPECT_EQ(upper("0xffffffff", "R9"), 0x30006u);
  EXPECT_EQ(upper("0x7", "~R9"), 0x2fffau);
}

/// The traffic of one access by 32 threads, whose address is `base` + `stride` * thread. `base` is
/// the kernel's parameter or an address in shared or local memory.
Traffic traffic_of(const std::string& access, int stride, const std::string& base = "UR4") {
  std::array<char, 16> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%x", stride);
  const std::string upper = base == "UR4" ? "MOV R5, UR5" : "MOV R5, RZ";
  Code code =
      code_of({"ULDC.64 UR4, c[0x0][0x210]", "MOV R4, " + base, upper, "S2R R0, SR_TID.X",
               std::string("IMAD.WIDE.U32 R4, R0, ") + hex.data() + ", R4", access, "EXIT"});
  alignas(128) static std::array<std::byte, 4096> memory;
  const std::byte* const to = memory.data();
  run_grid(code, {1, 32, 4096}, &to, sizeof to);
  return code.traffic;
}

TEST(Sass, CountsTheSectorsOfGlobalMemory) {
  EXPECT_EQ(traffic_of("STG.E desc[UR6][R4.64], R8", 4).sectors, 4u);
  EXPECT_EQ(traffic_of("LDG.E.128 R8, desc[UR6][R4.64]", 16).sectors, 16u);
  EXPECT_EQ(traffic_of("STG.E.U16 desc[UR6][R4.64], R8", 2).sectors, 2u);
  EXPECT_EQ(traffic_of("STG.E.U16 desc[UR6][R4.64], R8", 64).sectors, 32u);
  EXPECT_EQ(traffic_of("STG.E desc[UR6][R4.64], R8", 0).sectors, 1u);
  EXPECT_EQ(traffic_of("@!PT STG.E desc[UR6][R4.64], R8", 4).sectors, 0u);
  EXPECT_EQ(traffic_of("STG.E desc[UR6][R4.64], R8", 4).wavefronts, 0u);
}

TEST(Sass, CountsTheBytesOfGlobalMemory) {
  const Traffic read = traffic_of("LDG.E.128 R8, desc[UR6][R4.64]", 16),
                written = traffic_of("STG.E.U16 desc[UR6][R4.64], R8", 2);
  EXPECT_EQ(read.bytes_read, 32 * 16u);
  EXPECT_EQ(read.bytes_written, 0u);
  EXPECT_EQ(read.narrow, 0u);
  EXPECT_EQ(written.bytes_read, 0u);
  EXPECT_EQ(written.bytes_written, 32 * 2u);
  EXPECT_EQ(written.narrow, 32u);
}

TEST(Sass, CountsBankConflicts) {
  const auto conflicts = [](const std::string& access, int stride) {
    return traffic_of(access, stride, "0x400").conflicts;
  };
  EXPECT_EQ(conflicts("LDS R8, [R4]", 4), 0u);
  EXPECT_EQ(conflicts("LDS R8, [R4]", 8), 1u);
  EXPECT_EQ(conflicts("LDS R8, [R4]", 0), 0u);
  EXPECT_EQ(conflicts("LDS.128 R8, [R4]", 16), 0u) << "a quarter of the warp at a time";
  EXPECT_EQ(conflicts("LDS.128 R8, [R4]", 32), 4u);
  EXPECT_EQ(conflicts("ATOMS.ADD R8, [R4], R8", 0), 31u);
}

TEST(Sass, CountsTheWavefrontsOfSharedMemory) {
  const auto wavefronts = [](const std::string& access, int stride) {
    return traffic_of(access, stride, "0x400").wavefronts;
  };
  EXPECT_EQ(wavefronts("LDS R8, [R4]", 4), 1u) << "each thread has its own bank";
  EXPECT_EQ(wavefronts("LDS R8, [R4]", 8), 2u);
  EXPECT_EQ(wavefronts("LDS R8, [R4]", 128), 32u) << "all words are in one bank";
  EXPECT_EQ(wavefronts("LDS R8, [R4]", 0), 1u) << "one word goes to all threads";
  EXPECT_EQ(wavefronts("STS.U16 [R4], R8", 2), 1u);
  EXPECT_EQ(wavefronts("LDS.64 R8, [R4]", 8), 2u);
  EXPECT_EQ(wavefronts("LDS.128 R8, [R4]", 16), 4u);
  EXPECT_EQ(wavefronts("LDS.128 R8, [R4]", 32), 8u);
  EXPECT_EQ(wavefronts("ATOMS.ADD R8, [R4], R8", 4), 1u);
  EXPECT_EQ(wavefronts("ATOMS.ADD R8, [R4], R8", 0), 32u) << "threads change a word in turn";
  EXPECT_EQ(wavefronts("ATOMS.POPC.INC.32 RZ, [R4+URZ]", 0), 1u) << "a count is added at once";
  EXPECT_EQ(traffic_of("LDS R8, [R4]", 4, "0x400").sectors, 0u);
}

TEST(Sass, CountsTheBytesOfLocalMemory) {
  EXPECT_EQ(traffic_of("STL.64 [R4], R8", 8, "RZ").local_bytes, 32 * 8u);
  EXPECT_EQ(traffic_of("STL.64 [R4], R8", 8, "RZ").wavefronts, 0u);
}

TEST(Sass, CountsInstructionsByPipe) {
  Code code = code_of(
      with_store({"MUFU.RCP R2, R3", "IADD3 R2, R3, R3, RZ", "LOP3.LUT R2, R3, R3, RZ, 0xc0, !PT",
                  "UIADD3 UR8, UR9, UR9, URZ", "FFMA R2, R3, R3, R3", "I2F.RP R2, R3"}));
  stored_by(code, 64);
  EXPECT_EQ(code.warp_instructions(Pipe::integer), 2 * 2u);
  EXPECT_EQ(code.warp_instructions(Pipe::special), 2 * 1u);
}

// The host's compiler writes the enumerator as Broadcast::scale, a mangled name as a number.
TEST(Sass, FindsTheKernelOfAFunctorWithAnEnumerator) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "kernels.sass")
      << "\t.section\t.text._ZN10wellspring4cuda10run_leagueINS_3ops15BroadcastToRowsIfLNS2_"
         "9BroadcastE1EEEEEvNS_11LeagueBlockIT_EE,\"ax\",@progbits\n"
         "        /*0000*/  EXIT ;\n";
  Kernels kernels(folder.path());
  using Scale = ops::BroadcastToRows<float, ops::Broadcast::scale>;
  using Add = ops::BroadcastToRows<float, ops::Broadcast::add>;
  EXPECT_EQ(kernels.find(typeid(LeagueBlock<Scale>).name()).listing.size(), 1u);
  EXPECT_THROW(kernels.find(typeid(LeagueBlock<Add>).name()), std::runtime_error);
  EXPECT_THROW(kernels.find(typeid(MapBlock<Scale>).name()), std::runtime_error);
}

TEST(Sass, SynchronisesTheWarpsOfABlock) {
  // Through shared memory, each thread reads the index of the thread one warp before or after it.
  for (const int distance : {-32, 32}) {
    Code code = exchange(distance, "BAR.SYNC.DEFER_BLOCKING 0x0");
    for (const unsigned seed : {0u, 1u, 2u, 3u}) {
      const std::vector<std::uint32_t> read = stored_by(code, 96, seed);
      for (std::uint32_t i = 0; i < 96; ++i)
        EXPECT_EQ(read[i], (i + 96 + static_cast<std::uint32_t>(distance)) % 96) << seed;
    }
  }
}

// Code for teams of any size guards its barriers: small teams skip the barriers of block and warp.
TEST(Sass, SkipsBarriersWithAFalseGuard) {
  Code block = exchange(32, "@!PT BAR.SYNC.DEFER_BLOCKING 0x0");
  expect_refused(block, 96, 0, "a race");
  Code warp = code_of(with_store({"S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, 0xa, PT",
                                  "BSSY B0, `(.L_x_1)", "@P0 BRA `(.L_x_0)", "@!PT WARPSYNC.ALL",
                                  ".L_x_0:", "BSYNC B0", ".L_x_1:", "MOV R8, R0"}));
  EXPECT_EQ(stored_by(warp, 32)[9], 9u);
}

// Without the barrier, warps in ascending order would still read what lower warps have written.
TEST(Sass, FindsRacesInSharedMemoryInBothDirections) {
  for (const int distance : {-32, 32}) {
    Code code = exchange(distance, "NOP");
    for (const unsigned seed : {0u, 1u, 2u}) expect_refused(code, 96, seed, "a race");
  }
  Code within = exchange(1, "NOP");
  EXPECT_EQ(stored_by(within, 32)[4], 5u) << "the threads of a warp run together";
  expect_refused(within, 64, 0, "a race");
}

TEST(Sass, AllowsAtomicOperationsAndReadsOfSeveralWarps) {
  const std::vector<std::string> add = {"S2R R0, SR_TID.X", "MOV R1, 0x1", "MOV R2, 0x400",
                                        "ATOMS.ADD R8, [R2], R1"};
  Code code = code_of(with_store(add));
  std::vector<std::uint32_t> counts = stored_by(code, 96, 5);
  std::ranges::sort(counts);
  for (std::uint32_t i = 1; i < 96; ++i) EXPECT_EQ(counts[i], counts[0] + i);
  std::vector<std::string> more = add;
  more.emplace_back("LDS R9, [R2]");
  Code reading = code_of(with_store(more));
  EXPECT_EQ(stored_by(reading, 96).size(), 96u);
  more.back() = "STS [R2], R1";
  Code writing = code_of(with_store(more));
  expect_refused(writing, 96, 0, "a race");
}

/// Code in which thread i of all blocks writes its index to word 32 + i of the parameter's array,
/// then reads word 32 + i + distance and writes what it read to word 160 + i.
Code global_exchange(int threads, int distance, const std::string& between) {
  const auto hex = [](int value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%x", value);
    return std::string(text.data());
  };
  return code_of({"ULDC.64 UR4, c[0x0][0x210]", "MOV R4, UR4", "MOV R5, UR5", "S2R R0, SR_TID.X",
                  "S2R R1, SR_CTAID.X", "IMAD R0, R1, " + hex(threads) + ", R0",
                  "IMAD.WIDE.U32 R6, R0, 0x4, R4", "STG.E desc[UR6][R6.64+0x80], R0", between,
                  "VIADD R3, R0, " + hex(32 + distance), "IMAD.WIDE.U32 R8, R3, 0x4, R4",
                  "LDG.E R2, desc[UR6][R8.64]", "STG.E desc[UR6][R6.64+0x280], R2", "EXIT"});
}

/// Runs 96 threads in blocks of `threads` and returns the words that they read; 96 if no thread
/// wrote there.
std::vector<std::uint32_t> exchanged(Code& code, int threads, unsigned seed) {
  std::vector<std::uint32_t> words(256, 96);
  const std::uint32_t* const to = words.data();
  run_grid(code, {96 / threads, threads}, &to, sizeof to, seed);
  return {words.begin() + 160, words.end()};
}

std::string problem_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::runtime_error& failure) {
    return failure.what();
  }
  return {};
}

constexpr const char* kGlobalRace = "a race in global memory";

/// Three blocks of 32 threads run these lines with R0 the thread, R1 the block and R4 the address of
/// memory filled with zeros. Returns the problem, or "" for success.
std::string problem_of_blocks(std::vector<std::string> lines, unsigned seed = 0) {
  lines.insert(lines.begin(), {"ULDC.64 UR4, c[0x0][0x210]", "MOV R4, UR4", "MOV R5, UR5",
                               "S2R R0, SR_TID.X", "S2R R1, SR_CTAID.X"});
  lines.emplace_back("EXIT");
  Code code = code_of(lines);
  std::vector<std::uint32_t> words(128);
  const std::uint32_t* const to = words.data();
  return problem_of([&] { run_grid(code, {3, 32}, &to, sizeof to, seed); });
}

// Threads of blocks of 96 read what the next or the previous warp wrote; with a barrier in between,
// this is no race.
TEST(Sass, FindsRacesOfWarpsInGlobalMemoryInBothDirections) {
  for (const int distance : {-32, 32}) {
    Code racing = global_exchange(96, distance, "NOP"),
         ordered = global_exchange(96, distance, "BAR.SYNC.DEFER_BLOCKING 0x0");
    for (const unsigned seed : {0u, 1u, 2u}) {
      expect_parts(problem_of([&] { exchanged(racing, 96, seed); }), {kGlobalRace});
      const std::vector<std::uint32_t> read = exchanged(ordered, 96, seed);
      for (std::uint32_t i = 0; i < 96; ++i)
        EXPECT_EQ(read[i], std::min(i + static_cast<std::uint32_t>(distance), 96u)) << seed;
    }
  }
}

// In blocks of 32 threads, the same accesses are a race with and without a barrier.
TEST(Sass, FindsRacesOfBlocksInGlobalMemoryInBothDirections) {
  for (const int distance : {-32, 32}) {
    for (const char* const between : {"NOP", "BAR.SYNC.DEFER_BLOCKING 0x0"}) {
      Code code = global_exchange(32, distance, between);
      for (const unsigned seed : {0u, 1u, 2u})
        expect_parts(problem_of([&] { exchanged(code, 32, seed); }), {kGlobalRace});
    }
  }
  Code own = global_exchange(32, 0, "NOP");
  EXPECT_EQ(exchanged(own, 32, 1)[40], 40u);
}

TEST(Sass, AllowsAtomicOperationsOfSeveralBlocksButNoReadNextToThem) {
  const std::string add = "RED.E.ADD.STRONG.GPU desc[UR6][R4.64], R0";
  const std::string read = "LDG.E R2, desc[UR6][R4.64]", write = "STG.E desc[UR6][R4.64], R1";
  EXPECT_EQ(problem_of_blocks({add}), "");
  EXPECT_EQ(problem_of_blocks({read}), "");
  for (const unsigned seed : {0u, 1u, 2u}) {
    for (const auto& lines : {std::vector{add, read}, {read, add}, {add, write}, {write, add}})
      expect_parts(problem_of_blocks(lines, seed), {kGlobalRace});
  }
}

// Block i writes half i of two words. Then all blocks write to one word: equal values, or their
// indices.
TEST(Sass, ComparesTheBytesThatBlocksWrite) {
  const std::vector<std::string> halves = {"IMAD.WIDE.U32 R6, R1, 0x2, R4",
                                           "STG.E.U16 desc[UR6][R6.64], R1"};
  EXPECT_EQ(problem_of_blocks(halves), "");
  expect_parts(problem_of_blocks({halves[0], halves[1], "LDG.E R2, desc[UR6][R4.64]"}),
               {kGlobalRace});
  EXPECT_EQ(problem_of_blocks({"MOV R2, 0x7", "STG.E desc[UR6][R4.64], R2"}), "");
  for (const unsigned seed : {0u, 1u, 2u})
    expect_parts(problem_of_blocks({"STG.E desc[UR6][R4.64], R1"}, seed), {kGlobalRace});
}

// Each thread exchanges its index with one word of global memory; the last thread's stays there.
TEST(Sass, RunsWarpsInTheOrderOfASeed) {
  Code code =
      code_of({"ULDC.64 UR4, c[0x0][0x210]", "MOV R4, UR4", "MOV R5, UR5", "S2R R8, SR_TID.X",
               "ATOMG.E.EXCH.STRONG.GPU PT, RZ, desc[UR6][R4.64], R8", "EXIT"});
  std::set<std::uint32_t> winners;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::uint32_t winner = stored_by(code, 96, seed)[0];
    code.launches = 0;
    EXPECT_EQ(stored_by(code, 96, seed)[0], winner) << "a seed must repeat its order";
    code.launches = 0;
    winners.insert(winner);
  }
  // Any of three warps may be last. All 20 random orders agree with probability 3^-19.
  EXPECT_GT(winners.size(), 1u);
}

TEST(Sass, RefusesMisalignedAddresses) {
  for (const auto& [address, access] : {std::pair{"0x402", "LDS R8, [R2]"},
                                        {"0x404", "LDS.64 R8, [R2]"},
                                        {"0x408", "STS.128 [R2], R4"},
                                        {"0x401", "LDS.U16 R8, [R2]"}}) {
    Code code = code_of(with_store({std::string("MOV R2, ") + address, access}));
    expect_refused(code, 32, 0, "misaligned address in shared memory");
  }
  Code local = code_of(with_store({"MOV R2, 0x4", "STL.64 [R2], R4"}));
  expect_refused(local, 32, 0, "misaligned address in local memory");
  Code aligned = code_of(with_store({"MOV R2, 0x408", "LDS.64 R8, [R2]"}));
  EXPECT_EQ(stored_by(aligned, 32).size(), 32u);
}

TEST(Sass, RoundsAsTheModifiersSay) {
  const auto bits_of = [](const std::string& line) {
    Code code = code_of(with_store({"HFMA2.MMA R2, -RZ, RZ, 1.875, 0", line}));
    return stored_by(code, 32)[0];
  };
  EXPECT_EQ(bits_of("FADD R8, R2, 5.9604644775390625e-08"), 0x3f800000u) << "a tie rounds to even";
  EXPECT_EQ(bits_of("FADD.RP R8, R2, 5.9604644775390625e-08"), 0x3f800001u);
  EXPECT_EQ(bits_of("FADD.SAT R8, R2, 3"), 0x3f800000u);
  EXPECT_EQ(bits_of("F2FP.BF16.F32.PACK_AB R8, R2, -R2"), 0x3f80bf80u);
}

TEST(Sass, RefusesUnknownInstructionsByName) {
  try {
    code_of({"FROBNICATE R0, R1"});
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("FROBNICATE R0, R1"), std::string::npos)
        << failure.what();
  }
}

}  // namespace
}  // namespace wellspring::sass
