//! Runs SQL on a cluster of machines, by Ballista.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! let cluster = weir_cluster::LocalCluster::start(2, None)?;
//! let mut options = weir_engine::Options::default();
//! options.cluster = Some(Arc::new(cluster.client(4)?));
//! let engine = weir_engine::Engine::new(&options)?;
//! for statement in engine.parse("SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY ip.src")? {
//!     let mut answer = engine.answer(statement).await?;
//!     while let Some(batch) = answer.next().await? {
//!         println!("{} rows", batch.num_rows());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Ballista distributes the work: a scheduler divides plans into stages and tasks, executors run them, and lost tasks are run
//! again. weir adds plan nodes whose work is divided into pieces (`weir_engine::PieceExec`), their serialization
//! ([`WeirCodec`]), and a client that submits physical plans ([`Client`]), so that the rules of the engine apply, a job can be
//! cancelled, and located errors are reported.
//!
//! This crate deliberately has no code for captures, SQL, arguments or the terminal.

mod answering;
mod arriving;
mod check;
mod client;
mod clock;
mod codec;
mod connections;
mod contact;
mod dial;
mod encode;
mod error;
mod fetch;
mod forward;
mod fuzzed;
mod heartbeats;
mod identity;
mod job_rows;
mod kept;
mod launch;
mod layout;
mod local;
mod losses;
mod own;
mod panics;
mod peer;
mod plans;
mod pool;
mod progress;
mod proof;
mod protocol;
mod repeated;
mod retry;
mod rows;
mod server;
mod services;
mod shuffle;
mod tasks;
mod tls;
mod trust;
mod turns;
mod work;
mod worker;

pub use client::Client;
pub use codec::{FORMAT, WeirCodec};
pub use contact::Contact;
pub use error::Error;
#[doc(hidden)]
pub use fuzzed::look_at_message;
pub use local::LocalCluster;
pub use server::{
    DEFAULT_PORT, ExecutorOptions, Heartbeats, Scheduler, SchedulerOptions, host_and_port,
    run_executor,
};
pub use tls::TlsFiles;
pub use trust::Trust;
pub use work::{WorkFolder, create_private_files};
