//! The charters of the documentation compile, all of a page together as one agent would have them.

use std::fs;

use chorus::charter::{Catalog, Charter, Place, Source, Trust, compile};

use super::with_known;

/// The charters of a page, in order.
fn of_page(page: &str) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let blocks = text.split("```markdown\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_examples_of_stages_compile_and_find_each_other() {
    let charters = of_page("docs/stages.md");
    let are_stages = |text: &&String| {
        !["advisors:", "router:", "handoff:", "report:"]
            .iter()
            .any(|key| text.contains(key))
    };
    let (stages, agents): (Vec<_>, Vec<_>) = charters.iter().partition(are_stages);
    assert_eq!((stages.len(), agents.len()), (4, 4));
    let sources = stages.into_iter().enumerate().map(|(at, text)| Source {
        place: Place::Agent,
        path: format!("charters/{at}.md"),
        bytes: Ok(text.clone().into_bytes()),
    });
    let sources = sources.collect();
    with_known(|known| {
        let catalog = Catalog::compile(sources, known);
        for entry in catalog.entries() {
            assert!(entry.role.is_ok(), "{:?}", entry.role);
        }
        for text in agents {
            let charter = Charter {
                path: "charter.md",
                bytes: text.as_bytes(),
                trust: Trust::People,
            };
            let role = compile(&charter, known).unwrap_or_else(|problems| panic!("{problems}"));
            catalog
                .check(&role)
                .unwrap_or_else(|problems| panic!("{}: {problems}", role.name));
            assert!(role.notes.is_empty(), "{:?}", role.notes);
        }
    });
}
