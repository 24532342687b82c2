//! Proxies are taken from values, never from the environment.

use super::*;
use pi_ai::transport::ProxyConfig;
use pi_test::Reply;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn behind(proxy: ProxyConfig) -> HttpProtocol {
    protocol_with(TestWire::default(), TransportConfig { proxy, ..TransportConfig::default() })
}

#[tokio::test]
async fn plain_requests_go_to_the_proxy_with_their_whole_url() {
    // The server plays the proxy: it answers for a host that does not exist.
    let server = ModelServer::start_unchecked([talk(&["by proxy"])]).await;
    let address = server.url().replace("http://", "http://me:pass@");
    let protocol = behind(ProxyConfig { http: Some(address), ..ProxyConfig::default() });
    let stream = protocol.stream(model("http://api.invalid"), Context::default(), options());
    assert_eq!(stream.result().await.text(), "by proxy");
    let request = &server.requests()[0];
    assert_eq!(request.target, "http://api.invalid/talk");
    assert_eq!(request.header("proxy-authorization"), Some("Basic bWU6cGFzcw=="));
}

#[tokio::test]
async fn secure_requests_ask_the_proxy_for_a_tunnel() {
    let server = ModelServer::start_unchecked([Reply::status(502, "")]).await;
    let proxy = ProxyConfig { https: Some(server.url()), ..ProxyConfig::default() };
    let stream = behind(proxy).stream(model("https://api.invalid"), Context::default(), options());
    let error = stream.result().await.error_message.clone().unwrap();
    assert!(error.starts_with("Connection error.: "), "{error}");
    let request = &server.requests()[0];
    assert_eq!((request.method.as_str(), request.target.as_str()), ("CONNECT", "api.invalid:443"));
}

#[tokio::test]
async fn excepted_hosts_and_their_subdomains_are_reached_directly() {
    let server = ModelServer::start_unchecked(Vec::<Reply>::new()).await;
    let nowhere = Some("http://127.0.0.1:1".to_owned());
    let proxy = |no_proxy: &str| ProxyConfig {
        all: nowhere.clone(),
        no_proxy: Some(no_proxy.to_owned()),
        ..ProxyConfig::default()
    };
    for no_proxy in ["example.com,127.0.0.1", "*", "localhost, 127.0.0.1:8080"] {
        server.push(talk(&["direct"]));
        let direct = behind(proxy(no_proxy));
        let stream = direct.stream(model(&server.url()), Context::default(), options());
        assert_eq!(stream.result().await.text(), "direct", "{no_proxy}");
    }

    let error_at = async |url: &str, no_proxy: &str| {
        let stream = behind(proxy(no_proxy)).stream(model(url), Context::default(), options());
        stream.result().await.error_message.clone().unwrap()
    };
    let host = unknown_host();
    for url in [format!("http://{host}"), format!("http://sub.{host}")] {
        let error = error_at(&url, &host).await;
        assert!(error.contains("ENOTFOUND"), "{url}: {error}");
        let error = error_at(&url, "other.invalid").await;
        assert!(error.contains("ECONNREFUSED"), "{url}: {error}");
    }
}

#[tokio::test]
async fn socks_proxies_carry_requests() {
    let server = ModelServer::start_unchecked([talk(&["by socks"])]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("socks5h://{}", listener.local_addr().unwrap());
    let proxying = tokio::spawn(socks(listener, server.address()));
    let protocol = behind(ProxyConfig { all: Some(address), ..ProxyConfig::default() });
    let stream = protocol.stream(model("http://api.invalid"), Context::default(), options());
    assert_eq!(stream.result().await.text(), "by socks");
    drop(protocol);
    assert_eq!(proxying.await.unwrap(), "api.invalid");
}

/// Serves one SOCKS5 connection by leading it to `target`; gives the host that was asked for.
async fn socks(listener: TcpListener, target: std::net::SocketAddr) -> String {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut greeting = [0; 2];
    client.read_exact(&mut greeting).await.unwrap();
    let mut methods = vec![0; usize::from(greeting[1])];
    client.read_exact(&mut methods).await.unwrap();
    client.write_all(&[5, 0]).await.unwrap();
    let mut head = [0; 5];
    client.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 3, "the host goes by its name");
    let mut host = vec![0; usize::from(head[4]) + 2];
    client.read_exact(&mut host).await.unwrap();
    host.truncate(host.len() - 2);
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    let mut server = TcpStream::connect(target).await.unwrap();
    tokio::io::copy_bidirectional(&mut client, &mut server).await.unwrap();
    String::from_utf8(host).unwrap()
}
