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
//     static std::unique_ptr<Generator> instead(const Params&, SampleShape, const Generators&);
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

/// Error (config): its samples have no plane of truth.
[[noreturn]] void refuse_plane(const SampleInfo& info, const std::string& advice);

/// What the type of a functor says about its truth.
struct FunctorTruth {
  bool is_event = false;
  int targets = 0, labels = 0;
};

/// What all generators of functors have in common.
class FunctorGeneratorBase : public Generator {
 public:
  const SampleInfo& info() const final { return info_; }
  const std::vector<std::string>& notes() const final { return notes_; }
  void plan(MemoryPlan& memory, std::int64_t rows, DenseTruth dense) final;
  void emit(Stream& stream, const EmitCall& call) final;

 protected:
  /// `info`: all but the layout. Errors: config.
  FunctorGeneratorBase(SampleInfo info, const SampleLayout& layout, const FunctorTruth& truth);

  /// Reserves what emission needs. `roles`: how the latents move with the picture.
  virtual void plan_emission(MemoryPlan& memory, std::int64_t rows, DenseTruth dense,
                             const LatentRoles& roles) = 0;
  /// Enqueues the launches. The seed of `call` is the generator's own key.
  virtual void enqueue(Stream& stream, const EmitCall& call) const = 0;

  void note(const std::vector<std::string>& more);
  void know_accuracy(double best) { info_.best.push_back({"accuracy", best}); }
  std::string plane_name() const { return info_.name + " plane"; }

 private:
  SampleInfo info_;
  std::vector<std::string> notes_;
  bool is_event_ = false;
};

/// Layout of what a functor makes: `shape` is that of an image.
template <class F>
SampleLayout layout_of([[maybe_unused]] const F& functor, [[maybe_unused]] SampleShape shape) {
  if constexpr (MakesEvents<F>) {
    return functor.layout();
  } else {
    return SampleLayout::image(shape);
  }
}

}  // namespace detail

template <class F>
class FunctorGenerator final : public detail::FunctorGeneratorBase {
  static_assert(std::is_trivially_copyable_v<F>, "a functor is copied to the device");

 public:
  /// `shape`: of an image; ignored for events. Errors: config.
  FunctorGenerator(const typename F::Params& params, SampleShape shape)
      : FunctorGenerator(params, shape, F(params)) {}

  static std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, int size,
                                         [[maybe_unused]] const Generators& others) {
    const typename F::Params params = F::table().read(settings);
    const SampleShape shape = {size, size, 3};
    if constexpr (requires { F::instead(params, shape, others); }) {
      if (std::unique_ptr<Generator> other = F::instead(params, shape, others)) return other;
    }
    return std::make_unique<FunctorGenerator>(params, shape);
  }

  std::string parameters_yaml() const override { return F::table().to_yaml(params_); }

  void load([[maybe_unused]] Stream& stream) override {
    if constexpr (detail::ReadsTables<F>) {
      tables_->load(stream);
      tables_->bind(functor_);
    }
  }

 private:
  FunctorGenerator(const typename F::Params& params, SampleShape shape, const F& functor)
      : FunctorGeneratorBase(F::describe(params), detail::layout_of(functor, shape),
                             {MakesEvents<F>, detail::targets_of<F>(), detail::labels_of<F>()}),
        params_(params),
        functor_(functor) {
    if constexpr (requires { functor_.best_accuracy(); }) know_accuracy(functor_.best_accuracy());
  }

  void plan_emission(MemoryPlan& memory, std::int64_t rows, DenseTruth dense,
                     const LatentRoles& roles) override {
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
    const SampleShape shape = info().layout.shape();
    if constexpr (requires { functor_.notes(shape); }) note(functor_.notes(shape));
    emitter_.plan(memory, info().name, rows, functor_, shape, roles);
    if (dense == DenseTruth::plane) plane_.plan(memory, plane_name(), rows, functor_, shape);
  }

  void enqueue(Stream& stream, const EmitCall& call) const override {
    const SampleShape shape = info().layout.shape();
    emitter_.emit(stream, info().name, functor_, shape, call);
    plane_.emit(StreamLauncher{stream}, plane_name(), functor_, shape, call);
  }

  typename F::Params params_;
  F functor_;
  Emitter<F> emitter_;
  [[no_unique_address]] PlaneEmitter<F> plane_;
  [[no_unique_address]] typename decltype(detail::tables_of<F>())::type tables_;
  std::vector<std::string> table_notes_;
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
