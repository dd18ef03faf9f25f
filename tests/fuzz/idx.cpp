// IDX files and their labels, as they are or compressed in gzip members. The first byte selects the
// kind, and the next two give the length of the images. The rest is the file of labels.
#include "sources/files/format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_rows.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {
DatasetFormat idx_format();
}

using namespace wellspring;

namespace {

/// One gzip member.
std::string compressed(std::string_view bytes) {
  z_stream stream = {};
  fuzz::expect(deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib starts");
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  fuzz::expect(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib ends");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  if (size < 3) return 0;
  const std::uint8_t kind = data[0];
  const std::string_view rest = fuzz::text_of({data + 3, size - 3});
  const std::size_t length = std::min<std::size_t>(data[1] | data[2] << 8, rest.size());
  const std::string_view images = rest.substr(0, length), labels = rest.substr(length);
  const std::string end = kind & 3 ? ".gz" : "";
  const auto stored = [&](std::string_view bytes) {
    if ((kind & 3) == 0) return std::string(bytes);
    if ((kind & 3) == 1) return compressed(bytes);
    const std::size_t cut = bytes.size() / 3;
    std::string members = compressed(bytes.substr(0, cut)) + compressed(bytes.substr(cut));
    if ((kind & 3) == 3) members.pop_back();  // truncated
    return members;
  };
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::remove(file.path());
  const auto path = folder.write("x-images-idx3-ubyte" + end, stored(images));
  folder.write("x-labels-idx1-ubyte" + end, stored(labels));
  std::vector<ParamSetting> settings;
  if (kind & 4) settings.push_back({"labels", "x-labels-idx1-ubyte" + end, {}});
  if (kind & 8) settings.push_back({"classes", "3", {}});
  if (kind & 16) settings.push_back({"range", "0..1", {}});
  const std::int64_t limit = kind & 32 ? 1 : 0;
  fuzz::refused_or([&] { fuzz::read_rows(*idx_format().open({path, settings, {}, limit})); });
  return 0;
}
