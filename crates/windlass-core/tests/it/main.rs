//! The core against others: what it decodes, alloy decodes alike.

mod decode;
mod events;
