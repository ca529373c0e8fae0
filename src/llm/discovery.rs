//! Which models there are.

use serde_json::Value;

/// The texts under `id` of the objects in the list `key`.
pub(super) fn ids(page: &Value, key: &str, id: &str) -> Vec<String> {
    let list = page.get(key).and_then(Value::as_array);
    let names = list
        .into_iter()
        .flatten()
        .filter_map(|model| model.get(id)?.as_str());
    names.map(str::to_owned).collect()
}
