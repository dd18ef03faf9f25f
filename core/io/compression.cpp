#include "core/io/compression.h"

#include "core/error.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace wellspring {
namespace {

struct CodecRow {
  std::string_view name;
  Codec codec;
  int level, most;  ///< the default and the highest level; 0: the codec has no levels
};

constexpr CodecRow kCodecs[] = {
    {"none", Codec::none, 0, 0},
    {"gzip", Codec::gzip, 4, 9},
    {"lz4", Codec::lz4, 0, 0},
    {"zstd", Codec::zstd, 3, 19},
};

}  // namespace

Compression compression_from_text(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto* row =
      std::ranges::find(kCodecs, std::string_view(text).substr(0, colon), &CodecRow::name);
  const auto refuse = [&text](const std::string& why) {
    fail(ErrorKind::config, {fmt::format("unknown compression '{}'", printable(text)), why,
                             "known: none, lz4, gzip[:1 to 9], zstd[:1 to 19]"});
  };
  if (row == std::end(kCodecs)) refuse("");
  Compression compression{row->codec, row->level};
  if (colon == text.size()) return compression;
  compression.level = parse_number<int>(std::string_view(text).substr(colon + 1)).value_or(0);
  if (compression.level < 1 || compression.level > row->most)
    refuse(row->most == 0 ? fmt::format("{} has no levels", row->name)
                          : fmt::format("levels of {} are 1 to {}", row->name, row->most));
  return compression;
}

std::string to_text(const Compression& compression) {
  const auto* row = std::ranges::find(kCodecs, compression.codec, &CodecRow::codec);
  return row->most == 0 ? std::string(row->name)
                        : fmt::format("{}:{}", row->name, compression.level);
}

}  // namespace wellspring
