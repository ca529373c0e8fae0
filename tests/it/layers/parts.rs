//! The parts inside a module form layers too: how that is checked.

use std::fs;
use std::path::Path;

use super::{code_of, names_after, root, sources};

/// The parts of one module.
pub(super) struct Parts {
    pub(super) module: &'static str,
    /// Bottom up. A part may name itself and parts of earlier lines.
    pub(super) layers: &'static [&'static [&'static str]],
}

impl Parts {
    /// Fails where a part names one above or beside it, and where the module has other parts than these.
    pub(super) fn check(&self) {
        let mut wrong = Vec::new();
        let mut seen = Vec::new();
        for path in sources() {
            let Some(place) = self.place(&path) else {
                continue;
            };
            let part = &place[0];
            let code = code_of(&fs::read_to_string(&path).unwrap());
            for named in self.named(&code, place.len()) {
                if named != *part && self.layer(&named) >= self.layer(part) {
                    wrong.push(format!("{}: {part} names {named}", path.display()));
                }
            }
            seen.push(part.clone());
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        seen.sort_unstable();
        seen.dedup();
        let mut listed = self.layers.concat();
        listed.sort_unstable();
        assert_eq!(seen, listed);
    }

    /// The parts that `code` names, in a file that lies `depth` modules below the module.
    fn named(&self, code: &str, depth: usize) -> Vec<String> {
        let mut named = names_after(&format!("crate::{}::", self.module), code);
        named.extend(names_after(&"super::".repeat(depth), code));
        // What the module hands on is named by its types, and a longer chain of `super` ends in a part's own folder.
        named.retain(|name| self.layers.concat().contains(&name.as_str()));
        named
    }

    fn layer(&self, part: &str) -> usize {
        let position = self.layers.iter().position(|layer| layer.contains(&part));
        position.unwrap_or_else(|| panic!("`{}::{part}` is in no layer", self.module))
    }

    /// The modules of a file below the module's own: its part first.
    fn place(&self, path: &Path) -> Option<Vec<String>> {
        let inside = path
            .strip_prefix(root().join("src").join(self.module))
            .ok()?;
        let module = inside.with_extension("");
        let names = module.iter().map(|name| name.to_string_lossy());
        Some(names.map(|name| name.into_owned()).collect())
    }
}

#[test]
fn the_check_sees_paths_from_the_crate_and_from_the_file() {
    let parts = Parts {
        module: "discord",
        layers: &[&["rest", "gateway"], &["bot"], &["hub"], &["run"]],
    };
    let code =
        "use crate::discord::{bot::Bot, rest}; use super::super::hub::Ends; use super::responder;";
    assert_eq!(parts.named(code, 2), ["bot", "rest", "hub"]);
    assert_eq!(
        parts.named("use super::{gateway, run};", 1),
        ["gateway", "run"]
    );
}
