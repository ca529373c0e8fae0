//! Which models a member may ask, and which one stands in for others.

/// Which models a member may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelRule {
    /// Patterns with `*`; empty allows all.
    pub patterns: Vec<String>,
    /// The provider's models, for the substitute of one that is not allowed.
    pub known: Vec<String>,
}

impl ModelRule {
    /// Whether a model may be asked.
    pub fn allows(&self, model: &str) -> bool {
        let mut patterns = self.patterns.iter();
        self.patterns.is_empty() || patterns.any(|pattern| fits(pattern, model))
    }

    /// The model that is asked instead of one that is not allowed: the first that is.
    pub fn substitute(&self) -> Option<&str> {
        let of_pattern = |pattern: &String| {
            let found = self.known.iter().find(|model| fits(pattern, model));
            found.map(String::as_str)
        };
        let whole = |pattern: &&String| !pattern.contains('*');
        let named = self.patterns.iter().find(whole).map(String::as_str);
        self.patterns.iter().find_map(of_pattern).or(named)
    }
}

/// Whether `text` fits `pattern`, in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(head) else {
        return false;
    };
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.any(|at| fits(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_models() {
        for (pattern, model, fit) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-5*", "gpt-5-mini", true),
            ("*mini*", "gpt-5-mini", true),
            ("*", "", true),
            ("a*b*c", "abbbc", true),
            ("a*b*c", "abbb", false),
        ] {
            assert_eq!(fits(pattern, model), fit, "{pattern} {model}");
        }
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        let rule = ModelRule {
            patterns: words(&["claude-haiku*", "claude-sonnet"]),
            known: words(&["claude-opus-5", "claude-haiku-5"]),
        };
        assert!(!rule.allows("claude-opus-5"));
        assert_eq!(rule.substitute(), Some("claude-haiku-5"));
        let unlisted = ModelRule {
            known: Vec::new(),
            ..rule
        };
        assert_eq!(unlisted.substitute(), Some("claude-sonnet"));
        assert!(ModelRule::default().allows("anything"));
    }
}
