#include "kernels/ops/cpu/onednn.h"

#include <omp.h>
#include <string_view>
#include <utility>

namespace wellspring::ops::cpu {

ThreadScope::ThreadScope(int threads)
    : previous_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) {
  omp_set_num_threads(threads);
  omp_set_dynamic(0);  // never fewer threads, which would leave work undone
}

ThreadScope::~ThreadScope() {
  omp_set_dynamic(dynamic_);
  omp_set_num_threads(previous_);
}

void PlannedPrimitive::add_argument(int which, const dnnl::memory::desc& desc) {
  memories_.push_back(dnnl::memory(desc, library_->engine, DNNL_MEMORY_NONE));
  arguments_.push_back({which, memories_.back().get()});
}

void PlannedPrimitive::run(std::initializer_list<const void*> pointers) {
  WS_EXPECT(pointers.size() == memories_.size());
  auto memory = memories_.begin();
  for (const void* pointer : pointers) (memory++)->set_data_handle(const_cast<void*>(pointer));
  // Calls the C function, because the C++ function copies its arguments into a new vector.
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), library_->stream.get(),
                             static_cast<int>(arguments_.size()), arguments_.data()),
      "could not execute a primitive");
}

MatrixProduct::MatrixProduct(std::shared_ptr<OneDnn> library, const dnnl::memory::desc& a,
                             const dnnl::memory::desc& b, const dnnl::memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc plan(library->engine, a, b, c, attributes());
#else
  const dnnl::matmul::primitive_desc plan(dnnl::matmul::desc(a, b, c), attributes(),
                                          library->engine);
#endif
  scratch_bytes_ = plan.scratchpad_desc().get_size();
  allocates_ = std::string_view(plan.impl_info_str()).starts_with("gemm");
  primitive_ = PlannedPrimitive(std::move(library), dnnl::matmul(plan));
  primitive_.add_argument(DNNL_ARG_SRC, a);
  primitive_.add_argument(DNNL_ARG_WEIGHTS, b);
  primitive_.add_argument(DNNL_ARG_DST, c);
  primitive_.add_argument(DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc());
}

Relayout::Relayout(std::shared_ptr<OneDnn> library, const dnnl::memory::desc& from,
                   const dnnl::memory::desc& to, WorkspaceLayout& layout)
    : needed_(from != to) {
  if (!needed_) return;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc plan(library->engine, from, library->engine, to, attributes);
  // One of the two layouts is in the workspace: the destination of source() or the origin of
  // write_back(). An object does only one of the two.
  offset_ = layout.take(std::max(from.get_size(), to.get_size()));
  scratch_offset_ = layout.take(plan.scratchpad_desc().get_size());
  reorder_ = PlannedPrimitive(std::move(library), dnnl::reorder(plan));
  reorder_.add_argument(DNNL_ARG_FROM, from);
  reorder_.add_argument(DNNL_ARG_TO, to);
  reorder_.add_argument(DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc());
}

const void* Relayout::source(const void* original, Workspace workspace) {
  if (!needed_) return original;
  void* copy = at(workspace, offset_);
  reorder_.run({original, copy, at(workspace, scratch_offset_)});
  return copy;
}

void* Relayout::target(void* original, Workspace workspace) const {
  return needed_ ? at(workspace, offset_) : original;
}

void Relayout::write_back(void* original, Workspace workspace) {
  if (!needed_) return;
  reorder_.run({at(workspace, offset_), original, at(workspace, scratch_offset_)});
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory::desc bias_vector(bool bias, dnnl::memory::dim channels) {
  if (!bias) return {};
  return {{channels}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a};
}

}  // namespace wellspring::ops::cpu
