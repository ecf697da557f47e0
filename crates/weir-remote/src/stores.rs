//! All stores of a program, with its limits and permissions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::ObjectStore;
use object_store::path::Path;
use tokio::sync::Semaphore;

use crate::address::{Address, StoreAddress, WebAddress};
use crate::glob::{Keys, is_wild};
use crate::limits::{Limits, SHARE_BYTES};
use crate::object::{ObjectPlace, RemoteObject};
use crate::runtime::wait;
use crate::store::{self, Settings};
use crate::writer::RemoteFile;
use crate::{Error, ErrorKind};

/// The options of access to objects.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StoreOptions {
    /// Options of stores besides those of the environment, by object_store's names: `aws_endpoint_url`.
    pub settings: Vec<(String, String)>,
    /// Only objects in these folders are read, and none is written; `None` is without a limit.
    pub allowed: Option<Vec<String>>,
    /// The limits of concurrent requests.
    pub limits: Limits,
}

/// Finds, reads and writes objects.
pub struct Stores {
    settings: Settings,
    allowed: Option<Vec<Address>>,
    limits: Limits,
    ahead: Arc<Semaphore>,
    clients: Mutex<Clients>,
}

/// The clients of stores and of the web, each created once.
#[derive(Default)]
struct Clients {
    stores: HashMap<String, Arc<dyn ObjectStore>>,
    client: Option<reqwest::Client>,
    /// The addresses of the web by the names that are shown, which leave out their queries.
    named: HashMap<String, Vec<String>>,
}

