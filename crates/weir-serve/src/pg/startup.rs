//! The start of a connection: authentication, and the parameters of the server.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use futures::Sink;
use pgwire::api::auth::sasl::SASLAuthStartupHandler;
use pgwire::api::auth::sasl::scram::{
    SCRAM_ITERATIONS, ScramAuth, gen_salted_password, random_nonce,
};
use pgwire::api::auth::{
    AuthSource, DefaultServerParameterProvider, LoginInfo, Password, ServerParameterProvider,
    StartupHandler, finish_authentication, protocol_negotiation,
    save_startup_parameters_to_metadata,
};
use pgwire::api::{
    ClientInfo, ConnectionGuard, ConnectionHandle, ConnectionManager, PidSecretKeyGenerator,
    RandomPidSecretKeyGenerator,
};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};

use super::setting;
use crate::catalog::{DATE_STYLE, TIME_ZONE, VERSION};

/// The parameters of the server, and the settings that the startup message of a client gives.
struct Parameters(DefaultServerParameterProvider);

impl ServerParameterProvider for Parameters {
    fn server_parameters<C>(&self, client: &C) -> Option<HashMap<String, String>>
    where
        C: ClientInfo,
    {
        let mut all = self.0.server_parameters(client)?;
        all.extend(setting::statuses(client));
        Some(all)
    }
}

/// The parameters of the server that all connections get.
pub(super) struct Welcome {
    provider: Arc<Parameters>,
    keys: Arc<RandomPidSecretKeyGenerator>,
    /// The connections that a CancelRequest with the right key may cancel.
    pub(super) manager: Arc<ConnectionManager>,
    salted: Option<Arc<Salted>>,
}

impl Welcome {
    pub(super) fn new(password: Option<&str>, is_read_only: bool) -> Self {
        let mut provider = DefaultServerParameterProvider::default();
        VERSION.clone_into(&mut provider.server_version);
        provider.is_superuser = false;
        // The values that SHOW gives until the client sets others.
        DATE_STYLE.clone_into(&mut provider.date_style);
        TIME_ZONE.clone_into(&mut provider.time_zone);
        provider.default_transaction_read_only = is_read_only;
        Self {
            provider: Arc::new(Parameters(provider)),
            keys: Arc::default(),
            manager: Arc::default(),
            salted: password.map(|password| {
                let salt = random_nonce().into_bytes();
                let password = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
                Arc::new(Salted { salt, password })
            }),
        }
    }
}

/// The salted password for SCRAM, for all users.
struct Salted {
    salt: Vec<u8>,
    password: Vec<u8>,
}

impl Debug for Salted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salted")
    }
}

#[async_trait]
#[expect(
    elided_lifetimes_in_paths,
    reason = "the trait elides it, which decides how it is bound"
)]
impl AuthSource for Salted {
    async fn get_password(&self, _login: &LoginInfo) -> PgWireResult<Password> {
        Ok(Password::new(
            Some(self.salt.clone()),
            self.password.clone(),
        ))
    }
}

/// The start of one connection.
pub(super) struct Startup {
    welcome: Arc<Welcome>,
    scram: Option<SASLAuthStartupHandler<Parameters>>,
}

impl Startup {
    pub(super) fn new(welcome: &Arc<Welcome>) -> Self {
        let scram = welcome.salted.as_ref().map(|salted| {
            let source: Arc<dyn AuthSource> = Arc::clone(salted) as _;
            SASLAuthStartupHandler::new(Arc::clone(&welcome.provider))
                .with_scram(ScramAuth::new(source))
                .with_pid_secret_key_generator(Arc::clone(&welcome.keys) as _)
                .with_connection_manager(Arc::clone(&welcome.manager))
        });
        Self {
            scram,
            welcome: Arc::clone(welcome),
        }
    }
}

#[async_trait]
impl StartupHandler for Startup {
    async fn on_startup<C>(
        &self,
        client: &mut C,
        message: PgWireFrontendMessage,
    ) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if let Some(scram) = &self.scram {
            return scram.on_startup(client, message).await;
        }
        let PgWireFrontendMessage::Startup(startup) = message else {
            return Ok(());
        };
        protocol_negotiation(client, &startup).await?;
        save_startup_parameters_to_metadata(client, &startup);
        let (pid, key) = self.welcome.keys.generate(client);
        client.set_pid_and_secret_key(pid, key.clone());
        let (handle, guard) = self.welcome.manager.register(pid, key);
        let extensions = client.session_extensions();
        extensions.insert::<Arc<ConnectionHandle>>(handle);
        extensions.insert::<ConnectionGuard>(guard);
        finish_authentication(client, self.welcome.provider.as_ref()).await
    }
}
