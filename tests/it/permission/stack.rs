//! Profiles that hold together: never wider than any of them, over the published corpus and random stacks.

use std::sync::{Arc, LazyLock};

use chorus::permission::{Action, Decision, Effort, Profile, Stack, check};
use proptest::prelude::*;

use super::corpus;

/// Every profile of the corpus and the built-in ones.
static PROFILES: LazyLock<Vec<Arc<Profile>>> = LazyLock::new(|| {
    let all = corpus::profiles();
    all.iter().map(|(_, profile)| profile).collect()
});

static ACTIONS: LazyLock<Vec<Action>> = LazyLock::new(|| {
    let cases = corpus::cases();
    let parsed = cases.iter().map(|case| Action::parse(&case.action));
    parsed.filter_map(Result::ok).collect()
});

fn stack(members: &[usize]) -> Stack {
    let profile = |index: usize| PROFILES[index % PROFILES.len()].clone();
    let own = Stack::new(profile(members[0]));
    let further = members[1..].iter();
    further.fold(own, |stack, index| stack.with("a role", profile(*index)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_stack_is_as_strict_as_its_strictest_member(members in prop::collection::vec(0_usize..64, 1..5)) {
        let stack = stack(&members);
        for action in ACTIONS.iter() {
            let strictest = members
                .iter()
                .map(|index| PROFILES[index % PROFILES.len()].decide(action, &[]).decision)
                .max();
            let verdict = stack.decide(action, &[], &Effort::default());
            prop_assert_eq!(Some(verdict.decision), strictest, "{}", action);
            if stack.denies_all(&action.tool) {
                prop_assert_eq!(verdict.decision, Decision::Deny, "{}", action);
            }
        }
    }
}

#[test]
fn what_is_always_allowed_is_so_for_the_agents_own_profile_alone() {
    let asks = Arc::new(Profile::compile(&[], &["tool:bash:.*"], &[]).unwrap());
    let allows = Arc::new(Profile::compile(&["tool:bash:.*"], &[], &[]).unwrap());
    let entry = ["tool:bash:make".to_owned()];
    let action = Action::parse(&entry[0]).unwrap();
    for (further, expected) in [(&allows, Decision::Allow), (&asks, Decision::Ask)] {
        let stack = Stack::new(asks.clone()).with("role `builder`", further.clone());
        assert_eq!(
            stack.decide(&action, &[], &Effort::default()).decision,
            Decision::Ask
        );
        assert_eq!(
            stack.decide(&action, &entry, &Effort::default()).decision,
            expected
        );
        assert_eq!(
            stack.asks_alone(&action, &Effort::default()),
            expected == Decision::Allow
        );
    }
}

#[test]
fn a_reason_names_the_role_and_the_pattern() {
    let stack = Stack::new(Profile::builtin("open").unwrap().into()).with(
        "role `reviewer`",
        Profile::compile(&[".*"], &[], &["tool:bash:rm .*"])
            .unwrap()
            .into(),
    );
    let verdict = check::judge_text(&stack, "tool:bash:rm -r src");
    assert_eq!(
        verdict.reason,
        "role `reviewer`: denied by `tool:bash:rm .*`"
    );
    assert!(!stack.asks_alone(
        &Action::parse("tool:bash:rm -r src").unwrap(),
        &Effort::default()
    ));
}

#[test]
fn an_approval_is_bound_to_every_profile() {
    let [own, locked] =
        ["standard", "locked"].map(|name| Arc::new(Profile::builtin(name).unwrap()));
    let alone = Stack::new(own.clone());
    let both = Stack::new(own.clone()).with("a role", locked.clone());
    let other_way = Stack::new(locked).with("a role", own.clone());
    assert_eq!(alone.hash(), own.hash());
    assert_ne!(alone.hash(), both.hash());
    assert_ne!(both.hash(), other_way.hash());
}
