//! Places at the models: who is next, who goes up, what is left when somebody leaves.

use std::collections::BTreeMap;
use std::time::Duration;

use chorus::llm::places::{Lane, Place, PlaceLimits, Places, QueueLimits, Queued};

fn limited(all: u32, by_provider: &[(&str, u32)]) -> Places {
    let places = Places::new(QueueLimits::default());
    places.set(limits(all, by_provider));
    places
}

fn limits(all: u32, by_provider: &[(&str, u32)]) -> PlaceLimits {
    let by_provider = by_provider.iter();
    PlaceLimits {
        all,
        by_provider: by_provider
            .map(|(name, most)| ((*name).to_owned(), *most))
            .collect::<BTreeMap<_, _>>(),
    }
}

fn waits(places: &Places, provider: &str, lane: Lane) -> Queued {
    places.ask(provider, lane).unwrap_err()
}

/// The order in which they are called, by the place in `queued`, one place at a time.
async fn order(held: Place, mut queued: Vec<(usize, Queued)>) -> Vec<usize> {
    let mut order = Vec::new();
    let mut held = Some(held);
    while !queued.is_empty() {
        held.take();
        let calls = queued.iter_mut().map(|(_, one)| Box::pin(one.place()));
        let (place, at, _) = futures_util::future::select_all(calls).await;
        held = Some(place);
        order.push(queued.remove(at).0);
    }
    order
}

#[tokio::test]
async fn lanes_go_in_their_order_and_each_as_it_came() {
    let places = limited(1, &[]);
    let held = places.ask("a", Lane::Child).unwrap();
    let lanes = [
        Lane::Child,
        Lane::Root,
        Lane::Core,
        Lane::Child,
        Lane::LastStep,
        Lane::Root,
        Lane::LastStep,
    ];
    let queued = lanes.iter().enumerate();
    let queued: Vec<_> = queued
        .map(|(at, lane)| (at, waits(&places, "a", *lane)))
        .collect();
    let before: Vec<usize> = queued.iter().map(|(_, one)| one.before()).collect();
    assert_eq!(before, [5, 3, 2, 6, 0, 4, 1]);
    assert_eq!(places.waiting(), 7);
    assert_eq!(order(held, queued).await, [4, 6, 2, 1, 5, 0, 3]);
    assert_eq!(places.waiting(), 0);
}

/// Where everybody has waited long enough at once, the lanes of core agents, roots and children are one.
#[tokio::test]
async fn who_has_waited_long_goes_up_but_not_among_last_steps() {
    let places = Places::new(QueueLimits {
        rises_after: Duration::ZERO,
        ..QueueLimits::default()
    });
    places.set(limits(1, &[]));
    let held = places.ask("a", Lane::Root).unwrap();
    let lanes = [Lane::Child, Lane::Core, Lane::Root, Lane::LastStep];
    let queued = lanes.map(|lane| waits(&places, "a", lane));
    let before: Vec<usize> = queued.iter().map(Queued::before).collect();
    assert_eq!(before, [1, 2, 3, 0]);
    let queued = queued.into_iter().enumerate();
    assert_eq!(order(held, queued.collect()).await, [3, 0, 1, 2]);
}

#[tokio::test]
async fn a_full_provider_holds_up_no_other_provider() {
    let places = limited(2, &[("slow", 1)]);
    let held = places.ask("slow", Lane::Root).unwrap();
    let first = waits(&places, "slow", Lane::LastStep);
    let other = places.ask("quick", Lane::Child).unwrap();
    let mut second = waits(&places, "quick", Lane::Child);
    assert_eq!((first.limit(), second.limit()), (1, 2));
    drop(other);
    let _place = second.place().await;
    assert_eq!(places.waiting(), 1);
    drop((held, first));
}

#[tokio::test]
async fn who_leaves_is_passed_over_and_its_place_goes_on() {
    let places = limited(1, &[]);
    let held = places.ask("a", Lane::Root).unwrap();
    let called = waits(&places, "a", Lane::Root);
    let gone = waits(&places, "a", Lane::Root);
    let mut next = waits(&places, "a", Lane::Root);
    drop(gone);
    drop(held);
    // It has its place and never heard of it.
    drop(called);
    let _place = next.place().await;
    assert_eq!(places.waiting(), 0);
}

#[tokio::test]
async fn limits_change_while_requests_are_under_way() {
    let places = limited(0, &[]);
    let mut held: Vec<_> = (0..5)
        .map(|_| places.ask("a", Lane::Root).unwrap())
        .collect();
    places.set(limits(2, &[]));
    let mut queued = waits(&places, "a", Lane::Root);
    held.truncate(2);
    assert_eq!(places.waiting(), 1, "what is under way fills both places");
    held.pop();
    let _place = queued.place().await;
    let mut queued = waits(&places, "a", Lane::Root);
    places.set(limits(0, &[("a", 3)]));
    let _other = queued.place().await;
    waits(&places, "a", Lane::LastStep);
    places.set(limits(0, &[]));
    assert!(places.ask("a", Lane::Child).is_ok());
}
