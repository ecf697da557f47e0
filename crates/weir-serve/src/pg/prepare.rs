//! Prepared statements: the part of the server that runs them, their parameters and their columns.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use async_trait::async_trait;
use pgwire::api::portal::Format;
use pgwire::api::results::FieldInfo;
use pgwire::api::stmt::QueryParser;
use pgwire::api::{ClientInfo, Type};
use pgwire::error::PgWireResult;
use weir_engine::{Described, Parameter, Statement};

use super::cursor::{self, CursorStatement, Cursors, Declared, Fetched};
use super::encode;
use super::error::{error_response, pg_error};
use super::parameter::{array_of, sample, type_of_parameter};
use super::route::{
    CopyOut, RoutedStatement, Setting, cast_parameters, copies_in, copy_out, count_parameters,
    counted, list_parameters, parts,
};
use super::setting;
use crate::error::{Failure, FailureKind};
use crate::retained::{Retained, of_statement};
use crate::session::Session;

/// A prepared statement.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) action: Arc<PreparedAction>,
    pub(super) parameters: Vec<Type>,
    /// The places of parameters whose columns are `numeric` because the client says that they are.
    pub(super) decimals: Arc<HashSet<usize>>,
    /// Columns of the answer, with the format open.
    pub(super) fields: Arc<Vec<FieldInfo>>,
    /// The memory of the statement, and of the values of its parameters where it is bound, which is counted while this exists.
    pub(super) retained: Vec<Arc<Retained>>,
}

/// The part of the server that runs a statement.
pub(super) enum PreparedAction {
    Engine(Statement),
    Copy(CopyOut),
    Nothing(&'static str),
    Setting(Setting),
    /// A cursor for a query.
    Declare(Declared, Prepared),
    Fetch(Fetched),
    Close(Option<String>),
    /// Removes the prepared statement of this name, or all.
    Deallocate(Statement, Option<String>),
    Discard,
}

impl Prepared {
    /// The columns of the answer.
    pub(super) const fn fields(&self) -> &Arc<Vec<FieldInfo>> {
        &self.fields
    }

    /// Whether a portal of it that is done is not run again; the others have no more rows.
    pub(super) fn runs_once(&self) -> bool {
        match &*self.action {
            PreparedAction::Engine(statement) => {
                !statement.gives_rows() || counted(statement).is_some()
            }
            PreparedAction::Copy(_) | PreparedAction::Declare(..) => true,
            _ => false,
        }
    }

    /// True for what a cursor goes over.
    pub(super) fn is_query(&self) -> bool {
        match &*self.action {
            PreparedAction::Engine(statement) => statement.is_query() && statement.gives_rows(),
            _ => false,
        }
    }
}

/// Makes prepared statements.
pub(super) struct Preparer {
    pub(super) session: Arc<Session>,
    pub(super) cursors: Cursors,
}

#[async_trait]
impl QueryParser for Preparer {
    type Statement = Prepared;

    async fn parse_sql<C>(
        &self,
        client: &C,
        sql: &str,
        types: &[Option<Type>],
    ) -> PgWireResult<Option<Prepared>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let Some(mut prepared) = self.prepare(client, sql, types).await? else {
            return Ok(None);
        };
        let names = prepared.fields.iter().map(|field| field.name().len());
        let bytes = of_statement(sql, prepared.fields.len());
        let types = prepared.parameters.len().saturating_mul(size_of::<Type>());
        let bytes = names.fold(bytes.saturating_add(types), usize::saturating_add);
        let retained = self.session.retention.add(bytes);
        let retained = retained.map_err(|failure| pg_error(&failure))?;
        prepared.retained.push(Arc::new(retained));
        Ok(Some(prepared))
    }

    fn get_parameter_types(&self, prepared: &Prepared) -> PgWireResult<Vec<Type>> {
        Ok(prepared.parameters.clone())
    }

