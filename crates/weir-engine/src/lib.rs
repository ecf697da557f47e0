//! What do the captures say to this SQL?
//!
//! ```no_run
//! # async fn example() -> Result<(), weir_engine::Error> {
//! let engine = weir_engine::Engine::new(&weir_engine::Options::default())?;
//! for statement in engine.parse("SELECT ip.src, count(*) FROM 'trace.pcap' GROUP BY ip.src")? {
//!     let mut answer = engine.answer(statement).await?;
//!     while let Some(batch) = answer.next().await? {
//!         println!("{} rows", batch.num_rows());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! An [`Engine`] is a DataFusion session that knows captures: paths in FROM become tables
//! (`reference`), dotted names become columns (`names`), addresses compare with text
//! (`address`), arithmetic on unsigned columns does not wrap around (`number`), and what can be
//! decided while packets are decoded is pushed into the scan (`pushdown`, `scan`), aggregates
//! are computed there (`fuse`), what reads the same files reads them once (`share`), and windows of streams leave when they are over (`window`).
//!
//! This crate deliberately does not know the terminal, output formats or command-line arguments.

mod address;
mod anonymous;
mod answer;
mod bounded;
mod call;
mod catalog;
mod clf;
mod copies;
mod copy;
mod copy_options;
mod delimited;
mod dialect;
mod distinct;
mod embedded;
mod engine;
mod error;
mod follow;
mod function;
mod functions;
mod fuse;
mod gate;
mod geoip;
mod grammar;
mod hive;
mod joined;
mod json;
mod json_array;
mod ladder;
mod live;
mod meaning;
mod names;
mod narrow;
mod networks;
mod number;
mod offered;
mod over;
mod passes;
mod payload;
mod piece;
mod prepared;
mod pushdown;
mod reference;
mod registries;
mod remote;
mod repeated;
mod reworded;
mod root;
mod sample;
mod scan;
mod scan_report;
mod served;
mod share;
mod star;
mod statement;
mod syntax;
mod table;
mod tokens;
mod top_k;
mod units;
mod vocabulary;
mod walk;
mod window;
mod zone;

pub use answer::{Answer, Snapshot};
pub use call::packets_of_call;
pub use catalog::Catalog;
pub use copy::{EncodeError, RowEncoder, RowFormat, RowWriter};
pub use embedded::{Parameter, sql_type};
pub use engine::{Engine, Options, Planned, SharedMemory};
pub use error::{Error, ErrorKind};
pub use functions::FunctionEntry;
pub use ladder::{CallLadder, MediaStream, socket};
pub use names::nearest;
pub use offered::{Ended, Offered};
pub use piece::{
    Cluster, PieceExec, PieceProgress, PieceSettings, PieceWork, QueryDescription, Reports,
    ScanDescription, TemplateScan, false_cuts, without_cuts,
};
pub use remote::{NewOutput, READS_REMOTE, remove_unfinished};
pub use scan_report::ScanReport;
pub use served::Described;
pub use statement::{Made, Recipe, Statement};
pub use tokens::{Token, TokenKind, statements, tokens};
pub use walk::{walk, walk_mut};
pub use weir_file::remove_left_by;
pub use weir_tables::Compile;
