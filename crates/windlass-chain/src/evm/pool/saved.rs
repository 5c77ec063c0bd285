//! What the endpoints taught, as a text that survives a restart.

use serde::{Deserialize, Serialize};

use super::member::Member;
use crate::evm::learn::SavedEndpoint;

/// The form that is written.
const VERSION: u32 = 1;
/// A longer text was not written here.
const MAX_TEXT_BYTES: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    endpoints: Vec<SavedEndpoint>,
}

pub(super) fn write(members: &[Member]) -> String {
    let endpoints = members.iter().map(|member| member.source.save(member.name.clone())).collect();
    // Numbers and texts always serialise; without them nothing is known, which is no harm.
    serde_json::to_string(&Saved { version: VERSION, endpoints }).unwrap_or_default()
}

pub(super) fn read(members: &[Member], text: &str) {
    if text.is_empty() || text.len() > MAX_TEXT_BYTES {
        return;
    }
    let saved = match serde_json::from_str::<Saved>(text) {
        Ok(saved) if saved.version == VERSION => saved,
        Ok(saved) => return tracing::debug!(version = saved.version, "what was learned is in another form"),
        Err(error) => return tracing::debug!(%error, "what was learned cannot be read"),
    };
    for endpoint in saved.endpoints {
        if let Some(member) = members.iter().find(|member| member.name == endpoint.place) {
            member.source.restore(endpoint);
        }
    }
}
