// The subcommands that show samples: digest, export, preview, list and describe.
#include "core/config/params.h"
#include "core/io/files.h"
#include "core/io/npy.h"
#include "core/io/sha256.h"
#include "generators/generator.h"
#include "tests/cli/command.h"
#include "tests/generators/golden.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {
namespace {

/// `COMMAND GENERATOR` for images of 20 x 24 pixels with the quick parameters of the golden file.
std::vector<std::string> arguments_of(const std::string& command, const std::string& generator,
                                      const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {command, generator};
  for (const ParamSetting& setting : read_golden(generator).quick) {
    arguments.push_back(setting.name + "=" + setting.value);
  }
  if (find_generator(generator).kind == SampleKind::image)
    arguments.insert(arguments.end(), {"--size", "20,24"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string digest(const std::string& generator, std::vector<std::string> more) {
  more.insert(more.begin(), {"--seed", "5"});
  const Outcome outcome = wellspring(arguments_of("digest", generator, more));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out).at("sha256").get<std::string>();
}

/// The array `metadata` of an archive, decoded without core/io/npy: a scalar of NumPy's type "<U"
/// (UTF-32).
nlohmann::json metadata_of(const std::string& file) {
  const std::string bytes = slurp(file);
  const std::size_t array = bytes.find("\x93NUMPY", bytes.find("metadata.npy"));
  if (array == std::string::npos) return nullptr;
  const std::size_t dictionary = bytes.find("{'descr': '<U", array);
  EXPECT_EQ(dictionary, array + 10);
  const std::size_t length = std::stoul(bytes.substr(dictionary + 13));
  expect_parts(bytes.substr(array, 128), {"'shape': (), }"});
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t at = array + 128 + 4 * i;
    EXPECT_EQ(bytes.substr(at + 1, 3), std::string(3, '\0')) << "only ASCII expected";
    text += bytes[at];
  }
  return nlohmann::json::parse(text);
}

// A data set, like a generator, can be the input of export.
TEST(Pack, WritesADataSetThatExportReads) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const std::vector<std::string> shapes = {"shapes", "--count", "9", "--size", "8", "--out"};
  const auto of_shapes = [&](const std::string& command, const std::string& out,
                             const std::vector<std::string>& more) {
    std::vector<std::string> words = {command};
    words.insert(words.end(), shapes.begin(), shapes.end());
    words.push_back(out);
    words.insert(words.end(), more.begin(), more.end());
    return wellspring(words);
  };
  ASSERT_EQ(of_shapes("export", path("a.npz"), {"--pixels", "u8"}).exit_code, 0);
  const Outcome packed = of_shapes("pack", path("shards"), {"--layout", "webdataset"});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  expect_parts(packed.out, {"1 shard"});
  expect_parts(of_shapes("pack", path("shards"), {"--layout", "webdataset"}).out,
               {"9 samples were there already"});
  const Outcome read = wellspring(
      {"export", path("shards"), "--first", "2", "--pixels", "u8", "--out", path("b.npz")});
  ASSERT_EQ(read.exit_code, 0) << read.err;
  const NpyArray a = read_npz(path("a.npz"), "x"), b = read_npz(path("b.npz"), "x");
  EXPECT_EQ(b.spec.shape.at(0), 7);
  EXPECT_TRUE(std::ranges::equal(b.data, std::span(a.data).subspan(2 * 8 * 8 * 3)));
  for (const auto& [words, part] :
       {std::pair<std::vector<std::string>, std::string>{{"--seed", "1"}, "its rows are stored"},
        {{"--plane"}, "no dense labels"},
        {{"--first", "9"}, "the data set has 9 rows"},
        {{"rezise=4"}, "did you mean 'resize'"}}) {
    std::vector<std::string> all = {"export", path("shards"), "--out", path("c.npz")};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome refused = wellspring(all);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    expect_parts(refused.err, {part});
  }
}

// Killed as soon as the first shard is complete, and again as soon as the index lists a shard.
TEST(Pack, ContinuesAfterAKill) {
  const TemporaryFolder folder;
  const auto words = [](const std::string& out) {
    return split_words(
        "pack shapes --count 6000 --size 16 --format npz --shard-samples 300 --out " + out);
  };
  ASSERT_EQ(wellspring(words("whole"), folder.path()).exit_code, 0);
  std::vector<std::string> all = words("parts");
  all.insert(all.begin(), wellspring_path());
  const auto index = [&](const char* name) {
    return nlohmann::json::parse(slurp(folder.path() / name / "index.json"), nullptr, false);
  };
  const auto kill_when = [&](const auto& reached) {
    Process process(all, folder.path());
    while (process.running() && !reached()) std::this_thread::yield();
    if (process.running()) process.send(SIGKILL);
    process.wait();
  };
  kill_when([&] { return std::filesystem::exists(folder / "parts/shard-000000.npz"); });
  kill_when([&] {
    const nlohmann::json found = index("parts");
    return found.is_object() && !found.value("shards", nlohmann::json()).empty();
  });
  const Outcome outcome = wellspring(words("parts"), folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"20 shards", "samples were there already"});
  EXPECT_EQ(index("parts")["shards"], index("whole")["shards"]);
}

