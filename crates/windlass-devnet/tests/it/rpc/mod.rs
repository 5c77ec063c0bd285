//! The transport: envelopes, limits, WebSocket, start and stop.

mod http;
mod ws;
