//! An HTTP server on a loopback port that gives one answer to one request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Once;
use std::thread::JoinHandle;

use windlass_chain::evm::EvmRpc;

static PROVIDER: Once = Once::new();

/// Where nobody listens. A port that was free a moment ago may be handed to the next server; this one
/// is handed out to no one.
pub(crate) const NOBODY: &str = "127.0.0.1:1";

/// A server for one request; `join` gives the request's body.
pub(crate) struct Server {
    pub(crate) url: String,
    handle: JoinHandle<String>,
}

/// What the binary does at its start: without a provider no client can be built.
pub(crate) fn install_tls() {
    PROVIDER.call_once(|| {
        rustls::crypto::ring::default_provider().install_default().expect("the only provider");
    });
}

/// Serves `answer` (a whole HTTP answer, or part of one) to the first request, then closes.
pub(crate) fn serve(with: impl Into<Vec<u8>>) -> Server {
    let with = with.into();
    answer(move |_| with)
}

/// The same with an answer that is made of the request's head.
pub(crate) fn answer(answer: impl FnOnce(&str) -> Vec<u8> + Send + 'static) -> Server {
    install_tls();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let handle = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        respond(stream, answer)
    });
    Server { url: format!("http://127.0.0.1:{port}/v2/hunter2hunter2"), handle }
}

impl Server {
    pub(crate) fn client(&self) -> EvmRpc {
        EvmRpc::new(&self.url).expect("a client")
    }

    pub(crate) fn request(self) -> serde_json::Value {
        serde_json::from_str(&self.handle.join().expect("served")).expect("json")
    }
}

/// A whole HTTP answer.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// A JSON-RPC result.
pub(crate) fn result(json: &str) -> String {
    http("200 OK", "", &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{json}}}"#))
}

/// A JSON-RPC error.
pub(crate) fn error(status: &str, code: i64, message: &str) -> String {
    let error = serde_json::json!({ "code": code, "message": message });
    http(status, "", &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#))
}

fn respond(mut stream: TcpStream, answer: impl FnOnce(&str) -> Vec<u8>) -> String {
    let mut reader = BufReader::new(stream.try_clone().expect("a reader"));
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    // A client that has read enough hangs up before the end.
    let _ = stream.write_all(&answer(&head));
    String::from_utf8(body).expect("text")
}
