// A source that reads a data set. Its rows are resident on the device if they fit; otherwise they
// are streamed. Created by make_source; host only.
#pragma once

#include "kernels/augment/augmentation_passes.h"
#include "kernels/emission/emitter.h"
#include "sources/datasets/dataset.h"
#include "sources/datasets/row_ring.h"
#include "sources/datasets/stored_rows.h"
#include "sources/row_scaler.h"
#include "sources/source.h"
#include "sources/source_spec.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

class DatasetSource final : public Source {
 public:
  /// Opens `spec.path`. load() then reads all resident rows; for streamed rows it checks everything
  /// except decoding. A later error ends the run at the step that needs the row.
  DatasetSource(const SourceSpec& spec, const SourceContext& context);

  const std::string& name() const override { return spec_.name; }
  SampleLayout layout() const override { return layout_; }
  const std::vector<std::string>& classes() const override { return data_->classes(); }
  const std::vector<std::string>& latent_names() const override { return latent_names_; }
  const Dataset* rows() const override { return data_.get(); }
  std::uint64_t size() const override { return static_cast<std::uint64_t>(data_->size()); }
  std::uint64_t first_evaluation_sample() const override { return 0; }
  std::string summary() const override;
  void normalise(const Normalisation& values) override;
  void plan(MemoryPlan& plan, const Share& share) override;
  void load(Stream& stream) override;
  Order order() const override;
  void emit(Stream& stream, const Slot* slots, std::uint32_t index,
            const BatchView& batch) override;
  void emit_range(Stream& stream, const Slot* slots, std::uint32_t index, std::uint64_t first,
                  std::int64_t count, const BatchView& batch) override;
  void start(const SlotAssignment& assignment, std::uint32_t index) override;
  bool streams() const override { return !resident_; }
  void before_step(Stream& stream, std::uint64_t step, std::uint64_t count) override;
  void after_step(Stream& stream, std::uint64_t step, std::uint64_t count) override;

 private:
  std::int64_t row_bytes() const { return data_->layout().bytes(); }
  /// Reports progress before the first step: `doing` ("reading") and the number of rows done.
  void tell(const char* doing, std::int64_t done) const;
  /// Plans the augmentation of images.
  void plan_images();
  void emit_rows(Stream& stream, const StoredRows& rows, const AugmentationPlan& plan,
                 const Slot* slots, std::uint32_t index, const BatchView& batch);
  /// Adds the configured cache of streamed rows.
  void cache_streamed();
  /// A text that differs between the caches of a run.
  std::string cache_key() const;
  void load_truth(Stream& stream);
  /// Loads latents or targets: `read` writes one row of them.
  void load_columns(Stream& stream, const Planned<float>& columns,
                    void (Dataset::*read)(std::int64_t, float*) const);
  /// The rows at `bytes`, with the labels, latents and targets of all rows.
  StoredRows stored(const std::uint8_t* bytes, std::int64_t period) const;
  void load_resident(Stream& stream);
  void check_streamed();

  SourceSpec spec_;
  SourceContext context_;
  int threads_;
  std::unique_ptr<Dataset> data_;
  const CachedRows* cached_ = nullptr;  ///< data_, if it is cached
  SampleLayout layout_;
  AugmentationPlan training_, evaluation_;  ///< images only
  RowScaler scaler_;                        ///< events and sets only
  std::vector<std::string> latent_names_;

  Device device_;
  bool resident_ = true;
  std::uint64_t budget_bytes_ = 0;
  Share share_;
  std::int64_t ring_rows_ = 0;
  Planned<std::int32_t> places_, staging_places_;  ///< ring rows; used if ranks share the batch
  Emitter<StoredImages> emitter_;                  ///< images only
  AugmentationPasses passes_;                      ///< training only
  Planned<std::uint8_t> rows_;                     ///< all rows, or the ring
  Planned<std::uint8_t> staging_;  ///< page-locked: the ring's host copy, or parts of an upload
  Planned<std::int32_t> labels_;   ///< [size]
  Planned<float> latents_;         ///< [size, latents], if there are any
  Planned<float> targets_;         ///< [size, targets], if there are any
  Planned<std::byte> held_;        ///< arrays that cannot be read in place
  Planned<std::uint8_t> range_rows_, range_staging_;  ///< streamed: an evaluation batch

  std::unique_ptr<RowRing> ring_;
  std::unique_ptr<Event> range_copied_;
};

}  // namespace wellspring
