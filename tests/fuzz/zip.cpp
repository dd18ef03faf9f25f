// Zip archives: the directory, and the content of every member.
#include "core/io/zip_directory.h"
#include "sources/files/zip_member.h"
#include "tests/fuzz/fuzz.h"

using namespace wellspring;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  const auto path = folder.write("x.zip", fuzz::text_of({data, size}));
  fuzz::refused_or([&] {
    const InputFile file(path);
    std::uint64_t read = 0;
    for (const ZipEntry& entry : read_zip_directory(file)) {
      if (++read > 64) break;  // many names for one large member would take long
      std::vector<std::uint8_t> bytes;
      read_zip_member(file, entry, "x.zip: " + entry.name, bytes);
      fuzz::expect(bytes.size() == entry.size, "a member is whole");
    }
  });
  return 0;
}
