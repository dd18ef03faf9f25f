#include "core/io/safetensors.h"

#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace wellspring::test {
namespace {

/// Collects the bytes written.
struct MemorySink : ByteSink {
  using ByteSink::write;
  void write(Bytes bytes) override { text += text_of(bytes); }
  std::string text;
};

const std::vector<float> kWeights = {1, 2, 3, 4, 5, 6};
const std::vector<std::uint8_t> kMask = {1, 0, 1};
const std::vector<std::uint16_t> kHalf = {0x3F80, 0xBF80};
const std::vector<std::int64_t> kSteps = {-1};

std::vector<TensorData> tensors() {
  return {{"mask", ElementType::u8, {3}, bytes_of(kMask)},
          {"fc.weight", ElementType::f32, {2, 3}, bytes_of(kWeights)},
          {"half", ElementType::bf16, {2}, bytes_of(kHalf)},
          {"none", ElementType::f32, {0, 7}, {}},
          {"steps", ElementType::i64, {}, bytes_of(kSteps)}};
}

std::string small_file() {
  MemorySink sink;
  write_safetensors(sink, tensors(), {{"step", "12"}, {"classes", "[\"é\"]"}});
  return sink.text;
}

/// A file with this header and `data_bytes` bytes of data.
std::string with_header(std::string header, std::size_t data_bytes) {
  std::string file;
  append_number<std::uint64_t>(file, header.size());
  return file + header + std::string(data_bytes, '\1');
}

std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  spill(folder / "f", bytes);
  return message_of(ErrorKind::data, [&] { SafetensorsFile(folder / "f"); });
}

TEST(Safetensors, RoundTrips) {
  const TemporaryFolder folder;
  spill(folder / "model", small_file());
  const SafetensorsFile file(folder / "model");
  EXPECT_TRUE(file.has_digest());
  file.verify();
  EXPECT_EQ(file.metadata().at("step"), "12");
  EXPECT_EQ(file.metadata().at("classes"), "[\"é\"]");
  ASSERT_EQ(file.tensors().size(), 5u);
  const TensorInfo& weight = file.tensor("fc.weight");
  EXPECT_EQ(weight.type, ElementType::f32);
  EXPECT_EQ(weight.shape, (std::vector<std::int64_t>{2, 3}));
  std::vector<float> values(6);
  file.read(weight, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, kWeights);
  std::vector<std::uint16_t> half(2);
  file.read(file.tensor("half"), std::as_writable_bytes(std::span(half)));
  EXPECT_EQ(half, kHalf);
  EXPECT_EQ(file.tensor("none").bytes, 0u);
  EXPECT_EQ(file.tensor("steps").shape.size(), 0u);
  EXPECT_EQ(file.find("absent"), nullptr);
  expect_parts(message_of(ErrorKind::data, [&] { file.tensor("fc.wieght"); }),
               {"no tensor 'fc.wieght'\n  did you mean 'fc.weight'?"});
  EXPECT_THROW(file.read(weight, {}), std::logic_error);
}

TEST(Safetensors, WritesAnAlignedDeterministicLayout) {
  const std::string bytes = small_file();
  EXPECT_EQ(bytes, small_file());
  const auto length = number_at<std::uint64_t>(bytes_of(bytes), 0);
  EXPECT_EQ((8 + length) % 64, 0u);
  EXPECT_EQ(bytes.substr(8, 16), "{\"__metadata__\":");
  // Tensors are sorted by element size: 8 bytes, then 4, 2 and 1.
  expect_parts(bytes, {R"("steps":{"data_offsets":[0,8],"dtype":"I64","shape":[]})",
                       R"("fc.weight":{"data_offsets":[8,32],"dtype":"F32","shape":[2,3]})",
                       R"("half":{"data_offsets":[32,36],"dtype":"BF16","shape":[2]})",
                       R"("mask":{"data_offsets":[36,39],"dtype":"U8","shape":[3]})"});
  EXPECT_EQ(bytes.size(), 8 + length + 39);
}

TEST(Safetensors, RefusesTruncationAtAnyByte) {
  const std::string whole = small_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)).find("not a valid safetensors file"),
              std::string::npos)
        << size;
  }
  refusal(whole + '\0');
}

