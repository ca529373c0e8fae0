//! `chorus charter list` and `show`: the roles of a home, without a daemon.

use serde_json::Value;

use super::program::{chorus, seen};

#[test]
fn roles_of_a_home_are_listed_and_shown_as_json() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("charters");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "---\nname: reviewer\ndescription: Reviews.\nmodel: sonnet\ntools: [view]\ntimeout: 2m\n---\nReview.\n";
    std::fs::write(folder.join("reviewer.md"), text).unwrap();
    std::fs::write(
        folder.join("broken.md"),
        "---\nname: broken\ntool: x\n---\n",
    )
    .unwrap();

    let listed = seen(&mut chorus(home.path(), &["charter", "list"]));
    assert_eq!(listed.code, 0, "{}", listed.out);
    assert!(
        listed
            .out
            .contains("reviewer: charters/reviewer.md: Reviews."),
        "{}",
        listed.out
    );
    assert!(
        listed.out.contains("charters/broken.md, line 3: tool: "),
        "{}",
        listed.out
    );
    assert!(listed.out.contains("explore: built in: "), "{}", listed.out);
    let json = seen(&mut chorus(home.path(), &["charter", "list", "--json"]));
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let names: Vec<_> = json["roles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|role| &role["name"])
        .collect();
    assert_eq!(names, ["broken", "reviewer", "general", "explore"]);

    let shown = seen(&mut chorus(home.path(), &["charter", "show", "reviewer"]));
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["limits"]["timeout"], 120);
    assert_eq!(shown["source"], "charters/reviewer.md");
    for key in [
        "name",
        "title",
        "description",
        "source",
        "sha256",
        "model",
        "fallback_models",
        "effort",
        "mode",
        "tools",
        "permissions",
        "limits",
        "sub_agents",
        "advisors",
        "router",
        "handoff",
        "report",
        "seed",
        "docs",
        "skills",
        "compaction",
        "notes",
    ] {
        assert!(shown.get(key).is_some(), "{key}");
    }
    let unknown = seen(&mut chorus(home.path(), &["charter", "show", "reviwer"]));
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.err.contains("did you mean reviewer?"),
        "{}",
        unknown.err
    );
    let broken = seen(&mut chorus(home.path(), &["charter", "show", "broken"]));
    assert!(
        broken.code == 1 && broken.err.contains("line 3: tool: "),
        "{}",
        broken.err
    );
}
