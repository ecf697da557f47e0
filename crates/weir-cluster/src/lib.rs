//! Who answers this SQL when one machine is not enough?
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
//! The work of a cluster is Ballista's: a scheduler cuts plans into stages and tasks, executors run them, lost tasks are run
//! again. What is weir's are plan nodes whose work falls into pieces (`weir_engine::PieceExec`), how they travel
//! ([`WeirCodec`]), and a client that submits plans itself ([`Client`]), so that the rules of the engine are kept, a job can
//! be ended, and what was found damaged comes home.
//!
//! This crate deliberately does not know captures, SQL, arguments or the terminal.

mod check;
mod client;
mod codec;
mod doors;
mod error;
mod fetch;
mod fuzzed;
mod identity;
mod local;
mod own;
mod pool;
mod rows;
mod server;
mod shuffle;
mod silence;
mod trust;
mod work;
mod worker;

pub use client::Client;
pub use codec::{FORMAT, WeirCodec};
pub use error::Error;
#[doc(hidden)]
pub use fuzzed::look_at_message;
pub use local::LocalCluster;
pub use server::{
    DEFAULT_PORT, ExecutorOptions, Heartbeats, Scheduler, SchedulerOptions, host_and_port,
    run_executor,
};
pub use trust::{TlsFiles, Trust};
pub use work::WorkFolder;