    fn get_result_schema(
        &self,
        prepared: &Prepared,
        format: Option<&Format>,
    ) -> PgWireResult<Vec<FieldInfo>> {
        Ok(formatted(
            &prepared.fields,
            format.unwrap_or(&Format::UnifiedText),
        ))
    }
}

impl Preparer {
    /// Prepares a text of one statement; `None` when there is none in it.
    async fn prepare<C>(
        &self,
        client: &C,
        sql: &str,
        types: &[Option<Type>],
    ) -> PgWireResult<Option<Prepared>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let plain = |action, fields| Prepared {
            action: Arc::new(action),
            parameters: Vec::new(),
            decimals: Arc::default(),
            fields: Arc::new(fields),
            retained: Vec::new(),
        };
        let loaded = self.session.load(sql).await;
        let load = loaded.map_err(|failure| pg_error(&failure))?;
        if let Some(parsed) = cursor::parsed(sql) {
            // The query of a cursor waits for its own.
            drop(load);
            let parsed = parsed.map_err(|failure| error_response("ERROR", &failure, Some(sql)))?;
            return self.cursor(client, parsed, types).await.map(Some);
        }
        if let Some(copy) = copied(sql)? {
            return Ok(Some(plain(PreparedAction::Copy(copy), Vec::new())));
        }
        let failed = |failure: Failure| error_response("ERROR", &failure, Some(sql));
        let mut parts = parts(&self.session, sql).map_err(failed)?;
        let Some(part) = parts.pop() else {
            return Ok(None);
        };
        if !parts.is_empty() {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(failed(Failure::new(FailureKind::Syntax, message)));
        }
        match part {
            RoutedStatement::Engine(statement) => self
                .statement(statement, types)
                .await
                .map(Some)
                .map_err(failed),
            RoutedStatement::Nothing(tag) => {
                Ok(Some(plain(PreparedAction::Nothing(tag), Vec::new())))
            }
            RoutedStatement::Deallocate(statement, name) => Ok(Some(plain(
                PreparedAction::Deallocate(statement, name),
                Vec::new(),
            ))),
            RoutedStatement::Discard => Ok(Some(plain(PreparedAction::Discard, Vec::new()))),
            RoutedStatement::Connection(setting) => {
                let fields = match &setting {
                    Setting::Show(name) => {
                        setting::Shown::new(setting::shown_as(name), "").fields()
                    }
                    _ => Vec::new(),
                };
                Ok(Some(plain(PreparedAction::Setting(setting), fields)))
            }
        }
    }

    /// Prepares a statement of the engine: its parameters have the types that the client names, those of casts, or the
    /// inferred ones.
    async fn statement(
        &self,
        statement: Statement,
        types: &[Option<Type>],
    ) -> Result<Prepared, Failure> {
        let count = statement.parameters();
        if count > usize::from(u16::MAX) {
            return Err(Failure::new(
                FailureKind::Limit,
                "a statement has 65,535 parameters at most",
            ));
        }
        if let Some(missing) = statement.missing_parameter(types.len()) {
            return Err(Failure::untyped_parameter(missing));
        }
        let (mut fields, inferred) = match statement.gives_rows() {
            true => {
                let described = self.described(&statement, types).await?;
                let origins = &described.address_origins;
                let fields = match counted(&statement) {
                    // The rows that were written are counted, and not returned.
                    Some(_) => Vec::new(),
                    None => encode::fields(&described.schema, origins, &Format::UnifiedText),
                };
                (fields, described.parameters)
            }
            false => (Vec::new(), Vec::new()),
        };
        let parameters = types_of_parameters(&statement, types, &inferred);
        let mut decimals = HashSet::new();
        if !fields.is_empty()
            && let Some((typed, exact)) = self
                .fields_of_types(&statement, &parameters, types, &inferred)
                .await
        {
            (fields, decimals) = (typed, exact);
        }
        Ok(Prepared {
            parameters,
            decimals: Arc::new(decimals),
            action: Arc::new(PreparedAction::Engine(statement)),
            fields: Arc::new(fields),
            retained: Vec::new(),
        })
    }

    /// The description of a statement whose parameters have no values yet. What is planned with values only, such as an argument of a
    /// table function, is described with some of the types that the client declares.
    async fn described(
        &self,
        statement: &Statement,
        declared: &[Option<Type>],
    ) -> Result<Described, Failure> {
        let described = self.session.describe(statement.clone()).await;
        match described {
            Err(failure) if failure.kind == FailureKind::Plan && statement.parameters() > 0 => {
                let types = types_of_parameters(statement, declared, &[]);
                let none = HashSet::new();
                let sampled = self.described_with_samples(statement, &types, &none);
                let sampled = sampled.await;
                sampled.ok_or(failure)
            }
            described => described,
        }
    }

    /// The description of a statement with values of these types; `None` where it is not planned with them.
    async fn described_with_samples(
        &self,
        statement: &Statement,
        parameters: &[Type],
        decimals: &HashSet<usize>,
    ) -> Option<Described> {
        let values = parameters.iter().enumerate();
        let values: Vec<_> = values
            .map(|(index, kind)| {
                let value = match decimals.contains(&index) {
                    true => Parameter::Decimal("1.0".to_owned()),
                    false => sample(kind),
                };
                ((index + 1).to_string(), value)
            })
            .collect();
        let bound = statement.clone().bind(&values).ok()?;
        self.session.describe(bound).await.ok()
    }

    /// The columns of a statement with parameters whose types the client declares, and nothing beside them tells, as in `SELECT $1`, or
    /// which have fractions where a whole number stands beside them, as in `SELECT $1 + 1`;
    /// `None` where there are no such parameters, or the statement is not planned with any values of these types. The places of those
    /// that are decimal numbers come with them.
    async fn fields_of_types(
        &self,
        statement: &Statement,
        parameters: &[Type],
        declared: &[Option<Type>],
        inferred: &[Option<DataType>],
    ) -> Option<(Vec<FieldInfo>, HashSet<usize>)> {
        let is_declared = |index: usize| {
            let declared = declared.get(index).and_then(Option::as_ref);
            let inferred = inferred.get(index).and_then(Option::as_ref);
            declared.is_some_and(|declared| decides(declared, inferred))
        };
        let places = (0..parameters.len()).filter(|index| is_declared(*index));
        let places: Vec<usize> = places.collect();
        if places.is_empty() {
            return None;
        }
        let is_numeric = |index: &usize| parameters.get(*index) == Some(&Type::NUMERIC);
        let mut decimals: HashSet<usize> = places.into_iter().filter(is_numeric).collect();
        let described = self.described_with_samples(statement, parameters, &decimals);
        let mut described = described.await;
        // Arguments of functions may have to be whole.
        if described.is_none() && !decimals.is_empty() {
            decimals.clear();
            let without = self.described_with_samples(statement, parameters, &decimals);
            described = without.await;
        }
        let described = described?;
        let origins = &described.address_origins;
        let fields = encode::fields(&described.schema, origins, &Format::UnifiedText);
        Some((fields, decimals))
    }

    /// Prepares a statement about cursors.
    async fn cursor<C>(
        &self,
        client: &C,
        statement: CursorStatement,
        types: &[Option<Type>],
    ) -> PgWireResult<Prepared>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let (action, parameters, fields) = match statement {
            CursorStatement::Declare(declared) => {
                let of = Box::pin(self.parse_sql(client, &declared.query, types)).await?;
                let of = of.ok_or_else(|| pg_error(&no_cursor()))?;
                let parameters = of.parameters.clone();
                (
                    PreparedAction::Declare(declared, of),
                    parameters,
                    Arc::default(),
                )
            }
            CursorStatement::Fetch(fetched) => {
                let fields = match fetched.is_move {
                    true => Arc::default(),
                    false => self.cursors.fields(&fetched.name)?,
                };
                (PreparedAction::Fetch(fetched), Vec::new(), fields)
            }
            CursorStatement::Close(name) => {
                (PreparedAction::Close(name), Vec::new(), Arc::default())
            }
        };
        Ok(Prepared {
            action: Arc::new(action),
            parameters,
            decimals: Arc::default(),
            fields,
            retained: Vec::new(),
        })
    }
}

