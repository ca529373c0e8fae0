//! One spelling of a JSON value, so that two servers' spellings of the same definition have one hash.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Writes `value` with the keys of each object in the order of their bytes and without blanks.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            out.push('{');
            for (place, (key, member)) in sorted.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The SHA-256 of a text in hexadecimal digits.
pub fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn order_and_blanks_make_no_difference() {
        let one = json!({"b": [1, {"y": 1, "x": "é\n"}], "a": null});
        assert_eq!(canonical(&one), r#"{"a":null,"b":[1,{"x":"é\n","y":1}]}"#);
        let other = json!({"a": null, "b": [1, {"x": "é\n", "y": 1}]});
        assert_eq!(sha256(&canonical(&one)), sha256(&canonical(&other)));
        let changed = json!({"a": null, "b": [{"x": "é\n", "y": 1}, 1]});
        assert_ne!(canonical(&one), canonical(&changed));
    }

    #[test]
    fn a_hash_is_the_known_one() {
        assert_eq!(
            sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
