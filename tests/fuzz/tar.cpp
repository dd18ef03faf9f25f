// The index of a tar archive: every file in it must be readable.
#include "sources/files/tar.h"

#include "tests/fuzz/fuzz.h"

using namespace wellspring;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  const auto path = folder.write("x.tar", fuzz::text_of({data, size}));
  fuzz::refused_or([&] {
    const InputFile file(path);
    std::uint64_t listed = 0;
    for (const TarMember& member : read_tar_index(file)) {
      fuzz::expect(!member.path.empty() && !member.path.starts_with('/'), "paths are relative");
      if (member.kind != TarMemberKind::file) continue;
      fuzz::expect(member.bytes <= file.size() && member.offset <= file.size() - member.bytes,
                   "a member is inside its archive");
      if (++listed > 64) continue;  // many links to one large member would take long
      std::vector<std::byte> bytes(member.bytes);
      file.read(member.offset, bytes);
    }
  });
  return 0;
}
