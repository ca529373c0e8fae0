//! Front matter that is not valid YAML, read line by line. The most common case is `description: Use this when: …`.

use super::key_names::is_key;
use super::yaml::{Node, NotRead, Yaml, parse};

/// Reads known keys at the beginnings of lines; the value of each extends to the next one. A value that is valid YAML
/// is read as such, so that lists stay lists.
///
/// # Errors
///
/// Fails if a value contains something that no charter may contain.
pub(super) fn entries(front: &str, first: usize) -> Result<Vec<(Node, Node)>, NotRead> {
    let mut parts: Vec<(usize, &str, String)> = Vec::new();
    for (number, line) in (first..).zip(front.lines()) {
        match line.split_once(':') {
            Some((key, rest)) if is_key(key.trim_end()) => {
                parts.push((number, key.trim_end(), rest.to_owned()));
            }
            _ => {
                if let Some((.., value)) = parts.last_mut() {
                    value.push('\n');
                    value.push_str(line);
                }
            }
        }
    }
    parts
        .into_iter()
        .map(|(line, key, value)| Ok((scalar(line, key), value_of(line, &value)?)))
        .collect()
}

fn value_of(line: usize, value: &str) -> Result<Node, NotRead> {
    // In YAML a tab cannot indent; here it can.
    let spaced = value.replace('\t', "  ");
    match parse(&spaced, line) {
        Ok(node) if !matches!(node.value, Yaml::Map(_)) => Ok(Node { line, ..node }),
        Err(NotRead::Refused(why)) => Err(NotRead::Refused(why)),
        Ok(_) | Err(NotRead::Syntax { .. }) => {
            let words: Vec<&str> = value.split_whitespace().collect();
            Ok(scalar(line, &words.join(" ")))
        }
    }
}

fn scalar(line: usize, text: &str) -> Node {
    Node {
        line,
        value: Yaml::Scalar {
            text: text.to_owned(),
            plain: true,
        },
    }
}