// Every shard stays open.
TEST(Pack, HasMoreShardsThanTheUsualNumberOfOpenFiles) {
  const TemporaryFolder folder;
  const std::string limited = "ulimit -Sn 40; " + wellspring_path();
  for (const char* form : {"--format npz", "--layout webdataset"}) {
    const Outcome outcome =
        shell(limited + " pack noise law=uniform --count 60 --size 4 --shard-samples 1 --out a " +
                  form + " && " + limited + " export a --out a.npz && rm -r a a.npz",
              folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

class EveryGenerator : public testing::TestWithParam<std::string> {};

// Tests of the registry show that no generator depends on batch or threads.
TEST(Digest, TakesItsOptions) {
  const std::string expected = digest("shapes", {"--count", "70"});
  EXPECT_EQ(digest("shapes", {"--count", "70", "--batch", "7", "--threads", "2"}), expected);
  EXPECT_NE(digest("shapes", {"--count", "70", "--first", "1"}), expected);
  EXPECT_NE(digest("shapes", {"--count", "69"}), expected);
}

// The definition of the digest, applied to exported files: per sample x, label, targets (if any),
// latents and weight. In a set, x is padded with zeros and followed by the count and the globals.
TEST_P(EveryGenerator, HasTheDigestOfItsExportedBytes) {
  const TemporaryFolder folder;
  const auto part = [&](const std::string& first, const std::string& count) {
    const std::string file = (folder.path() / (first + ".npz")).string();
    const Outcome outcome = wellspring(arguments_of(
        "export", GetParam(), {"--seed", "5", "--first", first, "--count", count, "--out", file}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return file;
  };
  const SampleLayout layout =
      make_generator(GetParam(), 24, read_golden(GetParam()).quick)->info().layout;
  const bool is_set = layout.kind == SampleKind::set;
  Sha256 hash;
  for (const std::string& file : {part("0", "13"), part("13", "57")}) {
    const NpyArray x = read_npz(file, "x"), label = read_npz(file, "label");
    const NpyArray offsets = is_set ? read_npz(file, "offsets") : NpyArray{};
    const bool has_globals = layout.globals > 0;
    const NpyArray globals = has_globals ? read_npz(file, "globals") : NpyArray{};
    const bool has_targets = layout.targets > 0;
    const NpyArray targets = has_targets ? read_npz(file, "target") : NpyArray{};
    const NpyArray latents = read_npz(file, "latents"), weight = read_npz(file, "weight");
    const auto count = static_cast<std::size_t>(label.spec.shape.at(0));
    const auto row = [&](const NpyArray& array, std::size_t i) {
      const std::size_t bytes = array.data.size() / count;
      hash.update(std::span(array.data).subspan(i * bytes, bytes));
    };
    const auto set = [&](std::size_t i) {
      const auto features = static_cast<std::size_t>(layout.features);
      const auto begin = static_cast<std::size_t>(offsets.as<std::int64_t>()[i]);
      const auto end = static_cast<std::size_t>(offsets.as<std::int64_t>()[i + 1]);
      const auto items = x.as<float>().subspan(begin * features, (end - begin) * features);
      std::vector<float> padded(static_cast<std::size_t>(layout.elements()));
      std::copy(items.begin(), items.end(), padded.begin());
      hash.update(std::as_bytes(std::span(padded)));
      const auto held = static_cast<std::int32_t>(end - begin);
      hash.update(std::as_bytes(std::span(&held, 1)));
      if (has_globals) row(globals, i);
    };
    for (std::size_t i = 0; i < count; ++i) {
      is_set ? set(i) : row(x, i);
      const auto of_row = static_cast<std::int32_t>(label.as<std::int64_t>()[i]);
      hash.update(std::as_bytes(std::span(&of_row, 1)));
      if (has_targets) row(targets, i);
      row(latents, i);
      row(weight, i);
    }
  }
  EXPECT_EQ(hash.hex(), digest(GetParam(), {"--count", "70"}));
}

TEST_P(EveryGenerator, ExportsItsShapesAndParameters) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "samples.npz").string();
  ASSERT_EQ(
      wellspring(arguments_of("export", GetParam(), {"--count", "9", "--out", file})).exit_code, 0);
  const SampleInfo info = make_generator(GetParam(), 24, read_golden(GetParam()).quick)->info();
  const auto latents = static_cast<std::int64_t>(info.latents.size());
  const NpyArray x = read_npz(file, "x");
  EXPECT_EQ(x.spec.shape.size(), info.layout.kind == SampleKind::image ? 4u : 2u);
  if (info.layout.kind == SampleKind::set) {
    const NpyArray offsets = read_npz(file, "offsets");
    EXPECT_EQ(offsets.spec.shape, std::vector<std::int64_t>({10}));
    EXPECT_EQ(x.spec.shape.at(0), offsets.as<std::int64_t>().back());
  } else {
    EXPECT_EQ(x.spec.shape.at(0), 9);
  }
  EXPECT_EQ(read_npz(file, "label").spec.shape, std::vector<std::int64_t>({9}));
  EXPECT_EQ(read_npz(file, "latents").spec.shape, std::vector<std::int64_t>({9, latents}));
  EXPECT_EQ(read_npz(file, "weight").spec.shape, std::vector<std::int64_t>({9}));
  for (const std::string& member : npz_members(file))
    EXPECT_TRUE(member.ends_with(".npy")) << member << " would break loops over the arrays";
  const nlohmann::json about = metadata_of(file);
  EXPECT_EQ(about.at("count"), 9);
  const auto& parameters = about.at("parameters");
  for (const ParamRow& row : find_generator(GetParam()).parameters) {
    if (row.name == kPresetKey) continue;
    const auto& value = parameters.at(row.name);
    EXPECT_EQ(value.is_number(),
              row.type == wellspring::ParamType::real || row.type == wellspring::ParamType::integer)
        << row.name << " = " << value;
  }
}

TEST_P(EveryGenerator, IsListedAndDescribed) {
  expect_parts(wellspring({"list", "generators"}).out, {"  " + GetParam() + " "});
  const Outcome described = wellspring({"describe", GetParam()});
  EXPECT_EQ(described.exit_code, 0) << described.err;
  for (const ParamRow& row : find_generator(GetParam()).parameters) {
    expect_parts(described.out, {"\n  " + row.name + "  ", row.help});
  }
  const auto json = nlohmann::json::parse(wellspring({"describe", GetParam(), "--json"}).out);
  EXPECT_EQ(json.at("version"), find_generator(GetParam()).version);
  ASSERT_EQ(json.at("parameters").size(), find_generator(GetParam()).parameters.size());
  for (std::size_t i = 0; i < json.at("parameters").size(); ++i) {
    EXPECT_EQ(json.at("parameters")[i].at("name"), find_generator(GetParam()).parameters[i].name);
    EXPECT_EQ(json.at("parameters")[i].at("help"), find_generator(GetParam()).parameters[i].help);
  }
}

TEST(Describe, PrintsJson) {
  for (const char* name : {"config", "augment", "deepset", "npy"}) {
    const Outcome outcome = wellspring({"describe", name, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_FALSE(nlohmann::json::parse(outcome.out).empty()) << name;
  }
}

// Preview.DrawsEveryGenerator (in tests/export) checks the pictures.
TEST(Preview, NamesItsFileAfterTheGenerator) {
  for (const std::string generator : {"shapes", "ee_mumu", "ginkgo"}) {
    const TemporaryFolder folder;
    const Outcome outcome =
        wellspring(arguments_of("preview", generator, {"--count", "5"}), folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(slurp(folder.path() / (generator + ".png")).substr(1, 3), "PNG");
    if (find_generator(generator).kind == SampleKind::event) {
      // The output has a heading, five events and the file name.
      EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 7);
    }
  }
}

TEST(Preview, NamesItsFileAfterAFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "photos/a");
  for (const char* command : {"preview shapes --count 1 --out photos/a/1.png", "preview photos/"}) {
    const Outcome outcome = wellspring(split_words(command), folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_EQ(slurp(folder.path() / "photos.png").substr(1, 3), "PNG");
}

TEST(Stats, WritesAPageWithPictures) {
  const TemporaryFolder folder;
  for (const std::string generator : {"shapes", "ee_mumu"}) {
    const Outcome outcome = wellspring(
        arguments_of("stats", generator, {"--count", "40", "--html", "a.html"}), folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_parts(slurp(folder.path() / "a.html"),
                 {"wellspring stats", "class=\"histogram c0\"", "data:image/png;base64,"});
  }
  const Outcome absent =
      wellspring({"stats", "shapes", "--count", "4", "--html", "absent/a.html"}, folder.path());
  EXPECT_EQ(absent.exit_code, 1);
}

TEST(Stats, EndWith5IfSamplesDriftFromAProfile) {
  const TemporaryFolder folder;
  const auto stats = [&](const std::string& more) {
    return wellspring(split_words("stats gaussian_linear --count 2000 " + more), folder.path());
  };
  ASSERT_EQ(stats("--out p.json").exit_code, 0);
  // Other samples of the same distribution. The seed is fixed, so this cannot fail by chance.
  const Outcome same = stats("--first 1000000 --against p.json");
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  const Outcome noisy = stats("noise=3 --against p.json --json");
  EXPECT_EQ(noisy.exit_code, 5) << noisy.err;
  EXPECT_TRUE(nlohmann::json::parse(noisy.out).at("drift").is_object());
  EXPECT_EQ(stats("--against absent.json").exit_code, 3);
  write_file(folder.path() / "x.json", std::string_view("{}"));
  const Outcome other = stats("--against x.json");
  EXPECT_EQ(other.exit_code, 3);
  expect_parts(other.err, {"x.json: not a profile of samples", "stats ... --out FILE"});
}

// 3 values are NaN and 1 is infinite. A picture has no place for them.
TEST(Stats, CountsValuesThatAreNotFinite) {
  const TemporaryFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {1, nan, 3, nan, 5, 7, nan, std::numeric_limits<float>::infinity()};
  NpzWriter file(folder.path() / "a.npz");
  file.add("x", {ElementType::f32, {8, 1}}, bytes_of(x));
  file.commit();
  const Outcome outcome =
      wellspring({"stats", "a.npz", "--json", "--html", "a.html"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto column = nlohmann::json::parse(outcome.out).at("sources").at(0).at("columns").at(0);
  EXPECT_EQ(column.at("not_finite"), 4);
  EXPECT_EQ(column.at("values"), 4);
  EXPECT_EQ(column.at("mean"), 4);
  EXPECT_EQ(column.at("low"), 1);
  EXPECT_EQ(column.at("high"), 7);
  EXPECT_EQ(slurp(folder.path() / "a.html").find("data:image"), std::string::npos);
  EXPECT_EQ(wellspring({"digest", "a.npz"}, folder.path()).exit_code, 3)
      << "other commands refuse it";
}

TEST(LoadTestCommand, MeasuresEachNumberOfThreads) {
  const TemporaryFolder folder;
  const std::string work = "loadtest shapes --size 8 --batch 16 --count 160 ";
  const Outcome outcome = wellspring(
      split_words(work + "--sweep --json --consumer images_per_second=1e6"), folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  int threads = 0;
  for (const auto& row : nlohmann::json::parse(outcome.out)) {
    EXPECT_GT(row.at("threads"), threads);
    threads = row.at("threads");
    EXPECT_EQ(row.at("batches"), 9) << "the first of ten is not measured";
    EXPECT_GT(row.at("samples_per_second"), 0);
    EXPECT_GE(row.at("bytes_per_second"),
              row.at("samples_per_second").get<double>() * 8 * 8 * 3 * 4);
    EXPECT_LE(row.at("wait_ms").at("p50"), row.at("wait_ms").at("p99"));
    EXPECT_GE(row.at("wait"), 0);
    EXPECT_LE(row.at("wait"), 1);
    EXPECT_GT(row.at("seconds"), 0);
  }
  EXPECT_GE(threads, 1);
  const Outcome table = wellspring(split_words(work), folder.path());
  ASSERT_EQ(table.exit_code, 0) << table.err;
  expect_parts(table.out, {"samples/s", "waits", "default"});
  EXPECT_EQ(std::ranges::count(table.out, '\n'), 2) << "a heading and a row";
}

TEST(LoadTestCommand, MeasuresADataSet) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& command) {
    return wellspring(split_words(command), folder.path());
  };
  ASSERT_EQ(run("export gaussian_linear --count 9000 --out a.npz").exit_code, 0);
  for (const std::string threads : {"--threads 1", "--sweep"})
    expect_parts(run("loadtest a.npz --seconds 1 " + threads).out, {"\n1 "});
}

TEST(SampleText, UsesTheSingularForOne) {
  const TemporaryFolder folder;
  const Outcome one =
      wellspring({"export", "shapes", "--count", "1", "--out", "x.npz"}, folder.path());
  expect_parts(one.out, {"1 sample of shapes"});
  const std::string sets = wellspring({"describe", "deepset"}).out;
  expect_parts(sets, {"input set of up to 32 items of 4 features, 2 globals"});
  EXPECT_EQ(sets.find("1x32x"), std::string::npos) << sets;
}

TEST(Preview, TakesParametersOfTheGenerator) {
  const TemporaryFolder folder;
  for (const auto& [file, setting] :
       {std::pair{"a.png", "softness=0.1"}, {"b.png", "softness=0.9"}}) {
    const Outcome outcome =
        wellspring({"preview", "shapes", setting, "--count", "4", "--size", "24", "--out", file},
                   folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_NE(slurp(folder.path() / "a.png"), slurp(folder.path() / "b.png"));
}

INSTANTIATE_TEST_SUITE_P(Samples, EveryGenerator, testing::ValuesIn(generator_names()),
                         [](const auto& test) { return test.param; });

struct CommandRefusal {
  const char* what;
  std::string command;  ///< without the program's name
  const char* message;  ///< part of standard error
  int exit_code = 2;
};

void PrintTo(const CommandRefusal& refusal, std::ostream* out) {
  *out << refusal.what;
}

class RefusedCommand : public testing::TestWithParam<CommandRefusal> {};

TEST_P(RefusedCommand, ExitsWithCodeAndReason) {
  const TemporaryFolder folder;
  const Outcome outcome = wellspring(split_words(GetParam().command), folder.path());
  EXPECT_EQ(outcome.exit_code, GetParam().exit_code) << outcome.out;
  expect_parts(outcome.err, {GetParam().message});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "a file was written";
}

const CommandRefusal kCommandRefusals[] = {
    {"UnknownGenerator", "digest shpes --count 1", "did you mean 'shapes'"},
    {"BeyondTheLastSample", "digest noise --first 9223372036854775807 --count 2",
     "--first 9223372036854775807 --count 2 goes beyond the last sample"},
    {"UnknownName", "describe shpes", "did you mean 'shapes'"},
    {"UnknownParameter", "preview shapes sofness=1", "did you mean 'softness'"},
    {"ParameterOutOfRange", "preview shapes classes=11", "classes"},
    {"ParameterNotANumber", "preview shapes classes=many", "classes"},
    {"ParameterWithoutValue", "preview shapes classes", "command line: 'classes' is not key=value"},
    {"ParameterWithoutName", "preview shapes =3", "is not key=value"},
    {"ParameterTwice", "preview shapes classes=3 classes=4",
     "command line: classes is given twice, as '3' and as '4'"},
    {"OptionTwice", "digest shapes --count 1 --count 2",
     "command line: --count is given twice, as '1' and as '2'"},
    {"OldSpellingOfParameters", "preview shapes --param classes=3",
     "unknown option --param (settings follow the name, as in train)\n"
     "  write classes=3 without --param"},
    {"OtherSpellingOfParameters", "digest shapes --count 1 --set classes=3",
     "write classes=3 without --set"},
    {"NoCount", "export shapes --out a.npz", "--count is missing"},
    {"NoCountOfADigest", "digest shapes", "--count is missing"},
    {"SplitOfAGenerator", "digest shapes --count 1 --split eval",
     "--split cannot be used with the generator 'shapes'"},
    {"StepOfAGenerator", "preview shapes --step 3",
     "--step cannot be used with the generator 'shapes'"},
    {"NeitherGeneratorNorConfiguration", "export shpes --count 1 --out a.npz",
     "'shpes' is neither a generator nor a file (samples come from a generator, a "
     "configuration or a data set)\n  did you mean 'shapes'? known: calo_gflash, "},
    {"PictureInItsDataSet", "preview .", "the data set . reads all images there"},
    {"ConfigurationThatIsNotThere", "preview configs/nowhere.yaml", "configs/nowhere.yaml"},
    {"NoSamples", "export shapes --count 0 --out a.npz", "--count = 0 is out of range >= 1"},
    {"CountBelowZero", "digest shapes --count -1", "--count = -1 is out of range >= 1"},
    {"CountBeyondAllIntegers", "digest shapes --count 99999999999999999999",
     "--count = 99999999999999999999 is out of range [1, 9223372036854775807]"},
    {"CountThatIsNoNumber", "digest shapes --count many",
     "'--count' must be an integer, got 'many'"},
    {"FirstThatWouldWrap", "digest shapes --count 1 --first 18446744073709551616",
     "--first = 18446744073709551616 is out of range"},
    {"NegativeFirst", "digest shapes --count 1 --first -1", "--first = -1 is out of range >= 0"},
    {"NegativeSeed", "digest shapes --count 1 --seed -1", "--seed = -1 is out of range >= 0"},
    {"NoPixels", "digest shapes --count 1 --size 0", "--size = 0 is out of range [1, 16384]"},
    {"SizeOfEvents", "digest ee_mumu --count 1 --size 8",
     "--size cannot be used with the generator 'ee_mumu'"},
    {"FilterThatIsTooLong", "bench generators --filter " + std::string(50'000, '('),
     "--filter: the pattern has 50000 bytes (at most 256 are allowed)"},
    {"FilterOfParentheses",
     "bench generators --filter " + std::string(120, '(') + "nothing" + std::string(120, ')'),
     "no benchmark matches '(("},
    {"NoBatch", "digest shapes --count 1 --batch 0", "--batch = 0 is out of range [1, 1048576]"},
    {"ExportBeyondAnyDisk", "export shapes --count 1000000000000000000 --out a.npz",
     "is too large for a file"},
    {"PreviewBeyondAnyViewer", "preview shapes --count 1000000", "use a smaller --count or size"},
    {"PreviewThatIsNoPng", "preview shapes --out a.gif", ".png"},
    {"PreviewIntoNoFolder", "preview shapes --out no/such/a.png",
     "no/such/a.png: cannot create (no/such does not exist)", 1},
    {"ParametersThatContradict", "digest shapes scale_low=0.29 --count 1",
     "command line: shapes: scale_low = 0.29 is larger than scale_high = 0.28"},
    {"UnknownFormat", "export shapes --count 1 --out a.csv", ".npz"},
    {"FolderThatIsNotThere", "export shapes --count 1 --out no/such/a.npz", "no/such", 1},
    {"DeviceThatIsNotThere", "digest shapes --count 1 --device cuda:99", "cuda:99", 4},
    {"UnknownDevice", "digest shapes --count 1 --device tpu", "tpu"},
    {"UnknownBenchmark", "bench generators --filter nothing", "nothing"},
    {"SweepOfFixedThreads", "loadtest shapes --sweep --threads 2",
     "--sweep does not take a number of threads"},
    {"SweepOfAThreadSetting", "loadtest shapes --sweep threads=2",
     "--sweep does not take a number of threads"},
    {"BrokenFilter", "bench generators --filter (", "regular expression"},
};
INSTANTIATE_TEST_SUITE_P(Samples, RefusedCommand, testing::ValuesIn(kCommandRefusals),
                         [](const auto& test) { return test.param.what; });

}  // namespace
}  // namespace wellspring::test
