//! How do other programs ask weir?
//!
//! ```no_run
//! # async fn example() -> Result<(), weir_serve::Error> {
//! let mut options = weir_serve::Options::default();
//! options.roots = vec!["captures".into()];
//! options.listen = Some("127.0.0.1:5433".parse().expect("an address"));
//! let server = weir_serve::Server::start(options)?;
//! println!("PostgreSQL protocol at {:?}", server.postgres());
//! server.run(std::future::pending()).await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Server`] answers over the PostgreSQL protocol (`pg`), HTTP (`http`) and Arrow Flight SQL (`flight`). Each
//! connection of the first and each request of the others has an engine of its own (`session`), which reads below the roots only
//! and writes nothing unless it is allowed to. Statements run in processes of their own (`workers`), so that none ends
//! the server, and end as soon as no client waits for them any more. So many statements compute at once (`turn`); those whose
//! clients have not taken their rows yet compute nothing and block no others. Trivial statements (`constant`) do not wait for long ones.
//!
//! This crate deliberately does not know how captures are read, what SQL means, or the command line: it hands texts
//! to `weir-engine` and gives on what comes back.

mod activity;
mod ahead;
mod begun;
mod catalog;
mod columns;
mod constant;
mod deadline;
mod error;
mod files;
mod flight;
mod folder;
mod function_lists;
mod guard;
mod handshake;
mod hangup;
mod http;
mod known;
mod line;
mod listener;
mod load;
mod options;
mod pg;
mod piecewise;
mod retained;
mod secret;
mod server;
mod session;
mod session_log;
mod shared;
mod tls;
mod turn;
mod workers;

pub use error::Error;
pub use options::{Limits, Options, TlsFiles, WorkerProgram};
pub use server::{CONNECTION_STACK_BYTES, Server};
pub use workers::work;
