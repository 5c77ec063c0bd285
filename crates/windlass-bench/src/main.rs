//! windlass-bench
fn main() {}
