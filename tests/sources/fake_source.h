// A source without a generator or files: x, label and latents encode the slot they come from, so
// that tests can check which source filled a row. Tests only; host only.
#pragma once

#include "kernels/runtime/launch.h"
#include "kernels/runtime/macros.h"
#include "sources/source.h"

#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {

struct SpellSlots {
  const Slot* slots;
  std::uint32_t index;
  BatchView batch;
  int latents;
  float sign;  ///< 1 in the training view, -1 in the evaluation view
  WS_HD void operator()(std::int64_t row) const {
    const Slot slot = slots[row];
    if (slot.source != index) return;
    float* const x = static_cast<float*>(batch.x) + row * batch.layout.elements();
    for (std::int64_t i = 0; i < batch.layout.elements(); ++i) {
      x[i] = sign * static_cast<float>(slot.sample);
    }
    batch.label[row] = static_cast<std::int32_t>(slot.ordinal % 1000);
    batch.weight[row] = 1;
    for (int i = 0; i < latents; ++i) {
      batch.latents[row * batch.layout.latents + i] = static_cast<float>(index + 1);
    }
  }
};

class FakeSource final : public Source {
 public:
  struct Traits {
    std::vector<std::string> classes = {"a", "b"};
    std::uint64_t size = 0;
    int latents = 0;
    SampleShape shape = {1, 1, 1};
    SampleKind kind = SampleKind::image;  ///< events have `channels` features, sets `width` items
  };
  FakeSource(std::string name, Traits traits) : name_(std::move(name)), traits_(std::move(traits)) {
    for (int i = 0; i < traits_.latents; ++i) latent_names_.push_back("latent" + std::to_string(i));
  }

  const std::string& name() const override { return name_; }
  SampleLayout layout() const override {
    SampleLayout layout = SampleLayout::image(traits_.shape);
    if (traits_.kind == SampleKind::event) layout = SampleLayout::event(traits_.shape.channels);
    if (traits_.kind == SampleKind::set)
      layout = SampleLayout::set(traits_.shape.width, traits_.shape.channels);
    layout.latents = traits_.latents;
    return layout;
  }
  const std::vector<std::string>& classes() const override { return traits_.classes; }
  const std::vector<std::string>& latent_names() const override { return latent_names_; }
  std::uint64_t size() const override { return traits_.size; }
  std::uint64_t first_evaluation_sample() const override { return traits_.size == 0 ? 5000 : 0; }
  std::string summary() const override { return name_; }
  Order order() const override { return {.size = traits_.size, .seed = 77}; }
  void emit(Stream& stream, const Slot* slots, std::uint32_t index,
            const BatchView& batch) override {
    map(stream, "spell slots", batch.size, SpellSlots{slots, index, batch, traits_.latents, 1});
  }
  void emit_range(Stream& stream, const Slot* slots, std::uint32_t index, std::uint64_t,
                  std::int64_t, const BatchView& batch) override {
    map(stream, "spell slots", batch.size, SpellSlots{slots, index, batch, traits_.latents, -1});
  }

 private:
  std::string name_;
  Traits traits_;
  std::vector<std::string> latent_names_;
};

}  // namespace wellspring::test
