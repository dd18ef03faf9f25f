// Text for measured numbers with uncertainty. Called by reports and the command line; host only.
#pragma once

#include <string>

namespace wellspring {

/// Plus-minus sign: ASCII for terminals, typographic elsewhere.
inline constexpr const char* kPlusMinus = "+-";
inline constexpr const char* kPlusMinusSign = "\u00b1";

/// "97.80 +- 0.33": two significant digits of the uncertainty, and the same number of decimals for
/// the value, at most `most_decimals`. A zero or NaN uncertainty is left out; the value then has
/// four significant digits.
std::string measured_text(double value, double uncertainty, const char* plus_minus = kPlusMinus,
                          int most_decimals = 6);

/// "97.80 +- 0.33 %" for a share in [0, 1] and its standard error (see share_error). A share of 0
/// or 1 gives a one-sided bound, "100 % (1 sigma: above 99.95 %)"; without an error, "97.80 %".
std::string share_text(double share, double error, const char* plus_minus = kPlusMinus);

/// Standard error of a share of `count` independent samples: the binomial estimate sqrt(p (1 - p) /
/// n). This estimate vanishes for p = 0 and 1; the result is then the width of Wilson's interval at
/// one standard deviation, 1 / (n + 1): E. B. Wilson, "Probable inference, the law of succession,
/// and statistical inference", JASA 22 (1927), with z = 1. Zero without samples. For scores in [0,
/// 1] that are not binary, it is an upper bound.
double share_error(double share, double count);

}  // namespace wellspring
