//! The one HTTP client, built when the first request goes out.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, NoProxy, Proxy};

/// Slow links and proxies take their time; a dead host is told apart by the system long before.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Shorter than the idle limit of common load balancers, so that a waiting answer keeps its path.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

/// As many as browsers follow in practice for an API.
const MAX_REDIRECTS: usize = 5;

/// What a transport is made of. Plain values: the caller reads environment and settings.
#[derive(Debug, Clone, Default)]
pub struct TransportConfig {
    pub proxy: ProxyConfig,
    /// PEM file of more root certificates to trust, any number in a row. Read with the first request.
    pub extra_roots: Option<PathBuf>,
    /// Version in the `User-Agent`; `None` is that of this build.
    pub version: Option<String>,
}

/// Addresses of proxies (`http://`, `https://`, `socks5://`, `socks5h://`; no scheme is `http://`).
/// Empty text counts as absent. `Debug` shows no address: they may hold passwords.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyConfig {
    /// For `http://` URLs.
    pub http: Option<String>,
    /// For `https://` URLs.
    pub https: Option<String>,
    /// For whatever the other two leave.
    pub all: Option<String>,
    /// Hosts reached directly, separated by commas: a domain covers its subdomains, `*` is all.
    pub no_proxy: Option<String>,
}

impl ProxyConfig {
    /// The same with one address for everything, which goes before the other three.
    #[must_use]
    pub fn with_setting(self, address: Option<&str>) -> Self {
        match address.filter(|address| !address.is_empty()) {
            Some(address) => Self {
                http: Some(address.to_owned()),
                https: Some(address.to_owned()),
                all: None,
                no_proxy: self.no_proxy,
            },
            None => self,
        }
    }

    fn proxies(&self) -> Result<Vec<Proxy>, TransportError> {
        type Make = fn(&str) -> reqwest::Result<Proxy>;
        let direct: Vec<&str> = self.no_proxy.iter().flat_map(|hosts| hosts.split(',')).collect();
        if direct.iter().any(|host| host.trim() == "*") {
            return Ok(Vec::new());
        }
        let direct = direct.into_iter().map(without_port).collect::<Vec<_>>().join(",");
        // The first proxy that matches a URL is taken, so `all` comes last.
        let kinds: [(&Option<String>, &'static str, Make); 3] = [
            (&self.http, "http", |address| Proxy::http(address)),
            (&self.https, "https", |address| Proxy::https(address)),
            (&self.all, "all", |address| Proxy::all(address)),
        ];
        let mut proxies = Vec::new();
        for (address, kind, make) in kinds {
            let Some(address) = address.as_deref().filter(|address| !address.is_empty()) else {
                continue;
            };
            let proxy = make(address).map_err(|source| TransportError::Proxy { kind, source })?;
            proxies.push(proxy.no_proxy(NoProxy::from_string(&direct)));
        }
        Ok(proxies)
    }
}

/// The host of `host:port`; what is reached directly is so on every port. Addresses of IPv6 have
/// more than one colon and stay.
fn without_port(host: &str) -> &str {
    match host.trim().split_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host.trim(),
    }
}

impl fmt::Debug for ProxyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyConfig")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

