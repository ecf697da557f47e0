//! How are the bytes of an object in a store read and written as if it were a file?
//!
//! ```no_run
//! use std::io::Read as _;
//!
//! let stores = weir_remote::Stores::new(&weir_remote::StoreOptions::default())?;
//! for object in stores.expand("s3://bucket/day/*.pcap")? {
//!     let mut bytes = Vec::new();
//!     weir_capture::Object::open(object.as_ref(), 0..u64::MAX)?.read_to_end(&mut bytes)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Addresses are `s3://bucket/key`, `gs://bucket/key`, `az://container/key` (also `abfss://container@account…`),
//! `https://host/path` and `http://host/path`. Requests go through the crate `object_store`, which takes its
//! keys and endpoints from the variables of the environment that each store's own tools take them from.
//!
//! - Several requests for parts of the object are under way at once, in the order of the bytes ([`Limits`]). The
//!   first ones are small, so that a few records take little of the network.
//! - All requests ask for the version that the first answer had. A change of the object is an error.
//! - A body that breaks is requested again from where it broke.
//! - What is written is not there before it is whole: it is uploaded in parts, which become an object at the end.
//! - No credentials and no query of an address are in any name or message.
//!
//! Reads and writes block. They run on threads of this crate's own, so that they may be made from anywhere, also from
//! within an asynchronous program. This crate does not know what is in an object, nor about SQL.

mod address;
mod error;
mod found;
mod glob;
mod limits;
mod object;
mod reader;
mod runtime;
mod store;
mod stores;
mod table;
mod whole;
mod writer;

pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use object::RemoteObject;
pub use stores::{StoreOptions, Stores};
pub use table::ObjectTable;
pub use writer::{RemoteFile, abort_unfinished};
