// Data sets of named arrays: events, sets, showers, jets and pulses. The input is not the archive
// itself, whose checksums and headers hardly any mutation would survive (the fuzzer npy covers
// them). Its first byte selects how the file is read. Then each array has one byte for its name,
// one for its type, one for its number of dimensions (up to 3), one for each extent, and then its
// numbers; the text `metadata` has a byte for the name and two for the length. HDF5's library is
// not fuzzed; its arrays take the same path once they have been read.
#include "core/io/npy.h"
#include "sources/datasets/dataset.h"
#include "sources/files/format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_rows.h"

#include <array>
#include <set>
#include <vector>

namespace wellspring {
DatasetFormat npz_format();
}  // namespace wellspring

using namespace wellspring;

namespace {

constexpr std::array<const char*, 20> kNames = {"x",
                                                "offsets",
                                                "label",
                                                "globals",
                                                "latents",
                                                "target",
                                                "weight",
                                                "metadata",
                                                "showers",
                                                "incident_energies",
                                                "jet_features",
                                                "particle_features",
                                                "first_pulse_index",
                                                "last_pulse_index",
                                                "time",
                                                "sensor_id",
                                                "charge",
                                                "auxiliary",
                                                "sensor_geometry",
                                                "azimuth"};

constexpr std::array<const char*, 14> kTypes = {"<f4", "<i8", "<i4", "|u1", "<f8", "|b1", "<f2",
                                                "<i2", "<u4", "|i1", "<u2", ">f4", ">i8", "<u8"};

/// Takes bytes from the front of an input; returns zeros after the end.
class Remaining {
 public:
  explicit Remaining(fuzz::Input input) : input_(input) {}
  bool empty() const { return input_.empty(); }
  std::string take(std::size_t count) {
    const fuzz::Input part = input_.first(std::min(count, input_.size()));
    input_ = input_.subspan(part.size());
    std::string bytes(fuzz::text_of(part));
    bytes.resize(count, '\0');
    return bytes;
  }
  std::size_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }

 private:
  fuzz::Input input_;
};

/// A complete .npy file.
std::string next_array(Remaining& input) {
  const std::string type = kTypes[input.byte() % kTypes.size()];
  std::vector<std::int64_t> shape(input.byte() % 4);
  std::size_t bytes = static_cast<std::size_t>(type[2] - '0');
  for (std::int64_t& extent : shape) {
    extent = static_cast<std::int64_t>(input.byte() % 32);
    bytes *= static_cast<std::size_t>(extent);
  }
  std::string file = npy_header({ElementType::f32, shape});
  file.replace(file.find("<f4"), 3, type);
  return file + input.take(bytes);
}

/// The arrays of the input; if several have the same name, only the first.
void write_archive(const std::filesystem::path& path, Remaining input) {
  NpzWriter archive(path);
  std::set<std::string> written;
  while (!input.empty()) {
    const std::string name = kNames[input.byte() % kNames.size()];
    std::string file;
    if (name == "metadata") {
      const std::size_t low = input.byte(), high = input.byte() % 4;
      file = npy_text(input.take(low + 256 * high));
    } else {
      file = next_array(input);
    }
    if (written.insert(name).second) archive.add_file(name + ".npy", bytes_of(file));
  }
  archive.commit();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  if (size == 0) return 0;
  const auto path = folder.path() / "x.npz";
  const std::uint8_t kind = data[0];
  std::vector<ParamSetting> settings;
  if (kind & 1) settings.push_back({"items", "3", {}});
  if (kind & 2) settings.push_back({"latents", "[azimuth, target]", {}});
  if (kind & 4) settings.push_back({"unit", "GeV", {}});
  if (kind & 8) settings.push_back({"length_unit", "100", {}});
  if (kind & 16) settings.push_back({"layout", "columns", {}});
  if (kind & 64) settings.push_back({"range", "-1..1", {}});
  if (kind & 128) settings.push_back({"channels", "first", {}});
  fuzz::refused_or([&] {
    write_archive(path, Remaining(fuzz::Input(data, size).subspan(1)));
    fuzz::read_rows(*npz_format().open({path, settings, {}, kind & 32 ? 1 : 0}));
  });
  return 0;
}
