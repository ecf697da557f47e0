//! The clients of object stores, configured by the environment and by options.

use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpClient, HttpConnector};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::address::{StoreAddress, StoreKind, WebAddress};
use crate::error::of_making;
use crate::{Error, ErrorKind};

/// Options of stores by the names that object_store gives them, such as `aws_region`.
#[derive(Clone, Default)]
pub(crate) struct Settings(Vec<(Setting, String)>);

#[derive(Clone, Copy)]
enum Setting {
    S3(AmazonS3ConfigKey),
    Google(GoogleConfigKey),
    Azure(AzureConfigKey),
}

impl Settings {
    /// Parses options.
    ///
    /// # Errors
    /// When a name is not known.
    pub(crate) fn parse(settings: &[(String, String)]) -> Result<Self, Error> {
        let mut read = Vec::new();
        for (name, value) in settings {
            let key = name.to_ascii_lowercase();
            let setting = match key.split('_').next() {
                Some("aws") => key.parse().ok().map(Setting::S3),
                Some("google") => key.parse().ok().map(Setting::Google),
                Some("azure") => key.parse().ok().map(Setting::Azure),
                _ => None,
            };
            let Some(setting) = setting else {
                return Err(
                    Error::new(ErrorKind::Address, name, "object stores have no such option")
                        .with_hint("options are aws_region, aws_endpoint_url, google_service_account, azure_storage_account_name and others, named like the environment variables"),
                );
            };
            read.push((setting, value.clone()));
        }
        Ok(Self(read))
    }
}

/// The store that holds a bucket or a container.
pub(crate) fn store(
    address: &StoreAddress,
    settings: &Settings,
) -> Result<Arc<dyn ObjectStore>, Error> {
    let failed = |error: object_store::Error| of_making(&address.base, &error);
    // A request is for some MiB, which take their time on a slow connection.
    let timeout = |given: Option<String>| given.is_none().then_some(TIMEOUT);
    Ok(match address.kind {
        StoreKind::S3 => {
            let mut builder = AmazonS3Builder::from_env()
                .with_url(&address.base)
                .with_retry(retries());
            let key = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
            if let Some(timeout) = timeout(builder.get_config_value(&key)) {
                builder = builder.with_config(key, timeout);
            }
            for (setting, value) in &settings.0 {
                if let Setting::S3(key) = setting {
                    builder = builder.with_config(*key, value);
                }
            }
            Arc::new(builder.build().map_err(failed)?)
        }
        StoreKind::Google => {
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_url(&address.base)
                .with_retry(retries());
            let key = GoogleConfigKey::Client(ClientConfigKey::Timeout);
            if let Some(timeout) = timeout(builder.get_config_value(&key)) {
                builder = builder.with_config(key, timeout);
            }
            for (setting, value) in &settings.0 {
                if let Setting::Google(key) = setting {
                    builder = builder.with_config(*key, value);
                }
            }
            Arc::new(builder.build().map_err(failed)?)
        }
        StoreKind::Azure => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_url(&address.base)
                .with_retry(retries());
            let key = AzureConfigKey::Client(ClientConfigKey::Timeout);
            if let Some(timeout) = timeout(builder.get_config_value(&key)) {
                builder = builder.with_config(key, timeout);
            }
            for (setting, value) in &settings.0 {
                if let Setting::Azure(key) = setting {
                    builder = builder.with_config(*key, value);
                }
            }
            Arc::new(builder.build().map_err(failed)?)
        }
    })
}

/// The store whose root is one address of the web.
pub(crate) fn web(
    address: &WebAddress,
    client: &reqwest::Client,
) -> Result<Arc<dyn ObjectStore>, Error> {
    let name = address.url.as_str();
    let mut headers = HeaderMap::new();
    if let Some(value) = &address.authorization {
        headers.insert(AUTHORIZATION, value.clone());
    }
    let connector = Connector {
        client: client.clone(),
        headers,
    };
    let store = HttpBuilder::new()
        .with_url(name)
        .with_http_connector(connector)
        .with_retry(retries())
        .build()
        .map_err(|error| of_making(name, &error))?;
    Ok(Arc::new(store))
}

/// The HTTP client for addresses of the web, with or without redirects.
pub(crate) fn client(follows: bool) -> Result<reqwest::Client, Error> {
    let policy = match follows {
        true => reqwest::redirect::Policy::custom(|attempt| {
            let was_safe = attempt
                .previous()
                .iter()
                .any(|before| before.scheme() == "https");
            let is_safe = attempt.url().scheme() == "https";
            match attempt.previous().len() > REDIRECTS_MAX || (was_safe && !is_safe) {
                true => attempt.stop(),
                false => attempt.follow(),
            }
        }),
        false => reqwest::redirect::Policy::none(),
    };
    reqwest::Client::builder()
        .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
        .redirect(policy)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        // Several connections carry more than one that many requests share.
        .http1_only()
        .build()
        .map_err(|error| {
            let what = format!("requests cannot be made: {}", error.without_url());
            Error::new(ErrorKind::Unsupported, "https", what)
        })
}

/// Returns an existing client, with the headers of the credentials of an address.
#[derive(Debug)]
struct Connector {
    client: reqwest::Client,
    headers: HeaderMap<HeaderValue>,
}

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        if self.headers.is_empty() {
            return Ok(HttpClient::new(self.client.clone()));
        }
        Ok(HttpClient::new(Authorized {
            client: HttpClient::new(self.client.clone()),
            headers: self.headers.clone(),
        }))
    }
}

/// A client that sends credentials. Redirects to other hosts do not get them.
#[derive(Debug)]
struct Authorized {
    client: HttpClient,
    headers: HeaderMap<HeaderValue>,
}

#[async_trait::async_trait]
impl object_store::client::HttpService for Authorized {
    async fn call(
        &self,
        mut request: object_store::client::HttpRequest,
    ) -> Result<object_store::client::HttpResponse, object_store::client::HttpError> {
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        self.client.execute(request).await
    }
}

/// The policy of retries.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.,
        },
        max_retries: RETRIES_MAX,
        retry_timeout: Duration::from_secs(60),
    }
}

/// The timeout of a request with its response.
const TIMEOUT: &str = "120 seconds";
/// The timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of a read.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const REDIRECTS_MAX: usize = 5;
/// The maximum number of retries, which take some seconds together.
const RETRIES_MAX: usize = 5;
