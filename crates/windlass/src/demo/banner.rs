//! What the demo says at its beginning: where everything is.

use std::path::Path;

use super::world::World;

/// The banner.
pub(super) fn render(world: &World, database: &Path) -> String {
    format!(
        "windlass demo: a devnet with a fee collector, collected into SQLite\n\
         \n  \
           chain     {} (HTTP)  {} (WebSocket)\n  \
           contract  {}\n  \
           database  {}\n\
         \n\
         Try: cast block latest --rpc-url {}\n\
         Ctrl-C ends it and compares the store with the chain.\n",
        world.http_url(),
        world.ws_url(),
        world.contract,
        database.display(),
        world.http_url(),
    )
}
