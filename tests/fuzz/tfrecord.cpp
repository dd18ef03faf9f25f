// TFRecord files and the examples in them. The first byte selects settings. The rest is one record, which gets correct
// checksums, or (if the first byte is odd) a file.
#include "sources/files/tfrecord.h"

#include "core/io/crc32c.h"
#include "sources/files/format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_rows.h"

namespace wellspring {
DatasetFormat tfrecord_format();
}  // namespace wellspring

using namespace wellspring;

namespace {

std::string framed(std::string_view record) {
  std::string file;
  append_number(file, static_cast<std::uint64_t>(record.size()));
  append_number(file, masked_crc(crc32c(bytes_of(std::string_view(file)))));
  file += record;
  append_number(file, masked_crc(crc32c(bytes_of(record))));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text_of({data + 1, size - 1});
  fuzz::refused_or([&] {
    for (const auto& [name, feature] : parse_example(bytes_of(rest), "x"))
      fuzz::expect(feature.begin <= rest.size() && feature.bytes <= rest.size() - feature.begin,
                   "a value is inside its record");
  });
  std::vector<ParamSetting> settings;
  if (data[0] & 2) settings.push_back({"label", "l", {}});
  if (data[0] & 4) settings.push_back({"on_error", "skip", {}});
  const auto path = folder.write("x.tfrecord", data[0] & 1 ? std::string(rest) : framed(rest));
  fuzz::refused_or([&] { fuzz::read_rows(*tfrecord_format().open({path, settings})); });
  return 0;
}
