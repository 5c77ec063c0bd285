//! windlass-store-postgres
