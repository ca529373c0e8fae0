//! REST v10: reads a request, lets the desk judge it, finds its route, answers in Discord's shapes.

pub(crate) mod answer;
mod call;
mod callbacks;
mod channels;
mod commands;
mod contents;
pub(crate) mod desk;
mod error;
mod guilds;
pub(crate) mod limits;
mod messages;
mod reactions;
mod reply;
mod routes;
mod threads;
mod validate;
