//! Counts the values of a JSON text before it is read: read, a value of two bytes takes eighty, and an object of seven bytes
//! takes hundreds.

/// Values that a text which a model wrote may have. An honest one has a few thousand.
pub const MOST_VALUES: usize = 50_000;

/// Returns how many values `text` has at most. A text that is not JSON has any number.
pub fn count(text: impl AsRef<[u8]>) -> usize {
    let (mut values, mut is_in_string, mut is_escaped) = (1, false, false);
    for byte in text.as_ref() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_string,
            b'"' => is_in_string = !is_in_string,
            b',' | b'[' | b'{' if !is_in_string => values += 1,
            _ => {}
        }
    }
    values
}

/// Checks that `text` has at most [`MOST_VALUES`].
pub fn are_few(text: impl AsRef<[u8]>) -> bool {
    count(text) <= MOST_VALUES
}
