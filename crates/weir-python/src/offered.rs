//! Tables for the sessions of datafusion-python, in DataFusion's C interface.
//!
//! A library that takes the capsule must be of this major version: the interface differs between major versions, and a
//! capsule does not show its version before it is read. The Python half asks for the version before it asks for the
//! capsule.

use std::ffi::CStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{TableReference, not_impl_err};
use datafusion::error::Result;
use datafusion::execution::{TaskContext, TaskContextProvider};
use datafusion::logical_expr::{
    ColumnarValue, Extension, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion_ffi::execution::FFI_TaskContextProvider;
use datafusion_ffi::table_provider::FFI_TableProvider;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::runtime;

/// A query as a capsule, for a session of [`datafusion_version`].
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    table: Arc<weir_engine::Offered>,
) -> PyResult<Bound<'py, PyCapsule>> {
    // The interface has it weakly: the table is its own.
    let context: Arc<dyn TaskContextProvider> = Arc::clone(&table) as _;
    let provider = FFI_TableProvider::new(
        table,
        true,
        Some(runtime::handle(py)?),
        FFI_TaskContextProvider::from(&context),
        Some(Arc::new(NamedFunctions)),
    );
    PyCapsule::new_with_value(py, provider, PROVIDER)
}

/// The major version of DataFusion whose sessions take tables.
#[pyfunction]
pub(crate) fn datafusion_version() -> u64 {
    datafusion_ffi::version()
}

/// Reads conditions of another session, whose functions are known here by their names only: that is enough to leave
/// such a condition to it.
#[derive(Debug)]
struct NamedFunctions;

impl LogicalExtensionCodec for NamedFunctions {
    fn try_decode(&self, _: &[u8], _: &[LogicalPlan], _: &TaskContext) -> Result<Extension> {
        not_impl_err!("conditions have no plans in them")
    }

    fn try_encode(&self, _: &Extension, _: &mut Vec<u8>) -> Result<()> {
        not_impl_err!("conditions have no plans in them")
    }

    fn try_decode_table_provider(
        &self,
        _: &[u8],
        _: &TableReference,
        _: SchemaRef,
        _: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        not_impl_err!("conditions have no tables in them")
    }

    fn try_encode_table_provider(
        &self,
        _: &TableReference,
        _: Arc<dyn TableProvider>,
        _: &mut Vec<u8>,
    ) -> Result<()> {
        not_impl_err!("conditions have no tables in them")
    }

    fn try_decode_udf(&self, name: &str, _: &[u8]) -> Result<Arc<ScalarUDF>> {
        Ok(Arc::new(ScalarUDF::from(Named {
            name: name.to_owned(),
            signature: Signature::variadic_any(Volatility::Volatile),
        })))
    }
}

/// A function with a name and no body.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Named {
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        not_impl_err!("{} is a function of another session", self.name)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        not_impl_err!("{} is a function of another session", self.name)
    }
}

/// The name of the capsule, by datafusion-python.
const PROVIDER: &CStr = c"datafusion_table_provider";
