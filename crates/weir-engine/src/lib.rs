//! How is a statement of SQL over captures planned and run?
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
//! An [`Engine`] is a DataFusion session with tables of captures: paths in FROM become tables (`reference`), statements
//! are parsed and put into words that DataFusion plans ([`weir_sql`]), functions and what operators mean come from
//! [`weir_functions`], and what can be decided while packets are decoded is pushed into the scan (`pushdown`, `scan`),
//! aggregates are computed there (`fuse`), scans of the same files read them once (`share`), and windows of streams
//! leave when they are over (`window`).
//!
//! This crate deliberately has no code for the terminal, for output formats or for command-line arguments.

mod answer;
mod answer_schema;
mod call;
mod catalog;
mod clf;
mod cluster;
mod computed_keys;
mod cooperative;
mod copies;
mod copy;
mod delimited;
mod described;
mod distinct;
mod engine;
mod exchange;
mod file_order;
mod filters_by_name;
mod folder_writer;
mod fuse;
mod hive;
mod joined;
mod json_array;
mod ladder;
mod live;
mod live_session;
mod local_store;
mod lower;
mod memory_table;
mod negative_zero;
mod offered;
mod one_row;
mod options;
mod over;
mod passes;
mod piece;
mod plan_node;
mod planned_statement;
mod predicate_subquery;
mod pushdown;
mod reference;
mod remote;
mod repeated;
mod root;
mod row_encoder;
mod rules;
mod sample;
mod scan;
mod scan_report;
mod share;
mod show_functions;
mod star;
mod table;
mod unnested;
mod unordered;
mod window;

pub use answer::{Answer, Snapshot};
pub use call::{packets_of_call, packets_of_flows};
pub use catalog::Catalog;
pub use cluster::Cluster;
pub use cooperative::cooperative;
pub use described::Described;
pub use engine::{Engine, Planned};
pub use ladder::{CallLadder, MediaStream, socket, texts};
pub use offered::{Ended, Offered};
pub use options::{Options, SharedMemory};
pub use over::count_window_rows;
pub use piece::{
    PieceExec, PieceSettings, PieceWork, QueryDescription, Reports, ScanDescription, TemplateScan,
    false_cuts, without_cuts,
};
pub use remote::{NewOutput, READS_REMOTE, remove_unfinished};
pub use row_encoder::{CsvForm, EncodeError, NullText, RowEncoder, RowFormat, RowWriter};
pub use scan_report::{PieceProgress, ScanReport};
pub use unnested::count_unnested_rows;
pub use weir_file::remove_left_by;
pub use weir_functions::list::FunctionEntry;
pub use weir_functions::plan_size::PATTERNS_WEIGHT_MAX;
pub use weir_functions::similar::nearest;
pub use weir_functions::zone::known as known_time_zone;
pub use weir_functions::{Condition, Error, ErrorKind, like_weight, pattern_weight};
pub use weir_sql::bytea::bytes_of_text;
pub use weir_sql::grammar::{FRAME_ROWS_MAX, size_limit};
pub use weir_sql::{
    Made, Parameter, Recipe, Statement, Token, TokenKind, quote_ident, quote_literal, sql_type,
    statements, tokens, walk, walk_mut,
};
pub use weir_tables::Compile;
