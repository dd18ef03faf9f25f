// What makes a Generator of a functor: parameters, checks, tables and launches, the same for all of
// them. Used by the registry's rows and by tests of single generators; host only.
//
// Besides what its form of emission asks of it (kernels/emission: pixels.h, tiles.h, canvas.h,
// field_stage.h, events.h), a generator's functor F has
//
//     struct Params;                                        plain, defaults as initialisers
//     static const ParamTable<Params>& table();
//     static SampleInfo describe(const Params&);            but for the layout of an image
//     explicit F(const Params&);                            derived constants; may fail (config)
//     double best_accuracy() const;                         optional
//     std::vector<std::string> notes(SampleShape) const;    optional: what plan() tells the user
//     static std::unique_ptr<Generator> instead(const Params&, SampleShape);
//                                                           optional: for parameters that another
//                                                           functor serves, its generator, or null
//
// and, where it reads tables in device memory,
//
//     class Tables;  explicit Tables(const Params&);        host object
//     std::vector<std::string> Tables::prepare(TableCache&) computes or fetches; returns notes
//     void Tables::plan(MemoryPlan&);
//     void Tables::load(Stream&);
//     void Tables::bind(F&) const;                          sets F's pointers, after load
//     const std::vector<std::string>& Tables::notes();      optional: after plan, as those of
//     prepare
#pragma once

#include "core/config/params.h"
#include "core/error.h"
#include "generators/generator.h"
#include "generators/table_cache.h"
#include "kernels/emission/emitter.h"
#include "kernels/random/philox.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace wellspring {

namespace detail {
/// Errors (runtime) unless `batch` fits what the generator makes.
void expect_batch(const SampleInfo& info, const BatchView& batch);
/// Error (config) unless `size` is a sensible side of an image.
void expect_size(const std::string& name, int size);
/// Error (config) unless `plan` does nothing.
void expect_no_augmentation(const std::string& name, const AugmentationPlan& plan);
/// How latents in this order move with pictures of one shape.
LatentRoles latent_roles(const std::vector<LatentInfo>& latents, SampleShape shape);

template <class F>
concept ReadsTables = requires {
  typename F::Tables;
};

struct NoTables {};
template <class F>
auto tables_of() {
  if constexpr (ReadsTables<F>) {
    return std::type_identity<std::unique_ptr<typename F::Tables>>{};
  } else {
    return std::type_identity<NoTables>{};
  }
}
}  // namespace detail

template <class F>
class FunctorGenerator final : public Generator {
  static_assert(std::is_trivially_copyable_v<F>, "a functor is copied to the device");

 public:
  /// `shape`: of an image; ignored for events. Errors: config.
  FunctorGenerator(const typename F::Params& params, SampleShape shape)
      : params_(params), functor_(params), info_(F::describe(params)) {
    if constexpr (MakesEvents<F>) {
      info_.layout = functor_.layout();
    } else {
      detail::expect_size(info_.name, shape.height);
      detail::expect_size(info_.name, shape.width);
      info_.layout = SampleLayout::image(shape);
    }
    // Those described: a functor has room for the most that any of its parameters ask for.
    info_.layout.latents = static_cast<int>(info_.latents.size());
    info_.layout.targets = detail::targets_of<F>();
    if constexpr (detail::labels_of<F>() > 0) {
      for (const std::string& name : info_.classes) info_.targets.push_back({name, ""});
      info_.layout.targets = static_cast<int>(info_.targets.size());
    }
    if constexpr (requires { functor_.best_accuracy(); }) {
      info_.best.push_back({"accuracy", functor_.best_accuracy()});
    }
  }

  static std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, int size) {
    const typename F::Params params = F::table().read(settings);
    const SampleShape shape = {size, size, 3};
    if constexpr (requires { F::instead(params, shape); }) {
      if (std::unique_ptr<Generator> other = F::instead(params, shape)) return other;
    }
    return std::make_unique<FunctorGenerator>(params, shape);
  }

  const SampleInfo& info() const override { return info_; }
  std::string parameters_yaml() const override { return F::table().to_yaml(params_); }
  const std::vector<std::string>& notes() const override { return notes_; }

  void plan(MemoryPlan& memory, std::int64_t rows, DenseTruth dense) override {
    if (dense == DenseTruth::plane) expect_plane(info_);
    notes_.clear();
    const auto note = [&](const std::vector<std::string>& more) {
      notes_.insert(notes_.end(), more.begin(), more.end());
    };
    if constexpr (detail::ReadsTables<F>) {
      if (!tables_) {
        tables_ = std::make_unique<typename F::Tables>(params_);
        TableCache cache;
        table_notes_ = tables_->prepare(cache);
      }
      tables_->plan(memory);
      note(table_notes_);
      if constexpr (requires { tables_->notes(); }) note(tables_->notes());
    }
    if constexpr (requires { functor_.notes(SampleShape{}); }) {
      note(functor_.notes(info_.layout.shape()));
    }
    emitter_.plan(memory, info_.name, rows, functor_, info_.layout.shape());
    if (dense == DenseTruth::plane)
      plane_.plan(memory, plane_name(), rows, functor_, info_.layout.shape());
  }

  void load([[maybe_unused]] Stream& stream) override {
    if constexpr (detail::ReadsTables<F>) {
      tables_->load(stream);
      tables_->bind(functor_);
    }
  }

  void emit(Stream& stream, const EmitCall& call) override {
    detail::expect_batch(info_, call.batch);
    if constexpr (MakesEvents<F>) {
      detail::expect_no_augmentation(info_.name, call.augmentation);
    }
    EmitCall keyed = call;
    keyed.seed = named_key(call.seed, info_.name);
    keyed.roles = detail::latent_roles(info_.latents, info_.layout.shape());
    emitter_.emit(stream, info_.name, functor_, info_.layout.shape(), keyed);
    plane_.emit(StreamLauncher{stream}, plane_name(), functor_, info_.layout.shape(), keyed);
  }

 private:
  std::string plane_name() const { return info_.name + " plane"; }

  typename F::Params params_;
  F functor_;
  SampleInfo info_;
  Emitter<F> emitter_;
  [[no_unique_address]] PlaneEmitter<F> plane_;
  [[no_unique_address]] typename decltype(detail::tables_of<F>())::type tables_;
  std::vector<std::string> table_notes_, notes_;
};

/// The registry's row for a functor.
template <class F>
GeneratorEntry generator_entry() {
  const SampleInfo info = F::describe({});
  SampleKind kind = SampleKind::image;
  if constexpr (MakesEvents<F>) kind = F(typename F::Params{}).layout().kind;
  return {info.name,
          info.version,
          kind,
          HasPlane<F>,
          info.summary,
          F::table().rows(),
          &FunctorGenerator<F>::make};
}

}  // namespace wellspring
