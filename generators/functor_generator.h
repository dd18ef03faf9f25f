// Wraps a functor as a generator: parameters, checks, tables and launches common to all functors.
// Used by the rows of the registry and by tests of single generators; host only.
//
// In addition to the members that its form of emission requires (kernels/emission/forms.h), the
// functor F of a generator has
//
//     struct Params;                                        plain, defaults as initialisers
//     static const ParamTable<Params>& table();
//     static SampleInfo describe(const Params&);            without the layout of an image
//     explicit F(const Params&);                            derived constants; throws config errors
//
// and these hooks, if it names them in kHooks (sample_info.h):
//
//     double best_accuracy() const;
//     std::vector<std::string> notes(SampleShape) const;    notes from plan() to the user
//     static std::unique_ptr<Generator> instead(const Params&, SampleShape, const Generators&);
//                                                           the generator of another functor that
//                                                           serves these parameters, or null
//     class Tables;                                         tables in device memory:
//         explicit Tables(const Params&);                     host object
//         std::vector<std::string> prepare(TableCache&);      computes or fetches; returns notes
//         void plan(MemoryPlan&);
//         void load(Stream&);
//         void bind(F&) const;                                sets pointers of F; call after load
//         const std::vector<std::string>& notes();            with `.table_notes = true`: more
//                                                             notes, available after plan
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
constexpr GeneratorHooks hooks_of() {
  if constexpr (requires { F::kHooks; }) {
    return F::kHooks;
  } else {
    return {};
  }
}

template <class F>
concept ReadsTables = (hooks_of<F>().tables);

/// Checks that the functor has the hook if and only if kHooks names it.
#define WS_HOOK(named, member, ...)              \
  static_assert((named) == requires __VA_ARGS__, \
                "the hook " member " must be both in the functor and in kHooks")

template <class F>
constexpr bool check_hooks() {
  constexpr GeneratorHooks kHooks = hooks_of<F>();
  WS_HOOK(
      kHooks.best_accuracy, "best_accuracy()", (const F& f) { f.best_accuracy(); });
  WS_HOOK(
      kHooks.notes, "notes(SampleShape)", (const F& f, SampleShape shape) { f.notes(shape); });
  WS_HOOK(
      kHooks.instead, "instead(const Params&, SampleShape, const Generators&)",
      (const typename F::Params& params, SampleShape shape, const Generators& others) {
        F::instead(params, shape, others);
      });
  WS_HOOK(kHooks.tables, "Tables", { typename F::Tables; });
  if constexpr (kHooks.tables) {
    WS_HOOK(
        kHooks.table_notes, "Tables::notes()", (typename F::Tables & tables) { tables.notes(); });
  }
  return true;
}

#undef WS_HOOK

struct NoTables {};
template <class F>
auto tables_of() {
  if constexpr (ReadsTables<F>) {
    return std::type_identity<std::unique_ptr<typename F::Tables>>{};
  } else {
    return std::type_identity<NoTables>{};
  }
}

/// Throws a config error: samples of `info` have no dense labels.
[[noreturn]] void refuse_plane(const SampleInfo& info, const std::string& advice);

/// Truth columns of a functor type.
struct FunctorTruth {
  bool is_event = false;
  int targets = 0, labels = 0;
};

/// The part of FunctorGenerator that does not depend on the functor's type.
class FunctorGeneratorBase : public Generator {
 public:
  const SampleInfo& info() const final { return info_; }
  const std::vector<std::string>& notes() const final { return notes_; }
  void plan(MemoryPlan& memory, std::int64_t rows, DenseLabels dense) final;
  void emit(Stream& stream, const EmitCall& call) final;

 protected:
  /// `info` does not contain the layout yet. Throws config errors.
  FunctorGeneratorBase(SampleInfo info, const SampleLayout& layout, const FunctorTruth& truth);

  /// Reserves memory for emission. `roles`: how augmentation maps the latents.
  virtual void plan_emission(MemoryPlan& memory, std::int64_t rows, DenseLabels dense,
                             const LatentRoles& roles) = 0;
  /// Enqueues the launches. `call.seed` is the key of the generator.
  virtual void enqueue(Stream& stream, const EmitCall& call) const = 0;

  void note(const std::vector<std::string>& more);
  void know_accuracy(double best) { info_.best.push_back({"accuracy", best}); }
  std::string plane_name() const { return info_.name + " plane"; }

 private:
  SampleInfo info_;
  std::vector<std::string> notes_;
  bool is_event_ = false;
};

/// Layout of a functor's samples. `shape`: shape of an image.
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
  static_assert(detail::check_hooks<F>());
  static constexpr GeneratorHooks kHooks = detail::hooks_of<F>();

 public:
  /// `shape`: shape of an image; ignored for events. Throws config errors.
  FunctorGenerator(const typename F::Params& params, SampleShape shape)
      : FunctorGenerator(params, shape, F(params)) {}

  static std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, ImageSize size,
                                         [[maybe_unused]] const Generators& others) {
    const typename F::Params params = F::table().read(settings);
    const SampleShape shape = {size.height, size.width, 3};
    if constexpr (kHooks.instead) {
      if (std::unique_ptr<Generator> other = F::instead(params, shape, others)) return other;
    }
    return std::make_unique<FunctorGenerator>(params, shape);
  }

  std::string parameters_yaml() const override { return F::table().to_yaml(params_); }

  void load([[maybe_unused]] Stream& stream) override {
    if constexpr (kHooks.tables) {
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
    if constexpr (kHooks.best_accuracy) know_accuracy(functor_.best_accuracy());
  }

  void plan_emission(MemoryPlan& memory, std::int64_t rows, DenseLabels dense,
                     const LatentRoles& roles) override {
    if constexpr (kHooks.tables) {
      if (!tables_) {
        tables_ = std::make_unique<typename F::Tables>(params_);
        TableCache cache;
        table_notes_ = tables_->prepare(cache);
      }
      tables_->plan(memory);
      note(table_notes_);
      if constexpr (kHooks.table_notes) note(tables_->notes());
    }
    const SampleShape shape = info().source_shape();
    if constexpr (kHooks.notes) note(functor_.notes(shape));
    emitter_.plan(memory, info().name, rows, functor_, shape, roles);
    if (dense == DenseLabels::plane) plane_.plan(memory, plane_name(), rows, functor_, shape);
  }

  void enqueue(Stream& stream, const EmitCall& call) const override {
    const SampleShape shape = info().source_shape();
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

/// Registry entry of a functor.
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