TEST(Safetensors, RefusesAnyAlteredByte) {
  const TemporaryFolder folder;
  const std::string whole = small_file();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int mask : {0x01, 0x20}) {  // 0x20 turns a space into a zero byte
      std::string altered = whole;
      altered[at] = static_cast<char>(altered[at] ^ mask);
      spill(folder / "f", altered);
      EXPECT_NE(message_of(ErrorKind::data, [&] { SafetensorsFile(folder / "f").verify(); }), "")
          << "byte " << at << " mask " << mask;
    }
  }
}

TEST(Safetensors, RefusesInconsistentHeaders) {
  struct Case {
    const char* header;
    std::size_t bytes;
    const char* why;
  };
  const Case cases[] = {
      {R"([])", 0, "is not an object"},
      {R"("x")", 0, "is not an object"},
      {R"( {})", 0, "is not an object"},
      {R"({"a")", 0, "not JSON"},
      {R"({}x)", 0, "not JSON"},
      {"{\"\xff\":1}", 0, "not JSON"},
      {R"({"a":1})", 0, "not described"},
      {R"({"a":{"dtype":"U8","shape":[1]}})", 1, "not described"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, "not described"},
      {R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", 1, "unknown type \"F8\""},
      {R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,2]}})", 2, "unknown type 7"},
      {R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1, "not a list of sizes"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "not a list of sizes"},
      {R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "not a list of sizes"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "not two sizes"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":["0",1]}})", 1, "not two sizes"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}})", 1, "not two sizes"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1, "ends before it begins"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", 1, "does not match its shape"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}})", 1,
       "does not match its shape"},
      // 2^62 * 8 = 2^65 would overflow to 0.
      {R"({"a":{"dtype":"I64","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
       "does not match its shape"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2, "2 bytes of data"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "a gap before tensor 'a'"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "tensor 'b' overlaps"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       2, "tensor 'b' overlaps"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "'a' twice"},
      {R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, "'dtype' twice"},
      {R"({"__metadata__":[]})", 0, "is not an object"},
      {R"({"__metadata__":{"a":1}})", 0, "'a' is not a string"},
  };
  for (const Case& wrong : cases) {
    EXPECT_NE(refusal(with_header(wrong.header, wrong.bytes)).find(wrong.why), std::string::npos)
        << wrong.header << "\n"
        << refusal(with_header(wrong.header, wrong.bytes));
  }
  expect_parts(refusal(with_header(std::string("{}\0{", 4), 0)), {"a zero byte"});
  std::string endless;
  append_number<std::uint64_t>(endless, 100'000'001);
  expect_parts(refusal(endless), {"longer than 100 MB"});
}

TEST(Safetensors, ReadsFilesOfOtherWritersWithoutVerification) {
  const TemporaryFolder folder;
  // Files from other writers may have no alignment or metadata, and may contain spaces.
  spill(folder / "f", with_header(R"({"b": {"dtype":"U8", "shape":[1,1], "data_offsets":[2,3]},)"
                                  R"("a":{"shape":[1],"dtype":"F16","data_offsets":[0,2]}} )",
                                  3));
  const SafetensorsFile file(folder / "f");
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensors()[0].type, ElementType::f16);
  EXPECT_FALSE(file.has_digest());
  EXPECT_EQ(file.tensors()[1].name, "b");
  expect_parts(message_of(ErrorKind::data, [&] { file.verify(); }), {"has no digest"});
}

TEST(Safetensors, RoundTripsAnEmptyList) {
  const TemporaryFolder folder;
  MemorySink sink;
  write_safetensors(sink, {});
  spill(folder / "f", sink.text);
  const SafetensorsFile file(folder / "f");
  file.verify();
  EXPECT_TRUE(file.tensors().empty());
}

TEST(Safetensors, RefusesMisuse) {
  MemorySink sink;
  const TensorData mask{"mask", ElementType::u8, {3}, bytes_of(kMask)};
  EXPECT_THROW(write_safetensors(sink, std::vector{mask, mask}), std::logic_error);
  EXPECT_THROW(write_safetensors(sink, std::vector{TensorData{"a", ElementType::f32, {1}, {}}}),
               std::logic_error);
  EXPECT_THROW(
      write_safetensors(sink, std::vector{TensorData{"__metadata__", ElementType::u8, {0}, {}}}),
      std::logic_error);
  EXPECT_TRUE(sink.text.empty());
}

}  // namespace
}  // namespace wellspring::test
