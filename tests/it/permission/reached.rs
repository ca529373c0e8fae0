//! Actions whose path links lead elsewhere: judged as written and as reached, by each profile of a stack.

use std::sync::Arc;

use chorus::permission::{Action, Decision, Effort, Profile, Stack};

const WRITTEN: &str = "tool:view:docs/s/k";
const REACHED: &str = "tool:view:secrets/k";

fn led() -> Action {
    Action::parse(WRITTEN)
        .unwrap()
        .leading_to(Action::parse(REACHED).unwrap())
}

fn profile(allow: &[&str], ask: &[&str], deny: &[&str]) -> Arc<Profile> {
    Arc::new(Profile::compile(allow, ask, deny).unwrap())
}

#[test]
fn the_stricter_of_both_verdicts_holds() {
    use Decision::{Allow, Ask, Deny};
    let lists = |decision: Decision, what: &'static str| match decision {
        Allow => (vec![what], vec![], vec![]),
        Ask => (vec![], vec![what], vec![]),
        Deny => (vec![], vec![], vec![what]),
    };
    for written in [Allow, Ask, Deny] {
        for reached in [Allow, Ask, Deny] {
            let (mut allow, mut ask, mut deny) = lists(written, "tool:view:docs/.*");
            let (more_allow, more_ask, more_deny) = lists(reached, "tool:view:secrets/.*");
            allow.extend(more_allow);
            ask.extend(more_ask);
            deny.extend(more_deny);
            let verdict = profile(&allow, &ask, &deny).decide(&led(), &[]);
            assert_eq!(
                verdict.decision,
                written.max(reached),
                "{written} {reached}"
            );
            let names_the_place = verdict.reason.ends_with(", for it leads to `secrets/k`");
            assert_eq!(names_the_place, reached > written, "{}", verdict.reason);
        }
    }
}

#[test]
fn an_entry_of_always_allow_must_be_there_for_both() {
    let asks = profile(&[], &["tool:view:.*"], &[]);
    let decides = |entries: &[&str]| {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        asks.decide(&led(), &entries).decision
    };
    assert_eq!(decides(&[WRITTEN]), Decision::Ask);
    assert_eq!(decides(&[REACHED]), Decision::Ask);
    assert_eq!(decides(&[WRITTEN, REACHED]), Decision::Allow);
    assert_eq!(led().judged(), [WRITTEN, REACHED]);

    let denies = profile(&[".*"], &[], &["tool:view:secrets/.*"]);
    let both = [WRITTEN.to_owned(), REACHED.to_owned()];
    assert_eq!(denies.decide(&led(), &both).decision, Decision::Deny);
}

#[test]
fn each_profile_of_a_stack_judges_both() {
    let open = profile(&[".*"], &[], &[]);
    let role = profile(&[".*"], &[], &["tool:view:secrets/.*"]);
    let stack = Stack::new(open.clone()).with("role `reader`", role);
    let verdict = stack.decide(&led(), &[], &Effort::default());
    assert_eq!(verdict.decision, Decision::Deny);
    assert_eq!(
        verdict.reason,
        "role `reader`: denied by `tool:view:secrets/.*`, for it leads to `secrets/k`"
    );
    let asking = profile(&["tool:view:docs/.*"], &["tool:view:.*"], &[]);
    let stack = Stack::new(open).with("role `reader`", asking);
    assert!(!stack.asks_alone(&led(), &Effort::default()));
    assert!(stack.asks_alone(&Action::parse(WRITTEN).unwrap(), &Effort::default()));
}

#[test]
fn a_command_is_judged_in_the_folder_that_is_reached() {
    let command = |text: &str| Action::parse(&format!("tool:run_background:{text}")).unwrap();
    let narrow = profile(
        &["tool:run_background:make in web"],
        &["tool:run_background:.*"],
        &["tool:run_background:make in evil"],
    );
    let decides = |folder: &str| {
        let led = command("make in web").leading_to(command(folder));
        narrow.decide(&led, &[]).decision
    };
    assert_eq!(decides("make in web"), Decision::Allow);
    assert_eq!(decides("make in other"), Decision::Ask);
    assert_eq!(decides("make"), Decision::Ask);
    assert_eq!(decides("make in evil"), Decision::Deny);
}
