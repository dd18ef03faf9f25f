// A generator as a source: new samples every step, never repeated. Called by mixtures; host only.
#pragma once

#include "generators/generator.h"
#include "kernels/augment/augmentation_passes.h"
#include "sources/row_scaler.h"
#include "sources/source.h"

#include <memory>
#include <string>
#include <vector>

namespace wellspring {

class ProceduralSource final : public Source {
 public:
  /// Training uses ids starting at 0, evaluation ids starting here. No run reaches 2^48 samples (at
  /// ten million per second it would take eleven months), so the two never meet.
  static constexpr std::uint64_t kFirstEvaluationSample = std::uint64_t{1} << 48;

  struct Settings {
    std::uint64_t seed = 0;
    AugmentationPlan training, evaluation;  ///< for images of the generator's size
    DenseLabels dense = DenseLabels::none;  ///< none if the generator has no dense labels
    std::uint32_t repeats = 1;              ///< see SampleOrder
    bool luma = false;                      ///< images with one channel, from colours
    Normalisation normalisation = {};       ///< scaling of events and sets
  };
  ProceduralSource(std::string name, std::unique_ptr<Generator> generator, Settings settings);

  const Generator& generator() const { return *generator_; }

  const std::string& name() const override { return name_; }
  SampleLayout layout() const override;
  void plan(MemoryPlan& memory, const Share& share) override;
  void load(Stream& stream) override {
    generator_->load(stream);
    scaling_.load(stream);
  }
  void normalise(const Normalisation& values) override { settings_.normalisation = values; }
  std::vector<std::string> notes() const override { return generator_->notes(); }
  const std::vector<std::string>& classes() const override { return generator_->info().classes; }
  const std::vector<std::string>& latent_names() const override { return latent_names_; }
  std::uint64_t size() const override { return 0; }
  std::uint64_t first_evaluation_sample() const override { return kFirstEvaluationSample; }
  std::string summary() const override;
  Order order() const override { return {.seed = settings_.seed, .repeats = settings_.repeats}; }
  void emit(Stream& stream, const Slot* slots, std::uint32_t index,
            const BatchView& batch) override {
    emit(stream, slots, index, batch, nullptr);
  }
  /// The same with given latents, see EmitCall.
  void emit(Stream& stream, const Slot* slots, std::uint32_t index, const BatchView& batch,
            const float* latents);
  void emit_range(Stream& stream, const Slot* slots, std::uint32_t index, std::uint64_t first,
                  std::int64_t count, const BatchView& batch) override;

 private:
  std::string name_;
  std::unique_ptr<Generator> generator_;
  Settings settings_;
  AugmentationPasses passes_;  ///< passes of training batches
  ScalingPass scaling_;        ///< events and sets only
  std::vector<std::string> latent_names_;
};

}  // namespace wellspring
