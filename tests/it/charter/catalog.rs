//! All roles of an agent together: who has a name, and what becomes of a role that names what is not there.

use chorus::charter::{Catalog, Place, Source, Unreadable};
use chorus::workspace::charter_places::Places;

use super::with_known;

fn source(place: Place, path: &str, keys: &str) -> Source {
    Source {
        place,
        path: path.to_owned(),
        bytes: Ok(format!("---\ndescription: Does {path}.\n{keys}\n---\nDo it.\n").into_bytes()),
    }
}

/// Those of people: each a name, and its keys.
fn of_people(roles: &[(&str, &str)]) -> Catalog {
    let sources = roles.iter().map(|(name, keys)| {
        source(
            Place::Home,
            &format!("charters/{name}.md"),
            &format!("name: {name}\n{keys}"),
        )
    });
    let sources = sources.collect();
    with_known(|known| Catalog::compile(sources, known))
}

/// Every entry as `name path`, with what is wrong with it.
fn seen(catalog: &Catalog) -> Vec<String> {
    let entries = catalog.entries().iter();
    entries
        .map(|entry| match (&entry.role, &entry.hidden_by) {
            (_, Some(first)) => format!("{} {}: behind {first}", entry.name, entry.path),
            (Ok(_), None) => format!("{} {}", entry.name, entry.path),
            (Err(problems), None) => format!("{}: {problems}", entry.name),
        })
        .collect()
}

#[test]
fn what_people_placed_outranks_a_repository_and_nothing_of_it_replaces_a_built_in_role() {
    let sources = vec![
        source(
            Place::Agent,
            "agents/lab/charters/tester.md",
            "name: tester",
        ),
        source(Place::Home, "charters/general.md", "name: General"),
        source(Place::Home, "charters/tester.md", "name: Tester"),
        source(
            Place::Workspace,
            ".claude/agents/explore.md",
            "name: explore",
        ),
        source(Place::Workspace, ".claude/agents/one.md", "name: twice"),
        source(Place::Workspace, ".claude/agents/two.md", "name: twice"),
    ];
    let catalog = with_known(|known| Catalog::compile(sources, known));
    assert_eq!(
        seen(&catalog),
        [
            "tester agents/lab/charters/tester.md",
            "general charters/general.md",
            "tester charters/tester.md: behind agents/lab/charters/tester.md",
            "explore .claude/agents/explore.md: behind the built-in role",
            "twice .claude/agents/one.md",
            "twice .claude/agents/two.md: behind .claude/agents/one.md",
            "general built in: behind charters/general.md",
            "explore built in",
        ]
    );
    assert!(catalog.gate("tester").is_ok() && catalog.gate("explore").is_ok());
    assert!(catalog.role("twice").is_some() && catalog.gate("twice").is_err());
}

#[test]
fn a_broken_file_keeps_its_name_from_a_repository() {
    let mut broken = source(Place::Home, "charters/tester.md", "");
    broken.bytes = Err(Unreadable::NotAFile);
    let sources = vec![
        broken,
        source(Place::Workspace, ".claude/agents/tester.md", "name: tester"),
    ];
    let catalog = with_known(|known| Catalog::compile(sources, known));
    assert!(catalog.role("tester").is_none());
    assert_eq!(
        seen(&catalog)[0],
        "tester: it is not a regular file; put a Markdown file in its place"
    );
}

#[test]
fn a_role_that_names_what_is_not_there_is_none_and_so_is_what_names_it() {
    let catalog = of_people(&[
        (
            "writer",
            "advisors: [screener]\nsub_agents: [explor, '@other', general]",
        ),
        ("boss", "router:\n  destinations: [writer]"),
        ("screener", "tools: []"),
    ]);
    let seen = seen(&catalog);
    assert_eq!(
        seen[0],
        "writer: line 5: sub_agents: there is no role `explor`; did you mean `explore`?"
    );
    assert!(
        seen[1].starts_with("boss: line 4: router: `writer` cannot be used"),
        "{seen:?}"
    );
    assert_eq!(seen[2], "screener charters/screener.md");
}

#[test]
fn an_answer_never_comes_back_to_who_gave_it() {
    let catalog = of_people(&[
        ("a", "router:\n  destinations: [b]"),
        ("b", "handoff: c"),
        ("c", "router:\n  destinations: [a]"),
        ("d", "handoff: d"),
        ("e", "handoff: [b]"),
    ]);
    let seen = seen(&catalog);
    assert!(
        seen[0].contains("the answer would come back to it: a → b → c → a"),
        "{seen:?}"
    );
    assert!(seen[3].contains("d → d"), "{seen:?}");
    assert!(catalog.role("a").is_none() && catalog.role("d").is_none());
    // What hands over to a role that is none is none itself.
    assert!(catalog.role("e").is_none());
}

#[test]
fn a_repositorys_role_loses_only_the_names_and_is_no_gate() {
    let sources = vec![
        source(
            Place::Home,
            "charters/boss.md",
            "name: boss\nadvisors: [helper]",
        ),
        source(
            Place::Workspace,
            ".claude/agents/helper.md",
            "name: helper\ntools: Read, Task(explore, nobody)",
        ),
    ];
    let catalog = with_known(|known| Catalog::compile(sources, known));
    assert!(
        seen(&catalog)[0].contains("`helper` comes from a repository, which may not be a gate"),
        "{:?}",
        seen(&catalog)
    );
    let helper = catalog.role("helper").unwrap();
    assert_eq!(helper.sub_agents.as_ref().unwrap(), &["explore"]);
    assert!(
        helper
            .notes
            .iter()
            .any(|note| note.message.contains("there is no role `nobody`"))
    );
}

#[test]
fn a_repository_s_role_keeps_the_roles_that_exist() {
    let sources = vec![
        source(
            Place::Workspace,
            ".claude/agents/lead.md",
            "name: lead\ntools: Read, Agent(explore, missing)",
        ),
        source(
            Place::Workspace,
            ".claude/agents/chief.md",
            "name: chief\nsub_agents: [lead, gone, explore]",
        ),
    ];
    let catalog = with_known(|known| Catalog::compile(sources, known));
    let lead = catalog.role("lead").unwrap();
    assert_eq!(lead.sub_agents.as_ref().unwrap(), &["explore"]);
    let note = &lead.notes[0];
    assert_eq!(
        (note.line, note.message.as_str()),
        (4, "sub_agents: there is no role `missing`; left out")
    );
    let chief = catalog.role("chief").unwrap();
    assert_eq!(chief.sub_agents.as_ref().unwrap(), &["lead", "explore"]);
}

#[test]
fn the_first_file_beyond_the_most_is_named() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("charters");
    std::fs::create_dir(&folder).unwrap();
    for number in 1..=203 {
        let text = format!("---\nname: r{number}\ndescription: b\n---\nc");
        std::fs::write(folder.join(format!("r{number:03}.md")), text).unwrap();
    }
    let places = Places::open(None, home.path(), false);
    let sources = places.read(&places.stamps());
    let catalog = with_known(|known| Catalog::compile(sources, known));
    assert!(catalog.role("r200").is_some());
    let broken: Vec<String> = seen(&catalog)
        .into_iter()
        .filter(|line| line.contains("not read"))
        .collect();
    assert_eq!(
        broken,
        [
            "r201: it is one of 3 files that are not read: a place has at most 200; put fewer files there"
        ]
    );
}
