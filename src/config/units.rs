//! Values with a unit and a range, checked when they are read.
//!
//! Durations and sizes may be written as a number (seconds, bytes) or as text with a unit (`"30m"`, `"512MiB"`).

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A whole number of seconds from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Seconds<MIN, MAX> {
    /// Returns `seconds`, or the nearest end of the range.
    pub const fn new(seconds: u64) -> Self {
        Self(clamped(seconds, MIN, MAX))
    }

    /// Returns the length of time.
    pub const fn get(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

/// A number of bytes from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Bytes<MIN, MAX> {
    /// Returns `bytes`, or the nearest end of the range.
    pub const fn new(bytes: u64) -> Self {
        Self(clamped(bytes, MIN, MAX))
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A count from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Count<MIN, MAX> {
    /// Returns `count`, or the nearest end of the range.
    pub const fn new(count: u64) -> Self {
        Self(clamped(count, MIN, MAX))
    }

    /// Returns the count. Ranges of counts are within 32 bits.
    pub const fn get(self) -> u32 {
        self.0 as u32
    }
}

/// Money in US dollars, not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usd(f64);

impl Usd {
    /// Five dollars.
    pub const FIVE: Self = Self(5.0);

    /// Returns `sum`, unless it is negative or not a number.
    pub fn new(sum: f64) -> Option<Self> {
        (sum.is_finite() && sum >= 0.0).then_some(Self(sum))
    }

    /// Returns the sum.
    pub const fn get(self) -> f64 {
        self.0
    }
}

const fn clamped(value: u64, min: u64, max: u64) -> u64 {
    if value < min {
        min
    } else if value > max {
        max
    } else {
        value
    }
}

/// How one kind of number is read and described.
struct Kind {
    /// With its article, as errors name it: `a duration`.
    what: &'static str,
    /// How to write it.
    example: &'static str,
    min: u64,
    max: u64,
    parse: fn(&str) -> Option<u64>,
}

const fn duration_kind(min: u64, max: u64) -> Kind {
    Kind {
        what: "a duration",
        example: "seconds such as 90, or text with a unit such as \"30m\" or \"2h\"",
        min,
        max,
        parse: parse_duration,
    }
}

const fn size_kind(min: u64, max: u64) -> Kind {
    Kind {
        what: "a size",
        example: "bytes such as 1048576, or text with a unit such as \"512MiB\" or \"2GB\"",
        min,
        max,
        parse: parse_size,
    }
}

const fn count_kind(min: u64, max: u64) -> Kind {
    Kind {
        what: "a whole number",
        example: "a number without a unit",
        min,
        max,
        parse: |_| None,
    }
}

impl Kind {
    fn in_range<E: Error>(&self, value: u64) -> Result<u64, E> {
        if (self.min..=self.max).contains(&value) {
            return Ok(value);
        }
        Err(E::custom(format!(
            "{value} is out of range: write {} from {} to {}",
            self.what, self.min, self.max
        )))
    }

    fn refuse<E: Error>(&self, value: &dyn fmt::Display) -> E {
        E::custom(format!(
            "{value} is not {}: write {}",
            self.what, self.example
        ))
    }
}

impl Visitor<'_> for Kind {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.example)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        self.in_range(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        Err(E::custom(format!(
            "{value} is out of range: write {} from {} to {}",
            self.what, self.min, self.max
        )))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        Err(self.refuse(&value))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<u64, E> {
        Err(self.refuse(&value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        match (self.parse)(text) {
            Some(value) => self.in_range(value),
            None => Err(self.refuse(&format_args!("{text:?}"))),
        }
    }
}

/// Returns the seconds in a text with a unit.
pub fn parse_duration(text: &str) -> Option<u64> {
    humantime::parse_duration(text)
        .ok()
        .map(|length| length.as_secs())
}

/// Reads `512MiB`, `2 GB`, `64k`; units with an `i` are powers of 1,024, the others of 1,000.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "kib" => 1 << 10,
        "m" | "mb" => 1_000_000,
        "mib" => 1 << 20,
        "g" | "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        "t" | "tb" => 1_000_000_000_000,
        "tib" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Reads, writes and describes the three kinds of ranged numbers.
macro_rules! ranged {
    ($($name:ident, $kind:ident, $schema:literal, $text:literal;)*) => {$(
        impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for $name<MIN, MAX> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($kind(MIN, MAX)).map(Self)
            }
        }

        impl<const MIN: u64, const MAX: u64> Serialize for $name<MIN, MAX> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }

        impl<const MIN: u64, const MAX: u64> JsonSchema for $name<MIN, MAX> {
            fn schema_name() -> Cow<'static, str> {
                format!(concat!($schema, "{}to{}"), MIN, MAX).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                if $text {
                    json_schema!({ "type": ["integer", "string"], "minimum": MIN, "maximum": MAX })
                } else {
                    json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
                }
            }
        }
    )*};
}

ranged! {
    Seconds, duration_kind, "Seconds", true;
    Bytes, size_kind, "Bytes", true;
    Count, count_kind, "Count", false;
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sum = f64::deserialize(deserializer)?;
        Self::new(sum).ok_or_else(|| {
            D::Error::custom(format!(
                "{sum} is not a budget: write US dollars, 0 or more, such as 2.5"
            ))
        })
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl JsonSchema for Usd {
    fn schema_name() -> Cow<'static, str> {
        "Usd".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}
