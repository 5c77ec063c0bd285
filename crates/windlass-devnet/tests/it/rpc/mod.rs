//! The transport: envelopes, limits, WebSocket, start and stop.

mod connections;
mod gate;
mod heavy;
mod http;
mod observer;
mod ws;
