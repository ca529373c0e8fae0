//! Running it: start, stop, signals, what systemd is told, what can be measured.

mod life;
