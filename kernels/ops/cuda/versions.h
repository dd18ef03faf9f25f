// Versions of NVIDIA's libraries on this machine as text. Called by reports; host only.
#pragma once

#include <string>

namespace wellspring::ops::cuda {

/// "9.19.0 (cudnn-frontend 1.18.0)".
std::string cudnn_version();
/// "13.1.0", or the reason why cuBLASLt cannot be opened. Opens cuBLASLt.
std::string cublas_lt_version();

}  // namespace wellspring::ops::cuda
