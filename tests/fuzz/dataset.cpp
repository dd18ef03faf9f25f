// Data sets of arrays, of CIFAR's binary records and of WebDataset shards. The first byte selects the kind, and the
// next two give the length of the first file. The rest is the second file: labels or class names.
#include "sources/datasets/dataset.h"

#include "sources/files/format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_rows.h"

namespace wellspring {
DatasetFormat cifar_format();
DatasetFormat npy_format();
DatasetFormat webdataset_format();
}  // namespace wellspring

using namespace wellspring;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder ten, hundred, arrays, shards;
  if (size < 3) return 0;
  const std::uint8_t kind = data[0];
  const std::string_view rest = fuzz::text_of({data + 3, size - 3});
  const std::size_t length = std::min<std::size_t>(data[1] | data[2] << 8, rest.size());
  const std::string_view first = rest.substr(0, length), second = rest.substr(length);
  const std::int64_t limit = kind & 4 ? 1 : 0;
  fuzz::refused_or([&] {
    if ((kind & 3) == 0) {
      ten.write("batches.meta.txt", second);
      const auto path = ten.write("data_batch_1.bin", first);
      fuzz::read_rows(*cifar_format().open({path, {}, {}, limit}));
    } else if ((kind & 7) == 7) {
      shards.write("classes.txt", second);
      std::vector<ParamSetting> settings = {{"label", kind & 8 ? "json.k" : "cls", {}}};
      if (kind & 16) settings.push_back({"classes", "classes.txt", {}});
      if (kind & 32) settings.push_back({"on_error", "skip", {}});
      fuzz::read_rows(*webdataset_format().open({shards.write("x.tar", first), settings}));
    } else if ((kind & 3) == 1) {
      hundred.write("fine_label_names.txt", second);
      hundred.write("coarse_label_names.txt", second);
      hundred.write("train.bin", first);
      fuzz::read_rows(*cifar_format().open(
          {hundred.path(), {{"labels", kind & 8 ? "coarse" : "fine", {}}}, {}, limit}));
    } else {
      const bool idx = first.starts_with(std::string_view("\0\0", 2)) || first.starts_with("\x1f");
      const auto path = arrays.write(idx ? "x-idx3-ubyte" : "x.npy", first);
      arrays.write("y.npy", second);
      std::vector<ParamSetting> settings;
      if (kind & 16)
        settings.push_back({kind & 32 ? "latents" : "labels", kind & 32 ? "[y.npy]" : "y.npy", {}});
      if (kind & 64) settings.push_back({"range", "0..1", {}});
      if (kind & 8) settings.push_back({"classes", "3", {}});
      fuzz::read_rows(*npy_format().open({path, settings, {}, limit}));
    }
  });
  return 0;
}
