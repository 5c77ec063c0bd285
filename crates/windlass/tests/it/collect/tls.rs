//! Endpoints behind TLS, over HTTP and over sockets.
//!
//! The certificate is for `localhost`, is valid until 2120, and is trusted by nobody but a
//! process whose `SSL_CERT_FILE` names it.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::world::{World, until, wait_until_collected};
use crate::binary::Folder;

const CERTIFICATE: &str = include_str!("tls/cert.pem");
const KEY: &str = include_str!("tls/key.pem");

/// Takes connections with TLS and hands them on to the chain; says where, as `localhost:port`.
async fn front(world: &World) -> String {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let place = format!("localhost:{}", listener.local_addr().expect("an address").port());
    let behind = world.url().replace("http://", "");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                // A client that does not trust the certificate leaves here.
                let mut front = acceptor.accept(stream).await?;
                let mut back = TcpStream::connect(behind).await?;
                tokio::io::copy_bidirectional(&mut front, &mut back).await
            });
        }
    });
    place
}

/// A folder whose configuration has these endpoints, and who trusts the certificate.
fn trusting(world: &World, rpc: &[String]) -> Folder {
    let rpc = rpc.iter().map(|url| format!("\"{url}\"")).collect::<Vec<_>>().join(", ");
    let config = world.config("0").replace(&format!("\"{}\"", world.url()), &rpc);
    let folder = Folder::with_config(&config);
    folder.write("cert.pem", CERTIFICATE);
    let trusted = folder.path().join("cert.pem");
    folder.variable("SSL_CERT_FILE", trusted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_is_collected_over_a_socket_with_tls() {
    let world = World::start().await;
    world.pay(10);
    let place = front(&world).await;
    let folder = trusting(&world, &[format!("wss://{place}")]);
    let mut running = folder.start(&["run", "--role", "collect"]);
    let line = running.wait_for("collecting");
    assert!(line.contains(&format!("wss://{place}")), "{line}");
    wait_until_collected(&folder, "fees", 10);
    world.pay(2);
    wait_until_collected(&folder, "fees", 12);
}

/// Questions go over HTTP, news of heads over the socket: polling alone would take an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_of_heads_come_over_a_socket_with_tls() {
    let world = World::start().await;
    world.pay(10);
    let place = front(&world).await;
    let folder = trusting(&world, &[format!("https://{place}"), format!("wss://{place}")]);
    folder.write("windlass.toml", &folder.read("windlass.toml").replace("\"20ms\"", "\"1h\""));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    until(|| {
        // A block at a time: the first may be made before the socket listens.
        world.pay(1);
        let ran = folder.run(&["index", "show", "fees", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&ran.stdout).map_err(|_| ran.shown())?;
        if shown["state"] == "realtime" { Ok(()) } else { Err(ran.shown()) }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let world = World::start().await;
    let place = front(&world).await;
    for scheme in ["https", "wss"] {
        let ran = Folder::new().run(&["init", "--rpc", &format!("{scheme}://{place}/hunter2")]);
        assert_eq!(ran.code, Some(1), "{}", ran.shown());
        let told = [&format!("error[W0201]: {scheme}://{place}/*** cannot be reached: "), "certificate"];
        assert!(told.iter().all(|part| ran.stderr.contains(*part)), "{}", ran.shown());
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.shown());
    }
}
