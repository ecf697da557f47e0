//! The catalog that browsing clients ask: PostgreSQL's own relations in memory, over the files below the roots as tables
//! of one schema.
//!
//! They are tables and functions of every session ([`weir_engine::Catalog`]), so that a statement asks them within the
//! limits and refusals of all others, and may join them with captures. `relation` describes PostgreSQL's, `file_catalog`
//! has those of files, `rows` has what is in them, `table` reads them, `function` has the functions (`row_function` computes them row by row), and `rewrite` the
//! passes that turn what PostgreSQL spells otherwise into what sessions plan.

mod cell;
mod file_catalog;
mod function;
mod identifier;
mod json;
mod relation;
mod rewrite;
mod row_function;
mod rows;
mod setting;
mod table;
mod type_name;

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::VisitorMut;

pub(crate) use file_catalog::FileCatalog;
pub(crate) use identifier::name_list;
pub(crate) use relation::named_type;
pub(crate) use rewrite::{asks_catalog, is_relation};
pub(crate) use setting::{
    ClientSettings, DATE_STYLE, TIME_ZONE, VERSION, setting, unknown as unknown_setting,
};

/// A catalog as a session has it.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) files: Arc<FileCatalog>,
    pub(crate) settings: Arc<ClientSettings>,
}

impl weir_engine::Catalog for Registered {
    fn register(&self, session: &SessionContext) -> Result<()> {
        table::register(&self.files, session)?;
        for function in function::all(&self.files, &self.settings) {
            session.register_udf(function);
        }
        Ok(())
    }

    fn passes(&self) -> Vec<Box<dyn VisitorMut<Break = ()>>> {
        rewrite::passes()
    }
}
