// checkpoint.json and the configuration in it.
#include "core/config/config_values.h"
#include "tests/fuzz/fuzz.h"
#include "train/checkpoint/checkpoint_header.h"

using namespace wellspring;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  static const auto weights = folder.write("model.safetensors", "weights");
  folder.write(kCheckpointHeaderFile, fuzz::text_of({data, size}));
  fuzz::refused_or([&] {
    const CheckpointHeader header = read_checkpoint_header(folder.path());
    fuzz::refused_or([&] { check_digest(weights, header); });
    (void)config_differences(header.identity, "train:\n  steps: 20\n");
  });
  return 0;
}
