//! A statement that has begun, in this process or in another.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::{self, BoxStream, StreamExt};
use weir_engine::{Engine, Statement};

use crate::error::{Failure, FailureKind};
use crate::turn::Counted;

/// A statement that has begun.
pub(crate) struct Begun {
    pub(crate) schema: SchemaRef,
    pub(crate) origins: Vec<Option<String>>,
    /// Rows, with their place among those that are counted where they came from another process.
    pub(crate) batches: BoxStream<'static, Result<(RecordBatch, Option<Counted>), Failure>>,
}

/// Plans and starts a statement in this process.
pub(crate) async fn begin(engine: Arc<Engine>, statement: Statement) -> Result<Begun, Failure> {
    let mut statements = VecDeque::from([statement]);
    let planned = engine.plan_next(&mut statements).await?.pop();
    let planned = planned.ok_or_else(|| Failure::new(FailureKind::Plan, "no statement"))?;
    let origins = planned.address_origins().to_vec();
    let schema = planned.schema();
    let answer = engine.start(planned)?;
    let batches = stream::unfold(answer, |mut answer| async move {
        let batch = answer.next().await.map_err(Failure::from).transpose()?;
        Some((batch.map(|batch| (batch, None)), answer))
    });
    Ok(Begun {
        schema,
        origins,
        batches: batches.boxed(),
    })
}
