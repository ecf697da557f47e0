//! Tables and functions of the embedding program, such as the catalog that database clients read.

use std::fmt::Debug;

use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::VisitorMut;

/// The tables of sessions besides captures, and the rewriting of statements that name them.
pub trait Catalog: Debug + Send + Sync {
    /// Puts the tables and functions into a new session.
    ///
    /// # Errors
    /// When the session does not take them.
    fn register(&self, session: &SessionContext) -> Result<()>;

    /// The passes that rewrite a statement before it is looked at and planned, in their order. A statement that was
    /// rewritten may be rewritten again.
    fn passes(&self) -> Vec<Box<dyn VisitorMut<Break = ()>>>;
}