impl Stores {
    /// The stores of these options. No request is sent yet.
    ///
    /// # Errors
    /// When an option is not known, or a folder is no address.
    pub fn new(options: &StoreOptions) -> Result<Self, Error> {
        let allowed = options.allowed.as_ref().map(|folders| {
            let folders = folders.iter().map(|folder| Address::parse(folder));
            folders.collect::<Result<Vec<_>, _>>()
        });
        let shares = options.limits.ahead_bytes_max / SHARE_BYTES;
        let shares = usize::try_from(shares).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self {
            settings: Settings::parse(&options.settings)?,
            allowed: allowed.transpose()?,
            limits: options.limits,
            ahead: Arc::new(Semaphore::new(shares.min(Semaphore::MAX_PERMITS))),
            clients: Mutex::default(),
        })
    }

    /// The objects that match a pattern of `*`, `?`, `[…]` and `**`, in the order of their keys. An object whose key equals the
    /// pattern is the only match.
    ///
    /// # Errors
    /// When there is none, or it cannot be reached or is not allowed.
    pub fn expand(&self, pattern: &str) -> Result<Vec<Arc<RemoteObject>>, Error> {
        let address = self.address(pattern)?;
        match &address {
            Address::Web(web) => {
                if web.url.path().contains('*') {
                    let what = "a web address has no list of files";
                    return Err(Error::new(ErrorKind::Unsupported, pattern, what).with_hint(
                        "name each of them: FROM ['https://…/a.pcap', 'https://…/b.pcap']",
                    ));
                }
                let place = self.web_place(web)?;
                self.find(place).map(|object| vec![object])
            }
            Address::Store(of) if is_wild(&of.key) => self.listed(of),
            Address::Store(of) if of.key.is_empty() || of.key.ends_with('/') => {
                let shown = address.shown();
                let what = "this is a folder";
                Err(Error::new(ErrorKind::NotFound, &shown, what)
                    .with_hint("a pattern such as s3://bucket/day/*.pcap reads the objects in it"))
            }
            Address::Store(of) => {
                let place = self.place(of, &of.key)?;
                self.find(place).map(|object| vec![object])
            }
        }
    }

    /// Parses an address, and checks that it may be read.
    fn address(&self, text: &str) -> Result<Address, Error> {
        let address = Address::parse(text)?;
        match &self.allowed {
            Some(folders) if !folders.iter().any(|folder| address.is_below(folder)) => {
                let what = "this address is outside the locations that may be read";
                Err(Error::new(ErrorKind::Refused, &address.shown(), what))
            }
            _ => Ok(address),
        }
    }

    fn find(&self, place: ObjectPlace) -> Result<Arc<RemoteObject>, Error> {
        let (limits, ahead) = (self.limits, Arc::clone(&self.ahead));
        let name = place.name.clone();
        let found = wait(async move { RemoteObject::find(place, limits, &ahead).await });
        match found {
            Ok(found) => found.map(Arc::new),
            Err(_) => Err(Error::interrupted(&name)),
        }
    }

    fn listed(&self, address: &StoreAddress) -> Result<Vec<Arc<RemoteObject>>, Error> {
        let shown = address.shown(&address.key);
        let keys = Keys::parse(&address.key).map_err(|what| {
            Error::new(
                ErrorKind::Address,
                &shown,
                format!("the pattern cannot be read: {what}"),
            )
        })?;
        let store = self.store(address)?;
        let name = shown.clone();
        let found = wait(async move { keys.list(store, &name).await });
        let found = found.map_err(|_| Error::interrupted(&shown))??;
        if found.is_empty() {
            let what = "no object matches";
            return Err(Error::new(ErrorKind::NotFound, &shown, what)
                .with_hint("check the bucket and the folder; ** looks in folders below"));
        }
        let object = |meta: &object_store::ObjectMeta| {
            let place = self.place(address, meta.location.as_ref())?;
            let object = RemoteObject::listed(place, meta, self.limits, &self.ahead);
            Ok(Arc::new(object))
        };
        found.iter().map(object).collect()
    }

    /// A file that is to become the object at an address.
    ///
    /// # Errors
    /// When objects may not be written, or not there.
    pub fn create(&self, address: &str) -> Result<RemoteFile, Error> {
        let of = self.target(address)?;
        Ok(RemoteFile::new(self.place(&of, &of.key)?))
    }

    /// Whether there is an object that is not empty at an address.
    ///
    /// # Errors
    /// As [`Self::create`], and when the store does not say.
    pub fn exists(&self, address: &str) -> Result<bool, Error> {
        let of = self.target(address)?;
        let place = self.place(&of, &of.key)?;
        match self.find(place) {
            Ok(object) => Ok(object.0.version.size > 0),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Parses the address of an object that is written.
    fn target(&self, text: &str) -> Result<StoreAddress, Error> {
        let address = Address::parse(text)?;
        let shown = address.shown();
        if self.allowed.is_some() {
            let what = "objects cannot be written here";
            return Err(Error::new(ErrorKind::Refused, &shown, what));
        }
        match address {
            Address::Store(of) if of.key.is_empty() || of.key.ends_with('/') => {
                Err(Error::new(ErrorKind::Address, &shown, "this is a folder"))
            }
            Address::Store(of) => Ok(of),
            Address::Web(_) => {
                let what = "a web address cannot be written to";
                Err(Error::new(ErrorKind::Unsupported, &shown, what)
                    .with_hint("s3://, gs:// and az:// addresses can be written to"))
            }
        }
    }

    fn place(&self, of: &StoreAddress, key: &str) -> Result<ObjectPlace, Error> {
        let name = of.shown(key);
        let path = Path::parse(key).map_err(|_| {
            let what = "the key has a part that is empty, . or .., or a control character";
            Error::new(ErrorKind::Address, &name, what)
        })?;
        Ok(ObjectPlace {
            store: self.store(of)?,
            path,
            address: name.clone(),
            name,
        })
    }

    fn web_place(&self, web: &WebAddress) -> Result<ObjectPlace, Error> {
        let url = web.url.as_str();
        // A server may respond differently to other credentials, so that they are part of the identity of an object.
        let address = match &web.authorization {
            Some(value) => format!("{url} {}", value.to_str().unwrap_or_default()),
            None => url.to_owned(),
        };
        let shown = Address::Web(web.clone()).shown();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match &clients.client {
            Some(client) => client.clone(),
            None => {
                let client = store::client(self.allowed.is_none())?;
                clients.client.insert(client).clone()
            }
        };
        let named = clients.named.entry(shown.clone()).or_default();
        let number = match named.iter().position(|known| *known == address) {
            Some(at) => at,
            None => {
                named.push(address.clone());
                named.len() - 1
            }
        };
        // Two signed addresses with the same path are two objects with different names.
        let name = match number {
            0 => shown,
            more => format!("{shown}({})", more + 1),
        };
        Ok(ObjectPlace {
            store: store::web(web, &client)?,
            path: Path::ROOT,
            name,
            address,
        })
    }

    fn store(&self, of: &StoreAddress) -> Result<Arc<dyn ObjectStore>, Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = clients.stores.get(&of.base) {
            return Ok(Arc::clone(store));
        }
        let store = store::store(of, &self.settings)?;
        clients.stores.insert(of.base.clone(), Arc::clone(&store));
        Ok(store)
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores")
            .field("allowed", &self.allowed)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