/// The types of `$1`, `$2` and so on: those that the client declares, those of casts, and those of what stands beside them.
fn types_of_parameters(
    statement: &Statement,
    declared: &[Option<Type>],
    inferred: &[Option<DataType>],
) -> Vec<Type> {
    let (casts, lists) = (cast_parameters(statement), list_parameters(statement));
    let counts = count_parameters(statement);
    let types = (0..statement.parameters()).map(|index| {
        let cast = casts.get(&(index + 1)).cloned();
        let declared = declared.get(index).cloned().flatten();
        let declared = declared.filter(|kind| *kind != Type::UNKNOWN);
        let inferred = inferred.get(index).and_then(Option::as_ref);
        declared.or(cast).unwrap_or_else(|| {
            let kind = match inferred {
                None if counts.contains(&(index + 1)) => Type::INT8,
                inferred => type_of_parameter(inferred),
            };
            match lists.contains(&(index + 1)) {
                true => array_of(&kind).unwrap_or(Type::TEXT_ARRAY),
                false => kind,
            }
        })
    });
    types.collect()
}

/// The fields with the formats that a client wants.
pub(super) fn formatted(fields: &[FieldInfo], format: &Format) -> Vec<FieldInfo> {
    let fields = fields.iter().enumerate();
    fields
        .map(|(index, field)| {
            let name = field.name().to_owned();
            FieldInfo::new(
                name,
                None,
                None,
                field.datatype().clone(),
                encode::format_of(format, index),
            )
        })
        .collect()
}