/// The client cannot be built from its configuration.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransportError {
    #[error("the proxy address for {kind} requests is not valid")]
    Proxy { kind: &'static str, source: reqwest::Error },
    #[error("cannot read the extra root certificates in {}", path.display())]
    ReadRoots { path: PathBuf, source: io::Error },
    #[error("the extra root certificates are not valid PEM")]
    Roots(#[source] reqwest::Error),
    #[error("cannot set up the HTTP client")]
    Client(#[source] reqwest::Error),
}

/// Shares one connection pool among all protocols. Share it by `Arc`.
pub struct HttpTransport {
    config: TransportConfig,
    client: OnceLock<Result<Client, TransportError>>,
}

impl HttpTransport {
    /// Costs nothing: the client (4.5 ms of processor time) waits for its first use.
    pub fn new(config: TransportConfig) -> Self {
        Self { config, client: OnceLock::new() }
    }

    /// The client, built on the first call.
    ///
    /// # Errors
    /// The configuration is wrong; every call says so again.
    pub(super) fn client(&self) -> Result<&Client, &TransportError> {
        self.client.get_or_init(|| build(&self.config)).as_ref()
    }

    /// `pi/<version> (<os>; <arch>)`.
    pub(super) fn user_agent(&self) -> String {
        let version = self.config.version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
        format!("pi/{version} ({}; {})", std::env::consts::OS, std::env::consts::ARCH)
    }

    /// Whether requests may take a proxy, so that a failed connection says little of the host.
    pub(super) fn may_use_proxy(&self) -> bool {
        let proxy = &self.config.proxy;
        [&proxy.http, &proxy.https, &proxy.all].into_iter().any(Option::is_some)
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("proxy", &self.config.proxy)
            .field("built", &self.client.get().is_some())
            .finish_non_exhaustive()
    }
}

fn build(config: &TransportConfig) -> Result<Client, TransportError> {
    let mut builder = Client::builder()
        // Without this the library would read the environment itself.
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(TCP_KEEPALIVE)
        .redirect(Policy::custom(stay_on_host));
    for proxy in config.proxy.proxies()? {
        builder = builder.proxy(proxy);
    }
    if let Some(path) = &config.extra_roots {
        let pem = std::fs::read(path)
            .map_err(|source| TransportError::ReadRoots { path: path.clone(), source })?;
        let roots = Certificate::from_pem_bundle(&pem).map_err(TransportError::Roots)?;
        builder = builder.tls_certs_merge(roots);
    }
    builder.build().map_err(TransportError::Client)
}

/// A redirect to another host would carry the key there.
fn stay_on_host(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let same =
        attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if same && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::failure;

    #[test]
    fn debug_output_holds_no_proxy_password() {
        let proxy = ProxyConfig {
            https: Some("http://me:secret@proxy:1".to_owned()),
            ..ProxyConfig::default()
        };
        let transport = HttpTransport::new(TransportConfig { proxy, ..TransportConfig::default() });
        let text = format!("{transport:?}");
        assert!(!text.contains("secret") && text.contains("https: true"), "{text}");
    }

    #[test]
    fn a_wrong_configuration_is_named_without_its_value() {
        let config = TransportConfig {
            proxy: ProxyConfig::default().with_setting(Some("http://:secret@[")),
            ..TransportConfig::default()
        };
        let transport = HttpTransport::new(config);
        let error = failure::chain(transport.client().unwrap_err());
        assert!(error.starts_with("the proxy address for http requests is not valid"), "{error}");
        assert!(!error.contains("secret"), "{error}");

        let pem = tempfile::NamedTempFile::new().unwrap();
        let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(pem.path(), text).unwrap();
        for (path, expected) in [
            (pem.path(), "cannot set up the HTTP client: "),
            (
                std::path::Path::new("/nonexistent"),
                "cannot read the extra root certificates in /nonexistent",
            ),
        ] {
            let extra_roots = Some(path.to_owned());
            let transport =
                HttpTransport::new(TransportConfig { extra_roots, ..TransportConfig::default() });
            let error = failure::chain(transport.client().unwrap_err());
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_setting_goes_before_the_environment_but_keeps_its_exceptions() {
        let environment = ProxyConfig {
            http: Some("http://a".to_owned()),
            all: Some("socks5://b".to_owned()),
            no_proxy: Some("intern".to_owned()),
            ..ProxyConfig::default()
        };
        assert_eq!(environment.clone().with_setting(Some("")), environment);
        let proxy = environment.with_setting(Some("http://c"));
        assert_eq!(proxy.http.as_deref(), Some("http://c"));
        assert_eq!(proxy.https.as_deref(), Some("http://c"));
        assert_eq!((proxy.all, proxy.no_proxy.as_deref()), (None, Some("intern")));
    }

    #[test]
    fn the_user_agent_names_version_and_platform() {
        let config =
            TransportConfig { version: Some("9.8.7".to_owned()), ..TransportConfig::default() };
        let agent = HttpTransport::new(config).user_agent();
        assert!(agent.starts_with("pi/9.8.7 (") && agent.contains("; "), "{agent}");
    }
}
