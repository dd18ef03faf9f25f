#if __has_include("xla/ffi/api/ffi.h")

#include "python/jax_handlers.h"

#include "core/error.h"
#include "kernels/batch/batch_columns.h"
#include "sources/mixing/device_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace ffi = xla::ffi;

namespace wellspring::python {
namespace {

/// The generators of compiled functions, by their arguments. A compiled function may be stored on disk
/// and loaded by another process, so it names its generator instead of holding an address. The
/// Python package keeps them alive.
std::mutex jax_registry_lock;
std::map<std::string, GeneratorBatches*, std::less<>> jax_registry;

GeneratorBatches& registered(std::string_view key) {
  const std::lock_guard lock(jax_registry_lock);
  const auto found = jax_registry.find(key);
  if (found == jax_registry.end())
    fail(ErrorKind::runtime, {"a compiled function uses a generator that this process has not made",
                              std::string(key), "trace the function again in this process"});
  return *found->second;
}

ElementType type_of(ffi::DataType type) {
  if (type == ffi::DataType::F32) return ElementType::f32;
  if (type == ffi::DataType::BF16) return ElementType::bf16;
  if (type == ffi::DataType::F16) return ElementType::f16;
  if (type == ffi::DataType::U8) return ElementType::u8;
  fail(ErrorKind::config,
       {"x must have the type f32, bf16, f16 or u8", "", "see wellspring.jax.batch"});
}

/// The results of a call as a batch. `names`: their columns, separated by spaces; x is the first.
TypedBatch batch_of(const SampleLayout& layout, const ffi::RemainingRets& results,
                    std::string_view names) {
  TypedBatch batch;
  std::array<BatchColumn, kBatchColumns> columns;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto result = results.get<ffi::AnyBuffer>(i);
    if (result.has_error()) fail(ErrorKind::config, {result.error().message(), "", ""});
    const ffi::AnyBuffer buffer = **result;
    if (i == 0) {
      batch =
          TypedBatch::empty(buffer.dimensions().front(), layout, type_of(buffer.element_type()));
      columns = batch.columns();
    }
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto column = std::ranges::find_if(
        columns, [&](const BatchColumn& c) { return c.width > 0 && name == c.name; });
    if (column == columns.end() ||
        buffer.size_bytes() != static_cast<std::size_t>(batch.view.size) * column->row_bytes())
      fail(ErrorKind::config,
           {fmt::format("result '{}' is not a column of {} rows of these samples", name,
                        batch.view.size),
            "", "see wellspring.jax.batch"});
    column->data = buffer.untyped_data();
  }
  return {with_columns(batch.view, columns), batch.type};
}

/// Calls make(generator, batch) and turns errors of the library into errors of XLA.
template <class Make>
ffi::Error call(ffi::RemainingRets results, std::string_view key, std::string_view names,
                Backend backend, Make make) {
  try {
    GeneratorBatches& generator = registered(key);
    if (generator.device().backend != backend)
      fail(ErrorKind::config,
           {fmt::format("the generator is on {}, but the compiled function runs elsewhere",
                        generator.device().to_string()),
            "", "make a generator with the device of the function"});
    make(generator, batch_of(generator.layout(), results, names));
    return ffi::Error::Success();
  } catch (const Error& error) {
    return ffi::Error::InvalidArgument(error.what());
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

using FirstSample = ffi::Buffer<ffi::U32, 1>;

ffi::Error cpu_batch(FirstSample first, ffi::RemainingRets results, std::string_view generator,
                     std::string_view columns, std::int64_t repeat) {
  return call(results, generator, columns, Backend::cpu,
              [&](GeneratorBatches& own, const TypedBatch& batch) {
                const Passes passes{first.typed_data()[2], repeat};
                if (passes.epoch >= kPasses)
                  fail(ErrorKind::config, {"epoch is out of range", "",
                                           fmt::format("choose one from 0 to {}", kPasses - 1)});
                const std::uint64_t id = sample_id(first.typed_data());
                if (id > passes.ids() - static_cast<std::uint64_t>(batch.view.size / repeat))
                  fail(ErrorKind::config, {"first is negative or beyond the last sample id", "",
                                           "without jax_enable_x64, integers end at 2^32"});
                own.make(id, batch, passes);
              });
}

/// Reads `first` on the device, so that the host waits for nothing.
ffi::Error cuda_batch(void* stream, FirstSample first, ffi::RemainingRets results,
                      std::string_view generator, std::string_view columns, std::int64_t repeat) {
  return call(results, generator, columns, Backend::cuda,
              [&](GeneratorBatches& own, const TypedBatch& batch) {
                own.enqueue({0, first.typed_data(), {0, repeat}}, batch, stream);
              });
}

}  // namespace

void register_jax_generator(const std::string& key, GeneratorBatches& generator) {
  const std::lock_guard lock(jax_registry_lock);
  jax_registry[key] = &generator;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(wellspring_jax_cpu, cpu_batch,
                              ffi::Ffi::Bind()
                                  .Arg<FirstSample>()
                                  .RemainingRets()
                                  .Attr<std::string_view>("generator")
                                  .Attr<std::string_view>("columns")
                                  .Attr<std::int64_t>("repeat"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(wellspring_jax_cuda, cuda_batch,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .Arg<FirstSample>()
                                  .RemainingRets()
                                  .Attr<std::string_view>("generator")
                                  .Attr<std::string_view>("columns")
                                  .Attr<std::int64_t>("repeat"));

}  // namespace wellspring::python

#endif
