//! The lists of functions and of tables, as they are sent.

use bytes::Bytes;
use serde_json::{Value, json};
use weir_engine::{Engine, FunctionEntry, Options};

use crate::error::Failure;

/// The lists of functions and of tables in JSON, which are the same for every request.
#[derive(Debug)]
pub(crate) struct FunctionLists {
    pub(crate) functions: Bytes,
    pub(crate) tables: Bytes,
}

impl FunctionLists {
    /// The lists of an engine with these options.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn new(options: &Options) -> Result<Self, Failure> {
        let engine = Engine::new(options)?;
        let all = engine.functions();
        Ok(Self {
            functions: entries(all.iter().filter(|entry| entry.kind != "table")),
            tables: entries(all.iter().filter(|entry| entry.kind == "table")),
        })
    }
}

/// A list of functions in JSON.
fn entries<'a>(all: impl Iterator<Item = &'a FunctionEntry>) -> Bytes {
    let all = all.map(|entry| {
        json!({
            "name": entry.name,
            "signature": (entry.kind != "table").then_some(&entry.example),
            "meaning": entry.meaning,
            "example": (entry.kind == "table").then_some(&entry.example),
            "kind": entry.kind,
        })
    });
    Bytes::from(all.collect::<Value>().to_string())
}
