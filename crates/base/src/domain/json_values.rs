//! Counts the values of a JSON text before it is parsed: parsed, a value of two bytes takes eighty, and an object of
//! seven bytes takes hundreds.

/// Most values in a text that a model wrote, and in all calls of one answer. An honest one has a few hundred.
pub const MOST_VALUES: usize = 10_000;

/// Returns how many values `text` has at most. For a text that is not JSON the number means nothing.
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

/// How many values the calls of one answer may still have.
#[derive(Debug)]
pub struct ValuesLeft(usize);

impl Default for ValuesLeft {
    fn default() -> Self {
        Self(MOST_VALUES)
    }
}

impl ValuesLeft {
    /// Takes the values of `text`. Returns false, and takes nothing, if it has more than are left.
    pub fn take(&mut self, text: impl AsRef<[u8]>) -> bool {
        match self.0.checked_sub(count(text)) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_share_the_values_of_an_answer() {
        let half = format!("[{}1]", "1,".repeat(MOST_VALUES / 2));
        let mut left = ValuesLeft::default();
        assert!(left.take(&half));
        assert!(!left.take(&half));
        assert!(left.take("{\"small\": true}"));
    }
}
