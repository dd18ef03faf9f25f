// A safetensors file: every tensor in its header must be readable and no larger than the file. The
// same file, read as a model, must have heads with consecutive outputs.
#include "core/io/safetensors.h"

#include "tests/fuzz/fuzz.h"
#include "train/checkpoint/model_file.h"

using namespace wellspring;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder;
  const auto path = folder.write("x.safetensors", fuzz::text_of({data, size}));
  fuzz::refused_or([&] {
    const SafetensorsFile file(path);
    for (const TensorInfo& tensor : file.tensors()) {
      fuzz::expect(tensor.bytes <= size, "a tensor is inside its file");
      std::vector<std::byte> bytes(tensor.bytes);
      file.read(tensor, bytes);
      fuzz::expect(file.find(tensor.name) != nullptr, "a tensor is found by its name");
    }
    fuzz::refused_or([&] { (void)file.tensor("weight"); });
    file.verify();
  });
  fuzz::refused_or([&] {
    const ModelFile model(path);
    if (!model.description()) return;
    std::int32_t outputs = 0;
    for (const HeadSpec& head : model.description()->heads) {
      fuzz::expect(head.begin == outputs, "a head begins after the previous one");
      outputs += head.outputs();
    }
  });
  return 0;
}
