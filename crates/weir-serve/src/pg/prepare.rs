//! Prepared statements: the part of the server that runs them, their parameters and their columns.

use std::sync::Arc;

use async_trait::async_trait;
use pgwire::api::portal::Format;
use pgwire::api::results::FieldInfo;
use pgwire::api::stmt::QueryParser;
use pgwire::api::{ClientInfo, Type};
use pgwire::error::PgWireResult;
use weir_engine::Statement;

use super::cursor::{self, CursorStatement, Cursors, Declared, Fetched};
use super::encode;
use super::error::{refusal, refused};
use super::parameter::{array_of, type_of_parameter};
use super::route::{
    CopyOut, RoutedStatement, Setting, cast_parameters, copies_in, copy_out, counted,
    list_parameters, parts,
};
use super::setting;
use crate::error::{Failure, FailureKind};
use crate::retained::{Retained, of_statement};
use crate::session::Session;

/// A prepared statement.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) doing: Arc<Doing>,
    pub(super) parameters: Vec<Type>,
    /// Columns of the answer, with the format open.
    pub(super) fields: Arc<Vec<FieldInfo>>,
    /// The memory of the statement, and of the values of its parameters where it is bound, which is counted while this exists.
    pub(super) retained: Vec<Arc<Retained>>,
}

/// The part of the server that runs a statement.
pub(super) enum Doing {
    Engine(Statement),
    Copy(CopyOut),
    Nothing(&'static str),
    Setting(Setting),
    TimeZone(Statement, String),
    /// A cursor for a query.
    Declare(Declared, Prepared),
    Fetch(Fetched),
    Close(Option<String>),
}

impl Prepared {
    /// The columns of the answer.
    pub(super) const fn fields(&self) -> &Arc<Vec<FieldInfo>> {
        &self.fields
    }

    /// True for what a cursor goes over.
    pub(super) fn is_query(&self) -> bool {
        match &*self.doing {
            Doing::Engine(statement) => statement.is_query() && statement.gives_rows(),
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
        let bytes = of_statement(sql, prepared.fields.len());
        let retained = self.session.retention.add(bytes);
        let retained = retained.map_err(|failure| refused(&failure))?;
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
        let plain = |doing, fields| Prepared {
            doing: Arc::new(doing),
            parameters: Vec::new(),
            fields: Arc::new(fields),
            retained: Vec::new(),
        };
        let loaded = self.session.load(sql).await;
        let load = loaded.map_err(|failure| refused(&failure))?;
        if let Some(asked) = cursor::asked(sql) {
            // The query of a cursor waits for its own.
            drop(load);
            let asked = asked.map_err(|failure| refusal("ERROR", &failure, Some(sql)))?;
            return self.cursor(client, asked, types).await.map(Some);
        }
        if let Some(copy) = copied(sql)? {
            return Ok(Some(plain(Doing::Copy(copy), Vec::new())));
        }
        let failed = |failure: Failure| refusal("ERROR", &failure, Some(sql));
        let mut parts = parts(&self.session, sql).map_err(failed)?;
        let Some(part) = parts.pop() else {
            return Ok(None);
        };
        if !parts.is_empty() {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(failed(Failure::new(FailureKind::Syntax, message)));
        }
        let statement = match part {
            RoutedStatement::Engine(statement) => statement,
            RoutedStatement::Nothing(tag) => {
                return Ok(Some(plain(Doing::Nothing(tag), Vec::new())));
            }
            RoutedStatement::TimeZone(statement, zone) => {
                return Ok(Some(plain(Doing::TimeZone(statement, zone), Vec::new())));
            }
            RoutedStatement::Connection(asked) => {
                let fields = match &asked {
                    Setting::Show(name) => {
                        setting::Shown::new(setting::shown_as(name), "").fields()
                    }
                    _ => Vec::new(),
                };
                return Ok(Some(plain(Doing::Setting(asked), fields)));
            }
        };
        let count = statement.parameters();
        if count > usize::from(u16::MAX) {
            return Err(failed(Failure::new(
                FailureKind::Limit,
                "a statement has 65,535 parameters at most",
            )));
        }
        let (fields, inferred) = match statement.gives_rows() {
            true => {
                let described = self
                    .session
                    .describe(statement.clone())
                    .await
                    .map_err(failed)?;
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
        let (casts, lists) = (cast_parameters(&statement), list_parameters(&statement));
        let parameters = (0..count).map(|index| {
            let cast = casts.get(&(index + 1)).cloned();
            let given = types.get(index).cloned().flatten();
            let given = given.filter(|kind| *kind != Type::UNKNOWN);
            let inferred = inferred.get(index).and_then(Option::as_ref);
            given.or(cast).unwrap_or_else(|| {
                let kind = type_of_parameter(inferred);
                match lists.contains(&(index + 1)) {
                    true => array_of(&kind).unwrap_or(Type::TEXT_ARRAY),
                    false => kind,
                }
            })
        });
        Ok(Some(Prepared {
            parameters: parameters.collect(),
            doing: Arc::new(Doing::Engine(statement)),
            fields: Arc::new(fields),
            retained: Vec::new(),
        }))
    }

    /// Prepares a statement about cursors.
    async fn cursor<C>(
        &self,
        client: &C,
        asked: CursorStatement,
        types: &[Option<Type>],
    ) -> PgWireResult<Prepared>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let (doing, parameters, fields) = match asked {
            CursorStatement::Declare(declared) => {
                let of = Box::pin(self.parse_sql(client, &declared.query, types)).await?;
                let of = of.ok_or_else(|| refused(&no_cursor()))?;
                let parameters = of.parameters.clone();
                (Doing::Declare(declared, of), parameters, Arc::default())
            }
            CursorStatement::Fetch(fetched) => {
                let fields = match fetched.is_move {
                    true => Arc::default(),
                    false => self.cursors.fields(&fetched.name)?,
                };
                (Doing::Fetch(fetched), Vec::new(), fields)
            }
            CursorStatement::Close(name) => (Doing::Close(name), Vec::new(), Arc::default()),
        };
        Ok(Prepared {
            doing: Arc::new(doing),
            parameters,
            fields,
            retained: Vec::new(),
        })
    }
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
                format.format_for(index),
            )
        })
        .collect()
}

pub(super) fn copied(sql: &str) -> PgWireResult<Option<CopyOut>> {
    if copies_in(sql) {
        let message = "COPY … FROM is refused: this server imports no data";
        let hint = "put the file below a root, or POST it to /upload";
        return Err(refused(
            &Failure::new(FailureKind::Refused, message).with_hint(hint),
        ));
    }
    copy_out(sql).map_err(|message| refused(&Failure::new(FailureKind::Syntax, message)))
}

pub(super) fn no_cursor() -> Failure {
    Failure::new(FailureKind::Plan, "a cursor takes a query")
        .with_hint("DECLARE name CURSOR FOR SELECT …")
}
