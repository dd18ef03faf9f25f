// Labelled image files as a source: kept on the device when they fit, streamed otherwise. Called by
// the mixture; host only.
#pragma once

#include "sources/files/decode_ring.h"
#include "sources/files/image_loader.h"
#include "sources/files/image_set.h"
#include "sources/files/stored_images.h"
#include "sources/source.h"
#include "sources/source_spec.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

class FileSource final : public Source {
 public:
  /// Lists the files and looks at the first; with on_error: skip, decodes every one once. load()
  /// then decodes all that stay resident; of streamed ones it reads the headers, which tell all but
  /// damaged pixels. Those end the run at the step that needs them.
  FileSource(const SourceSpec& spec, const SourceContext& context);

  const std::string& name() const override { return spec_.name; }
  SampleLayout layout() const override { return SampleLayout::image(rules_.shape); }
  const std::vector<std::string>& classes() const override { return set_.classes(); }
  const std::vector<std::string>& latent_names() const override { return latent_names_; }
  std::uint64_t size() const override { return static_cast<std::uint64_t>(set_.size()); }
  std::uint64_t first_evaluation_sample() const override { return 0; }
  std::string summary() const override;
  void plan(MemoryPlan& plan, std::int64_t batch_size) override;
  void load(Stream& stream) override;
  Order order() const override;
  void emit(Stream& stream, const Slot* slots, std::uint32_t index,
            const BatchView& batch) override;
  void emit_range(Stream& stream, const Slot* slots, std::uint32_t index, std::uint64_t first,
                  std::int64_t count, const BatchView& batch) override;
  void start(const SlotAssignment& assignment, std::uint32_t index) override;
  void before_step(Stream& stream, std::uint64_t step) override;
  void after_step(Stream& stream, std::uint64_t step) override;

  bool is_resident() const { return resident_; }
  const ImageSet& images() const { return set_; }
  /// Files left out by on_error: skip.
  std::int64_t skipped() const { return skipped_; }

 private:
  void skip_damaged();
  std::int64_t row_bytes() const { return rules_.shape.elements(); }
  StoredImages stored(const std::uint8_t* pixels, std::int64_t ring_rows) const;
  void load_labels(Stream& stream);
  void load_resident(Stream& stream);
  void check_streamed();

  SourceSpec spec_;
  SourceContext context_;
  int threads_;
  ImageSet set_;
  ImageRules rules_;
  std::vector<std::string> latent_names_;  ///< none
  std::int64_t skipped_ = 0;
  std::string first_skipped_;

  Device device_;
  bool resident_ = true;
  std::uint64_t budget_bytes_ = 0;
  std::int64_t batch_ = 0, ring_rows_ = 0;
  Planned<std::uint8_t> pixels_;   ///< all images, or the ring
  Planned<std::uint8_t> staging_;  ///< page-locked: the ring's other half, or pieces of an upload
  Planned<std::int32_t> labels_;   ///< [images]
  Planned<std::uint8_t> range_pixels_, range_staging_;  ///< streamed: a batch of evaluation

  std::unique_ptr<DecodeRing> ring_;
  std::unique_ptr<Event> range_copied_;
};

}  // namespace wellspring
