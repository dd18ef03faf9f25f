#include "generators/events/n_body.h"

#include "generators/functor_generator.h"

#include <memory>

namespace wellspring {

std::unique_ptr<Generator> Ode::instead(const Params& params, SampleShape shape,
                                        const Generators& /*others*/) {
  if (params.system != System::n_body) return nullptr;
  return std::make_unique<FunctorGenerator<NBody>>(params, shape);
}

}  // namespace wellspring
