// NumPy's array files: one array, or a stored or compressed archive of arrays.
#include "core/io/npy.h"

#include "tests/fuzz/fuzz.h"

using namespace wellspring;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  const auto path = folder.write("x.npy", fuzz::text_of({data, size}));
  const auto expect_array = [](const NpyArray& array) {
    fuzz::expect(array.data.size() == array.spec.bytes(), "an array has the bytes of its shape");
  };
  fuzz::refused_or([&] { expect_array(read_npy(path)); });
  fuzz::refused_or([&] {
    for (const std::string& member : npz_members(path)) {
      const std::string name =
          member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member;
      fuzz::refused_or([&] { expect_array(read_npz(path, name)); });
    }
  });
  return 0;
}
