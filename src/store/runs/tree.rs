//! Builds a tree from the rows of a run.

mod node;

use std::collections::HashMap;

use super::RESUME;
use super::rows::RunRows;
use crate::domain::{Node, Run, TurnId, Usage};
use crate::text::redact::Redactor;
use node::{OfTurn, Shown, TITLE};

/// Most levels of a tree: five are allowed below a root.
const DEEPEST: usize = 32;

impl RunRows {
    /// Returns the tree, without secrets. The time grows with the length of the texts, and may be too long for an async
    /// thread.
    pub fn into_run(self, redactor: &Redactor) -> Run {
        let shown = Shown {
            redactor,
            most: self.previews,
        };
        let mut nodes = self.nodes(shown);
        let mut gaps = self.gaps;
        let root = nodes.iter().position(|node| node.turn == self.run);
        let mut root = match root {
            Some(at) => nodes.remove(at),
            None => {
                gaps.push("The turn at the root cannot be read.".to_owned());
                unreadable(self.run)
            }
        };
        if let Some(asked) = &self.asked {
            root.title = shown.title(&asked.words);
        }
        let mut below: HashMap<Option<TurnId>, Vec<Node>> = HashMap::new();
        for node in nodes {
            below.entry(node.parent).or_default().push(node);
        }
        hang(&mut root, &mut below, 0);
        // The row of the turn that began these cannot be read.
        let mut lost: Vec<Node> = below.into_values().flatten().collect();
        lost.sort_by_key(|node| (node.began_at, node.turn));
        root.children.extend(lost);
        root.resumed_by = self
            .caused
            .iter()
            .find(|caused| caused.by == RESUME)
            .map(|caused| caused.run);
        add_up(&mut root);
        let origin = self.turns.iter().find(|turn| turn.row.begun.id == self.run);
        Run {
            version: Run::VERSION,
            run: self.run,
            origin: origin.map_or(self.run, |turn| turn.row.origin),
            caused_by: self.caused_by,
            asked_by: self.asked.map(|asked| shown.line(&asked.name, TITLE)),
            caused: self.caused,
            gaps,
            node: root,
        }
    }

    /// Returns a node for each turn, in the order they began, without those below it.
    fn nodes(&self, shown: Shown<'_>) -> Vec<Node> {
        let mut attempts = by_turn(&self.attempts, |row| row.turn);
        let mut calls = by_turn(&self.calls, |row| Some(row.turn));
        let mut questions = by_turn(&self.questions, |row| Some(row.turn));
        let mut said = by_turn(&self.said, |row| Some(row.turn));
        let mut nodes: Vec<Node> = self
            .turns
            .iter()
            .map(|turn| {
                let id = turn.row.begun.id;
                let said = said.remove(&id).unwrap_or_default();
                let rows = OfTurn {
                    turn,
                    attempts: attempts.remove(&id).unwrap_or_default(),
                    calls: calls.remove(&id).unwrap_or_default(),
                    questions: questions.remove(&id).unwrap_or_default(),
                    arguments: said.iter().flat_map(|said| said.arguments()).collect(),
                    results: said.iter().filter_map(|said| said.result()).collect(),
                    said,
                    shown,
                };
                rows.node()
            })
            .collect();
        nodes.sort_by_key(|node| (node.began_at, node.turn));
        nodes
    }
}

fn by_turn<T>(rows: &[T], turn: impl Fn(&T) -> Option<TurnId>) -> HashMap<TurnId, Vec<&T>> {
    let mut by_turn: HashMap<TurnId, Vec<&T>> = HashMap::new();
    for row in rows {
        if let Some(turn) = turn(row) {
            by_turn.entry(turn).or_default().push(row);
        }
    }
    by_turn
}

/// Adds the nodes below it to a node.
fn hang(node: &mut Node, below: &mut HashMap<Option<TurnId>, Vec<Node>>, depth: usize) {
    if depth == DEEPEST {
        return;
    }
    node.children = below.remove(&Some(node.turn)).unwrap_or_default();
    for child in &mut node.children {
        hang(child, below, depth + 1);
    }
}

/// Adds the use of the turns below it to each node's own.
fn add_up(node: &mut Node) {
    for child in &mut node.children {
        add_up(child);
        node.usage += child.usage;
        node.cost_usd = node
            .cost_usd
            .zip(child.cost_usd)
            .map(|(own, child)| own + child);
    }
}

/// Returns the replacement for a root that cannot be read.
fn unreadable(turn: TurnId) -> Node {
    Node {
        turn,
        parent: None,
        path: "(unreadable)".to_owned(),
        kind: "turn".to_owned(),
        role: None,
        role_sha256: None,
        title: None,
        model: None,
        exit: None,
        exit_code: None,
        exit_reason: None,
        cause: String::new(),
        resumes: None,
        resumed_by: None,
        source: None,
        began_at: None,
        ended_at: None,
        steps: 0,
        usage: Usage::default(),
        cost_usd: Some(0.0),
        own_cost_usd: Some(0.0),
        has_answered: false,
        ops: Vec::new(),
        children: Vec::new(),
    }
}
