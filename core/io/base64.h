// Base64 (RFC 4648, section 4), for images in HTML reports. Called by reports; host only.
#pragma once

#include "core/io/bytes.h"

#include <string>

namespace wellspring {

std::string base64(Bytes bytes);

}  // namespace wellspring
