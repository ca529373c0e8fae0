//! A local Discord, a demo model and a web page, for trying and for tests.
