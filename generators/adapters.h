// What makes a Generator of a functor: parameters, checks and launches, the same for all of them.
// Called by the registry and by tests of single generators; host only.
//
// Besides what kernels/emission.h asks of it, a generator's functor F has
//
//     struct Params;                                        plain, defaults as initialisers
//     static const ParamTable<Params>& table();
//     static GeneratorInfo describe(const Params&);
//     explicit F(const Params&);                            derived constants; may fail (config)
//     double best_accuracy() const;                         optional
#pragma once

#include "core/error.h"
#include "core/params.h"
#include "generators/generator.h"
#include "kernels/emission.h"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace wellspring {

namespace detail {
/// Errors (runtime) unless `batch` fits what the generator makes.
void expect_batch(const GeneratorInfo& info, const SampleLayout& layout, const BatchView& batch);
/// Error (config) unless `size` is a sensible side of an image.
void expect_size(const std::string& name, int size);
/// Error (config) unless `view` is the identity.
void expect_no_view(const std::string& name, const ViewSpec& view);

template <class F>
typename F::Params read_params(const std::vector<ParamSetting>& settings) {
  typename F::Params params;
  for (const ParamSetting& setting : settings) {
    F::table().set(params, setting.name, setting.value, setting.place);
  }
  return params;
}
}  // namespace detail

/// What image and event generators share.
template <class F>
class FunctorGenerator : public Generator {
 public:
  FunctorGenerator(const typename F::Params& params, const SampleLayout& layout)
      : params_(params), functor_(params), info_(F::describe(params)), layout_(layout) {
    layout_.latents = F::kLatents;
    static_assert(std::is_trivially_copyable_v<F>, "a functor is copied to the device");
  }

  const GeneratorInfo& info() const override { return info_; }
  SampleLayout layout() const override { return layout_; }
  std::string parameters_yaml() const override { return F::table().to_yaml(params_); }
  std::optional<double> best_accuracy() const override {
    if constexpr (requires { functor_.best_accuracy(); }) return functor_.best_accuracy();
    return std::nullopt;
  }

 protected:
  const F& functor() const { return functor_; }

 private:
  typename F::Params params_;
  F functor_;
  GeneratorInfo info_;
  SampleLayout layout_;
};

template <class F>
class ImageGenerator final : public FunctorGenerator<F> {
 public:
  ImageGenerator(const typename F::Params& params, int size)
      : FunctorGenerator<F>(params, SampleLayout::image(size, size, 3)) {
    detail::expect_size(this->info().name, size);
  }

  static std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, int size) {
    return std::make_unique<ImageGenerator>(detail::read_params<F>(settings), size);
  }

  void emit(Stream& stream, const Slot* slots, std::uint32_t source, std::uint64_t seed,
            const ViewSpec& view, const BatchView& batch) const override {
    detail::expect_batch(this->info(), this->layout(), batch);
    emit_images(stream, this->info().name, this->functor(), this->layout().shape(), slots, source,
                seed, view, batch);
  }
};

template <class F>
class EventGenerator final : public FunctorGenerator<F> {
 public:
  explicit EventGenerator(const typename F::Params& params)
      : FunctorGenerator<F>(params, SampleLayout::event(F::kFeatures)) {}

  static std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, int) {
    return std::make_unique<EventGenerator>(detail::read_params<F>(settings));
  }

  void emit(Stream& stream, const Slot* slots, std::uint32_t source, std::uint64_t seed,
            const ViewSpec& view, const BatchView& batch) const override {
    detail::expect_batch(this->info(), this->layout(), batch);
    detail::expect_no_view(this->info().name, view);
    emit_events(stream, this->info().name, this->functor(), slots, source, seed, batch);
  }
};

/// The registry's row for an image or event functor, and for either.
template <class F>
GeneratorEntry image_entry() {
  const GeneratorInfo info = F::describe({});
  return {info.name, SampleKind::image, info.summary, F::table().rows(), &ImageGenerator<F>::make};
}
template <class F>
GeneratorEntry event_entry() {
  const GeneratorInfo info = F::describe({});
  return {info.name, SampleKind::event, info.summary, F::table().rows(), &EventGenerator<F>::make};
}

template <class F>
GeneratorEntry generator_entry() {
  if constexpr (EventFunctor<F>) {
    return event_entry<F>();
  } else {
    return image_entry<F>();
  }
}

}  // namespace wellspring
