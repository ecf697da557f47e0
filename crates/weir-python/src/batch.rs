//! Some rows of an answer.

use std::ffi::CStr;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchIterator};
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error::{ErrorClass, failure};
use crate::value;

/// Some rows of an answer, which every library that knows Arrow takes without a copy.
#[pyclass(module = "weir", frozen)]
pub(crate) struct Batch {
    batch: RecordBatch,
}

impl Batch {
    pub(crate) const fn new(batch: RecordBatch) -> Self {
        Self { batch }
    }
}

#[pymethods]
impl Batch {
    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.batch.num_rows(), self.batch.num_columns());
        format!("<weir.Batch: {rows} rows, {columns} columns>")
    }

    /// The rows as tuples of Python's values.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        value::rows(py, &self.batch)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref())
            .map_err(|error| failure(ErrorClass::Run, &error.to_string(), None))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // By the interface, the producer decides whether it grants a requested schema.
        drop(requested_schema);
        let schema = Arc::clone(self.batch.schema_ref());
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
}

/// The name of a capsule with a schema, by the Arrow PyCapsule interface.
pub(crate) const SCHEMA: &CStr = c"arrow_schema";
/// The name of a capsule with a stream of batches.
pub(crate) const STREAM: &CStr = c"arrow_array_stream";
