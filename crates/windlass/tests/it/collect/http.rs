//! A question to the API, over a connection of its own.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The status and the body of an answer.
pub(crate) fn get(url: &str, path: &str) -> (u16, String) {
    let address = url.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("asked");
    answer(stream)
}

/// The same with a key.
pub(crate) fn get_as(url: &str, path: &str, key: &str) -> (u16, String) {
    let address = url.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(address).expect("connected");
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("asked");
    answer(stream)
}

/// The same to a body of JSON, with a key.
pub(crate) fn post(url: &str, path: &str, key: Option<&str>, body: &str) -> (u16, String) {
    let address = url.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(address).expect("connected");
    let key = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{key}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).expect("asked");
    answer(stream)
}

fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, body.to_owned())
}

/// The URL in a line of the log.
pub(crate) fn url_in(line: &str) -> String {
    let (_, rest) = line.split_once("http://").expect("a URL");
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(rest.len());
    format!("http://{}", &rest[..end])
}
