//! An engine with its views, settings and tables.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::ffi_stream::ArrowArrayStreamReader;
use arrow_pyarrow::FromPyArrow;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use weir_engine::{Options, Statement};

use crate::answer::{self, Answer};
use crate::error::{ErrorClass, failure, of_engine};
use crate::live;
use crate::offered;
use crate::parameter::parameters;
use crate::runtime::wait;

/// An engine: what `weir.sql` and `weir.connect` ask.
#[pyclass(module = "weir._weir", frozen)]
pub(crate) struct Engine {
    engine: Arc<weir_engine::Engine>,
}

/// The way to run a statement.
struct Action<'w> {
    /// `EXPLAIN`, or `EXPLAIN ANALYZE`.
    explain: Option<bool>,
    /// A file that the rows go into, its format and whether it may be there.
    copy: Option<(&'w str, Option<&'w str>, bool)>,
}

impl Action<'_> {
    fn of(self, statement: Statement) -> Result<Statement, weir_engine::Error> {
        match (self.explain, self.copy) {
            (Some(analyze), _) => statement.explained(analyze),
            (None, Some((path, stored_as, overwrite))) => {
                statement.copied_to(path, stored_as, overwrite)
            }
            (None, None) => Ok(statement),
        }
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (threads=None, memory_limit=None, root=None, time_zone=None, interface=None))]
    fn new(
        threads: Option<NonZeroUsize>,
        memory_limit: Option<usize>,
        root: Option<PathBuf>,
        time_zone: Option<String>,
        interface: Option<&str>,
    ) -> PyResult<Self> {
        let mut options = Options::default();
        options.threads = threads.map(NonZeroUsize::get);
        options.memory_limit_bytes = memory_limit;
        options.time_zone = time_zone;
        options.root = root;
        if let Some(name) = interface {
            options.feed = Some(live::feed(name, &options.stop)?);
        }
        let engine = weir_engine::Engine::new(&options).map_err(|error| of_engine(&error))?;
        Ok(Self {
            engine: Arc::new(engine),
        })
    }

    /// Plans a text of statements: those before the last one run at once. The last is planned only if it is a
    /// query; the second value says that it is not, and is to be run.
    #[pyo3(signature = (sql, values=None, explain=None, copy=None))]
    fn plan(
        &self,
        py: Python<'_>,
        sql: &str,
        values: Option<&Bound<'_, PyDict>>,
        explain: Option<bool>,
        copy: Option<(String, Option<String>, bool)>,
    ) -> PyResult<(Answer, bool)> {
        let values = parameters(values)?;
        let failed = |error: weir_engine::Error| of_engine(&error);
        let mut statements = self.engine.parse(sql).map_err(failed)?;
        let Some(last) = statements.pop() else {
            let hint = "write: weir.sql(\"SELECT … FROM 'trace.pcap'\")";
            return Err(failure(ErrorClass::Syntax, "no statement", Some(hint)));
        };
        for statement in statements {
            let engine = Arc::clone(&self.engine);
            wait(py, &|| false, async move {
                let mut answer = engine.answer(statement).await?;
                while answer.next().await?.is_some() {}
                Ok(())
            })?
            .map_err(failed)?;
        }
        let last = last.bind(&values).map_err(failed)?;
        let action = Action {
            explain,
            copy: copy
                .as_ref()
                .map(|(path, stored_as, overwrite)| (&**path, stored_as.as_deref(), *overwrite)),
        };
        let last = action.of(last).map_err(failed)?;
        let is_action = !last.is_query() && !last.is_explain();
        let engine = Arc::clone(&self.engine);
        let planned = wait(py, &|| false, async move {
            let mut statements = [last].into();
            engine.plan_next(&mut statements).await
        })?;
        let planned = planned.map_err(failed)?.pop();
        let planned =
            planned.ok_or_else(|| failure(ErrorClass::Plan, "the statement has no plan", None))?;
        Ok((Answer::new(&self.engine, planned), is_action))
    }

    /// The last statement of a text, whose others ran when it was planned, as a table for a session of datafusion-python.
    /// `keep` lives as long as it.
    fn offer<'py>(
        &self,
        py: Python<'py>,
        sql: &str,
        values: Option<&Bound<'py, PyDict>>,
        keep: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let values = parameters(values)?;
        let failed = |error: weir_engine::Error| of_engine(&error);
        let statement = self.engine.parse(sql).map_err(failed)?.pop();
        let statement =
            statement.ok_or_else(|| failure(ErrorClass::Syntax, "no statement", None))?;
        let statement = statement.bind(&values).map_err(failed)?;
        let (engine, ended) = (Arc::clone(&self.engine), answer::ended(&self.engine, keep));
        let table = wait(py, &|| false, async move {
            engine.offered(statement, ended).await
        })?;
        offered::capsule(py, table.map_err(failed)?)
    }

    /// Makes a table of anything that gives a stream of Arrow's.
    fn register(&self, name: &str, table: &Bound<'_, PyAny>) -> PyResult<()> {
        if !table.hasattr("__arrow_c_stream__")? {
            let message = format!("{name} has no Arrow stream (__arrow_c_stream__)");
            let hint = "tables of pyarrow, Polars, DuckDB and pandas 2.2 have one";
            return Err(failure(ErrorClass::Plan, &message, Some(hint)));
        }
        let broken = |error: &dyn std::fmt::Display| {
            failure(ErrorClass::Source, &format!("{name}: {error}"), None)
        };
        let py = table.py();
        let mut reader = ArrowArrayStreamReader::from_pyarrow_bound(table)?;
        let schema = reader.schema();
        let mut batches: Vec<RecordBatch> = Vec::new();
        // A library may need the interpreter on threads of its own, which make the batch.
        while let Some(batch) = py.detach(|| reader.next()) {
            batches.push(batch.map_err(|error| broken(&error))?);
            py.check_signals()?;
        }
        self.engine
            .register(name, schema, batches)
            .map_err(|error| of_engine(&error))
    }

    /// Forgets a table that was registered.
    fn deregister(&self, name: &str) -> PyResult<bool> {
        self.engine
            .deregister(name)
            .map_err(|error| of_engine(&error))
    }

    /// Brings sources without an end to theirs.
    fn stop(&self) {
        self.engine.stop().request();
    }
}
