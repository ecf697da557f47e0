//! Addresses of objects in stores and on the web (`s3://…`), wherever a path stands.
//!
//! Captures and text are read from the objects themselves. What DataFusion reads (Parquet, Arrow, JSON a line) it reads
//! from a store that has just the objects which statements named, under names without queries and credentials: so
//! no plan holds an address, and nothing else can be reached by one.
//!
//! Without the feature `remote` all of this is one refusal.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "remote")]
use std::sync::Arc;

#[cfg(feature = "remote")]
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionContext;
use weir_capture::{Object, is_remote};
use weir_file::NewFile;
use weir_functions::{Error, ErrorKind};
use weir_tables::Location;

use crate::options::Options;

/// Whether this build reads object stores and the web.
pub const READS_REMOTE: bool = cfg!(feature = "remote");

/// The objects that a session reads and writes.
#[derive(Debug)]
pub(crate) struct Remote {
    #[cfg(feature = "remote")]
    stores: weir_remote::Stores,
    /// The objects that DataFusion reads.
    #[cfg(feature = "remote")]
    table: Arc<weir_remote::ObjectTable>,
}

#[cfg(feature = "remote")]
impl Remote {
    /// Makes the access to objects that the options describe. A session that is confined to folders reads only allowed
    /// addresses.
    ///
    /// # Errors
    /// When an option of a store, or the address of what is allowed, is malformed.
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let mut of_stores = weir_remote::StoreOptions::default();
        of_stores.settings.clone_from(&options.remote_settings);
        let is_kept_in = options.root.is_some() || !options.roots.is_empty();
        if is_kept_in || !options.remote_roots.is_empty() {
            of_stores.allowed = Some(options.remote_roots.clone());
        }
        let stores = weir_remote::Stores::new(&of_stores).map_err(|error| Error::from(&error))?;
        let table = Arc::default();
        Ok(Self { stores, table })
    }

    /// Lets DataFusion read the objects that statements name.
    pub(crate) fn register(&self, context: &SessionContext) -> Result<(), Error> {
        let url = ObjectStoreUrl::parse(TABLE_URL)
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        let table: Arc<weir_remote::ObjectTable> = Arc::clone(&self.table);
        context
            .runtime_env()
            .register_object_store(url.as_ref(), table);
        Ok(())
    }

    /// The objects that an address or a pattern means.
    pub(crate) fn expand(&self, pattern: &str) -> Result<Vec<Location>, Error> {
        let found = self.stores.expand(pattern);
        let found = found.map_err(|error| Error::from(&error))?;
        let mut locations = Vec::new();
        for object in found {
            locations.push(Location::Object(object));
        }
        Ok(locations)
    }

    /// The name by which DataFusion finds an object that [`Self::expand`] found.
    pub(crate) fn url_of(&self, object: &dyn Object) -> Result<String, Error> {
        match object.as_any().downcast_ref() {
            Some(object) => Ok(format!("{TABLE_URL}{}", self.table.insert(object))),
            None => Err(Error::new(
                ErrorKind::Source,
                format!("{} was not found here", object.name()),
            )),
        }
    }

    fn create(&self, address: &str) -> Result<NewOutput, Error> {
        let created = self.stores.create(address);
        let created = created.map_err(|error| Error::from(&error))?;
        Ok(NewOutput(Output::Object(created)))
    }

    /// Whether there is a capture at this address, which would be lost if something else were written there.
    pub(crate) fn is_capture_at(&self, address: &str) -> Result<bool, Error> {
        let name = address.rsplit('/').next().unwrap_or_default();
        let exists = self.stores.exists(address);
        let exists = exists.map_err(|error| Error::from(&error))?;
        if !exists || weir_capture::is_capture_name(name) {
            return Ok(exists);
        }
        let found = self.expand(address)?;
        let opened = found.first().and_then(|location| location.open().ok());
        Ok(opened.is_some_and(|bytes| {
            weir_capture::sniff_reader(bytes).is_ok_and(|found| found.is_some())
        }))
    }
}

#[cfg(not(feature = "remote"))]
impl Remote {
    pub(crate) fn new(_: &Options) -> Result<Self, Error> {
        Ok(Self {})
    }

