//! Tables and functions of whoever embeds the engine, such as the catalog that database clients browse.

use std::fmt::Debug;

use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::VisitorMut;

/// What sessions have beside captures, and how statements that ask it become what sessions plan.
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
