// A measured number with its uncertainty, as a person writes it. Used by reports and the command
// line; host only.
#pragma once

#include <string>

namespace wellspring {

/// Between a value and its uncertainty: plain on terminals, as printed elsewhere.
inline constexpr const char* kPlusMinus = "+-";
inline constexpr const char* kPlusMinusSign = "\u00b1";

/// "97.80 +- 0.33": the uncertainty has two significant digits, the value as many decimals, at most
/// `most_decimals`. An uncertainty that is zero or no number is left out, and the value then has
/// four significant digits.
std::string measured_text(double value, double uncertainty, const char* plus_minus = kPlusMinus,
                          int most_decimals = 6);

/// "97.80 +- 0.33 %" of a share in [0, 1] and its standard error, see share_error. A share of 0 or
/// 1 is one that nothing spoke against, "100 % (1 sigma: above 99.95 %)". Without an error "97.80
/// %".
std::string share_text(double share, double error, const char* plus_minus = kPlusMinus);

/// The standard error of a share of `count` independent samples: sqrt(p (1 - p) / n), the estimate
/// of the binomial law's. Where p is 0 or 1 that is no error at all, and the width of Wilson's
/// interval at one standard deviation stands for it, 1 / (n + 1): E. B. Wilson, "Probable
/// inference, the law of succession, and statistical inference", JASA 22 (1927), with z = 1. Zero
/// without samples. Of scores in [0, 1] that are no yes or no it is the largest that their variance
/// allows.
double share_error(double share, double count);

}  // namespace wellspring
