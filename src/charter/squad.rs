//! The dialect without front matter: headings, and bold keys below them.

use super::yaml::{Node, Yaml};

/// Returns the content of a file of headings, as the keys of a charter. Headings and keys in any case; `auto` means no
/// preference.
pub(super) fn entries(body: &str) -> Vec<(Node, Node)> {
    let mut found = Found::default();
    let mut section = String::new();
    for (line, text) in (1..).zip(body.lines()) {
        if let Some(heading) = text.trim_start().strip_prefix('#') {
            section = heading.trim_matches(['#', ' ', '\t']).to_lowercase();
        } else {
            found.take(&section, line, text);
        }
    }
    found.entries()
}

/// Values with their lines.
#[derive(Default)]
struct Found {
    name: Option<Node>,
    role: Option<Node>,
    expertise: Option<Node>,
    model: Option<Node>,
    fallback: Option<Node>,
    effort: Option<Node>,
    tools: Vec<Node>,
    tools_line: usize,
}

impl Found {
    fn take(&mut self, section: &str, line: usize, text: &str) {
        let item = text.trim_start();
        let listed = item.strip_prefix("- ").or_else(|| item.strip_prefix("* "));
        if section == "tools" {
            if let Some(tool) = listed {
                let tool = tool.split([' ', ':', '—']).next().unwrap_or_default();
                self.tools_line = line;
                self.tools.push(scalar(line, tool.trim_matches('`')));
            }
            return;
        }
        let Some((key, value)) = bold(listed.unwrap_or(item)) else {
            return;
        };
        let value = match section {
            "model" => named(value),
            _ => value.trim_matches('`'),
        };
        if value.is_empty() || value.eq_ignore_ascii_case("auto") {
            return;
        }
        let place = match (section, key.to_lowercase().as_str()) {
            ("identity", "name") => &mut self.name,
            ("identity", "role") => &mut self.role,
            ("identity", "expertise") => &mut self.expertise,
            ("model", "preferred") => &mut self.model,
            ("model", "fallback") => &mut self.fallback,
            ("model", "reasoning effort") => &mut self.effort,
            _ => return,
        };
        place.get_or_insert(scalar(line, value));
    }

    fn entries(self) -> Vec<(Node, Node)> {
        let description = match (self.role, self.expertise) {
            (Some(role), Some(more)) => Some(scalar(
                role.line,
                &format!("{} ({})", text(&role), text(&more)),
            )),
            (role, more) => role.or(more),
        };
        let tools = (!self.tools.is_empty()).then_some(Node {
            line: self.tools_line,
            value: Yaml::List(self.tools),
        });
        let entries = [
            ("name", self.name),
            ("description", description),
            ("model", self.model),
            ("fallback_models", self.fallback),
            ("effort", self.effort),
            ("tools", tools),
        ];
        entries
            .into_iter()
            .filter_map(|(key, value)| value.map(|value| (scalar(value.line, key), value)))
            .collect()
    }
}

/// Returns the name in a line about the model: words separated by commas, possibly followed by an explanation in
/// brackets or after a dash. Prose names nothing: `Standard chain — the coordinator handles it`.
fn named(value: &str) -> &str {
    let end = value.find(['(', '—', '–']).unwrap_or(value.len());
    let word = value[..end].trim().trim_matches('`');
    let is_prose = word
        .split(',')
        .any(|one| one.trim().contains(char::is_whitespace));
    if is_prose { "" } else { word }
}

/// Reads `**Key**: value` or `**Key:** value`.
fn bold(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.trim().strip_prefix("**")?.split_once("**")?;
    let value = match key.strip_suffix(':') {
        Some(_) => rest,
        None => rest.trim_start().strip_prefix(':')?,
    };
    Some((key.trim_end_matches(':').trim(), value.trim()))
}

fn text(node: &Node) -> &str {
    match &node.value {
        Yaml::Scalar { text, .. } => text,
        Yaml::List(_) | Yaml::Map(_) => "",
    }
}

fn scalar(line: usize, text: &str) -> Node {
    Node {
        line,
        value: Yaml::Scalar {
            text: text.to_owned(),
            plain: false,
        },
    }
}