    pub(crate) fn register(&self, _: &SessionContext) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) fn expand(&self, pattern: &str) -> Result<Vec<Location>, Error> {
        Err(refusal(pattern))
    }

    pub(crate) fn url_of(&self, object: &dyn Object) -> Result<String, Error> {
        Err(refusal(object.name()))
    }

    pub(crate) fn is_capture_at(&self, address: &str) -> Result<bool, Error> {
        Err(refusal(address))
    }

    fn create(&self, address: &str) -> Result<NewOutput, Error> {
        Err(refusal(address))
    }
}

impl Remote {
    /// Refuses to replace a capture: packets cannot be had again.
    pub(crate) fn guard(&self, target: &str, hint: &str) -> Result<(), Error> {
        let is_capture = match is_remote(target) {
            true => self.is_capture_at(target)?,
            false => weir_capture::is_capture_at(Path::new(target)),
        };
        if !is_capture {
            return Ok(());
        }
        let message = format!("{target} is a capture, and is not replaced");
        Err(Error::new(ErrorKind::Source, message).with_hint(hint))
    }
}

#[cfg(not(feature = "remote"))]
fn refusal(address: &str) -> Error {
    let message = format!("{address}: this build of weir does not read object stores and the web");
    let hint = "build it with the feature 'remote' ('full' has it), or download the file first";
    Error::new(ErrorKind::Source, message).with_hint(hint)
}

/// Removes the parts of unfinished objects from stores, and unfinished local files. For programs that end on a signal; it may wait
/// some seconds for stores.
pub fn remove_unfinished() {
    weir_file::remove_unfinished();
    #[cfg(feature = "remote")]
    weir_remote::abort_unfinished();
}

/// A new file, or an object in a store, which gets its name when it is whole ([`Self::keep`]).
#[derive(Debug)]
pub struct NewOutput(Output);

#[derive(Debug)]
enum Output {
    File(NewFile),
    #[cfg(feature = "remote")]
    Object(weir_remote::RemoteFile),
}

impl NewOutput {
    /// A new file at a path.
    ///
    /// # Errors
    /// As [`NewFile::create`].
    pub fn file(path: &Path) -> io::Result<Self> {
        NewFile::create(path).map(|file| Self(Output::File(file)))
    }

    /// A new object at an address, which is accessed with these options. A capture at the address is not replaced unless the
    /// options allow it.
    ///
    /// # Errors
    /// When nothing can be written there, or a capture would be lost.
    pub fn object(address: &str, options: &Options) -> Result<Self, Error> {
        let remote = Remote::new(options)?;
        if !options.overwrite {
            let hint = "use --overwrite to replace it, or another name to keep both";
            remote.guard(address, hint)?;
        }
        remote.create(address)
    }

    /// A new file at a path, or a new object at an address.
    pub(crate) fn create(target: &str, remote: &Remote) -> Result<Self, Error> {
        if !is_remote(target) {
            let path = PathBuf::from(target);
            return Self::file(&path).map_err(|error| {
                let message = format!("{}: {error}", path.display());
                let made = Error::new(ErrorKind::Source, message);
                match weir_file::folder_hint(&path, &error) {
                    Some(hint) => made.with_hint(hint),
                    None => made,
                }
            });
        }
        remote.create(target)
    }

    /// Renames the complete file to its target, in place of an existing file.
    ///
    /// # Errors
    /// When the disk or the store does not take it; what had the name stays then.
    pub fn keep(self) -> io::Result<()> {
        match self.0 {
            Output::File(file) => file.keep(),
            #[cfg(feature = "remote")]
            Output::Object(file) => file.keep(),
        }
    }
}

impl From<NewFile> for NewOutput {
    fn from(file: NewFile) -> Self {
        Self(Output::File(file))
    }
}

impl Write for NewOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Output::File(file) => file.write(bytes),
            #[cfg(feature = "remote")]
            Output::Object(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Output::File(file) => file.flush(),
            #[cfg(feature = "remote")]
            Output::Object(file) => file.flush(),
        }
    }
}

/// The URL of the objects for DataFusion.
#[cfg(feature = "remote")]
const TABLE_URL: &str = "remote://objects/";
