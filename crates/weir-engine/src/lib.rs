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

mod answer;
mod call;
mod catalog;
mod clf;
mod cluster;
mod copies;
mod copy;
mod copy_options;
mod delimited;
mod described;
mod dialect;
mod distinct;
mod embedded;
mod engine;
mod follow;
mod fuse;
mod gate;
mod grammar;
mod hive;
mod joined;
mod json_array;
mod ladder;
mod live;
mod meaning;
mod memory_table;
mod names;
mod narrow;
mod offered;
mod options;
mod over;
mod passes;
mod piece;
mod prepared;
mod pushdown;
mod reference;
mod remote;
mod repeated;
mod reworded;
mod root;
mod row_encoder;
mod sample;
mod scan;
mod scan_report;
mod served;
mod share;
mod show_functions;
mod sql_type;
mod star;
mod statement;
mod syntax;
mod table;
mod table_sample;
mod tokens;
mod walk;
mod window;

pub use answer::{Answer, Snapshot};
pub use call::packets_of_call;
pub use catalog::Catalog;
pub use cluster::Cluster;
pub use described::Described;
pub use embedded::Parameter;
pub use engine::{Engine, Planned};
pub use ladder::{CallLadder, MediaStream, socket};
pub use offered::{Ended, Offered};
pub use options::{Options, SharedMemory};
pub use piece::{
    PieceExec, PieceProgress, PieceSettings, PieceWork, QueryDescription, Reports, ScanDescription,
    TemplateScan, false_cuts, without_cuts,
};
pub use remote::{NewOutput, READS_REMOTE, remove_unfinished};
pub use row_encoder::{EncodeError, RowEncoder, RowFormat, RowWriter};
pub use scan_report::ScanReport;
pub use sql_type::sql_type;
pub use statement::{Made, Recipe, Statement};
pub use tokens::{Token, TokenKind, statements, tokens};
pub use walk::{walk, walk_mut};
pub use weir_functions::list::FunctionEntry;
pub use weir_functions::similar::nearest;
pub use weir_functions::{Error, ErrorKind};
pub use weir_tables::Compile;
