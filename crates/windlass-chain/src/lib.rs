//! windlass-chain
