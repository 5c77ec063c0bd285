//! What the demo says at its beginning: where everything is.

use std::path::Path;

use super::world::World;

/// The banner.
pub(super) fn render(world: &World, database: &Path) -> String {
    format!(
        "windlass demo: a devnet, its fees collected into SQLite and paid out of a vault\n\
         \n  \
           chain     {} (HTTP)  {} (WebSocket)\n  \
           contract  {}\n  \
           vault     {}\n  \
           database  {}\n\
         \n\
         Try: cast block latest --rpc-url {}\n\
         Ctrl-C ends it and compares the store with the chain.\n",
        world.http_url(),
        world.ws_url(),
        world.contract,
        world.treasury.vault.address,
        database.display(),
        world.http_url(),
    )
}
