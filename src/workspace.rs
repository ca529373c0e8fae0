//! One agent's folder: configuration, docs, and the workspace its tools are jailed to.
