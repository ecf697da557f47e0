//! The description of a statement's answer, before it runs.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use weir_functions::{Error, ErrorKind};
use weir_sql::Statement;

use crate::answer_schema::with_types;
use crate::engine::Engine;

/// The columns of a statement's answer, and its parameters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Described {
    /// The columns of the answer.
    pub schema: SchemaRef,
    /// The origins as [`Planned::address_origins`](crate::Planned::address_origins).
    pub address_origins: Vec<Option<String>>,
    /// The types of `$1`, `$2` and so on, as far as the expressions beside them have one; an address is text.
    pub parameters: Vec<Option<DataType>>,
}

impl Described {
    /// A description that came from another process.
    #[must_use]
    pub const fn new(
        schema: SchemaRef,
        address_origins: Vec<Option<String>>,
        parameters: Vec<Option<DataType>>,
    ) -> Self {
        Self {
            schema,
            address_origins,
            parameters,
        }
    }
}

impl Engine {
    /// Describes the answer of a statement, which may have parameters. Only the beginnings of files are read.
    ///
    /// # Errors
    /// As [`Engine::answer`], when it is planned.
    pub async fn describe(&self, statement: Statement) -> Result<Described, Error> {
        let count = statement.parameters();
        let logical = self.logical_checked(statement).await?;
        let fields = logical
            .plan
            .get_parameter_fields()
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        let of = |number: usize| {
            let field = fields.get(&format!("${number}"))?.as_ref()?;
            Some(match field.data_type() {
                DataType::BinaryView => DataType::Utf8,
                other => other.clone(),
            })
        };
        let schema = logical.plan.schema().as_arrow();
        // Types are coerced where parameters do not leave them open.
        let state = self.context().state();
        let options = state.config_options();
        let coerced = state
            .analyzer()
            .execute_and_check(logical.plan.clone(), options, |_, _| {});
        let schema = match &coerced {
            Ok(coerced) => with_types(schema, coerced.schema().as_arrow()),
            Err(_) => Arc::new(schema.clone()),
        };
        Ok(Described {
            schema,
            address_origins: logical.origins,
            parameters: (1..=count).map(of).collect(),
        })
    }
}