pub(super) fn copied(sql: &str) -> PgWireResult<Option<CopyOut>> {
    if copies_in(sql) {
        let message = "COPY … FROM is refused: this server imports no data";
        let hint = "put the file below a root, or POST it to /upload";
        return Err(pg_error(
            &Failure::new(FailureKind::Refused, message).with_hint(hint),
        ));
    }
    copy_out(sql).map_err(|message| pg_error(&Failure::new(FailureKind::Syntax, message)))
}

pub(super) fn no_cursor() -> Failure {
    Failure::new(FailureKind::Plan, "a cursor takes a query")
        .with_hint("DECLARE name CURSOR FOR SELECT …")
}

/// Whether the type of a parameter is that which the client declares, and not that which the statement has in its place.
fn decides(declared: &Type, inferred: Option<&DataType>) -> bool {
    match inferred {
        None => *declared != Type::UNKNOWN,
        Some(inferred) => {
            let has_fraction = [Type::NUMERIC, Type::FLOAT4, Type::FLOAT8].contains(declared);
            has_fraction && inferred.is_integer()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `$1 + 1` was described as a whole number, and its rows with a `numeric` of 1.5 were refused.
    #[test]
    fn numbers_with_fractions_stay_such_beside_whole_ones() {
        let whole = Some(&DataType::Int64);
        for (declared, inferred, expected) in [
            (Type::NUMERIC, whole, true),
            (Type::FLOAT8, whole, true),
            (Type::FLOAT4, Some(&DataType::UInt8), true),
            (Type::INT8, whole, false),
            (Type::UNKNOWN, whole, false),
            (Type::NUMERIC, Some(&DataType::Float64), false),
            (Type::NUMERIC, Some(&DataType::Utf8), false),
            (Type::INT8, None, true),
            (Type::UNKNOWN, None, false),
        ] {
            assert_eq!(
                decides(&declared, inferred),
                expected,
                "{declared} {inferred:?}"
            );
        }
    }
}
