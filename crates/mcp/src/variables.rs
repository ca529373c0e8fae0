//! `${VAR}` and `${VAR:-default}` in the values of an entry.

/// A variable that is needed and not set. The text ends a state: `failed (MCP_TOKEN is not set)`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not set")]
pub struct MissingVariable(pub String);

/// A text with its variables replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// The values that were found. They may be secrets.
    pub found: Vec<String>,
}

/// Replaces each `${VAR}` of `text` by its value, and `${VAR:-default}` by the default where it is not set. Values are not expanded
/// again. What is not spelt as a variable stays as it is.
///
/// # Errors
///
/// The first variable that is not set and has no default.
pub fn expand(
    text: &str,
    value: impl Fn(&str) -> Option<String>,
) -> Result<Expansion, MissingVariable> {
    let mut out = Expansion::default();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        out.text.push_str(before);
        let Some(end) = after.find('}') else {
            out.text.push_str(after);
            return Ok(out);
        };
        let inside = &after[2..end];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        rest = &after[end + 1..];
        if !is_name(name) {
            out.text.push_str(&after[..=end]);
            continue;
        }
        match (value(name), default) {
            (Some(found), _) => {
                out.text.push_str(&found);
                out.found.push(found);
            }
            (None, Some(default)) => out.text.push_str(default),
            (None, None) => return Err(MissingVariable(name.to_owned())),
        }
    }
    out.text.push_str(rest);
    Ok(out)
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Option<String> {
        match name {
            "MCP_TOKEN" => Some("s3cret".to_owned()),
            "LOOP" => Some("${MCP_TOKEN}".to_owned()),
            _ => None,
        }
    }

    fn text(given: &str) -> String {
        expand(given, known).map_or_else(|missing| missing.to_string(), |done| done.text)
    }

    #[test]
    fn variables_are_replaced_once() {
        assert_eq!(text("Bearer ${MCP_TOKEN}!"), "Bearer s3cret!");
        assert_eq!(text("${NO:-https://a} ${MCP_TOKEN:-x}"), "https://a s3cret");
        assert_eq!(text("${LOOP}"), "${MCP_TOKEN}");
        assert_eq!(text("${NO}"), "NO is not set");
        for plain in ["$MCP_TOKEN", "${", "${}", "${a b}", "a${MCP_TOKEN", "{}"] {
            assert_eq!(text(plain), plain);
        }
    }

    #[test]
    fn found_values_are_told() {
        let done = expand("${MCP_TOKEN}${NO:-d}", known);
        assert_eq!(done.map(|done| done.found), Ok(vec!["s3cret".to_owned()]));
    }
}
