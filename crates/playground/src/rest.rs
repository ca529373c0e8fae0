//! REST v10: lets the desk judge a request, finds its route, answers in Discord's format.

pub(crate) mod answer;
mod callbacks;
mod channels;
mod commands;
mod contents;
mod guilds;
mod messages;
mod reactions;
mod reply;
mod routes;
mod threads;
mod validate;
