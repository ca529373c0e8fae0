//! Amounts for people: counts, money, running times, the use of a request.

use std::fmt::Write as _;
use std::time::Duration;

/// Formats a sum of money, with as many digits as it needs: `$1.20`, `$0.012`.
pub fn dollars(sum: f64) -> String {
    match sum {
        sum if sum >= 1.0 => format!("${sum:.2}"),
        sum => format!("${sum:.3}"),
    }
}

/// Formats a number with commas between its thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a running time: `7 s`, `2 min 5 s`, `1 h 3 min`.
pub fn seconds(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// Formats tokens in few letters: `950 tokens`, `12.3k tokens`.
pub fn tokens_in_short(tokens: u64) -> String {
    match tokens {
        ..1_000 => format!("{tokens} tokens"),
        _ => format!("{:.1}k tokens", tokens as f64 / 1_000.0),
    }
}

/// Formats the use of requests: `4,800 in / 420 out · $0.012`. The price is left out if it is zero or unknown.
pub fn tokens_and_cost(input: u64, output: u64, usd: Option<f64>) -> String {
    let mut line = format!("{} in / {} out", thousands(input), thousands(output));
    if let Some(sum) = usd.filter(|sum| *sum > 0.0) {
        let _ = write!(line, " · {}", dollars(sum));
    }
    line
}
