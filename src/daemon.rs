//! The composition root: opens, wires, runs, stops in order.
