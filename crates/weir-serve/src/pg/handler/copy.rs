//! `COPY … TO STDOUT`: the rows of a query as text, CSV or binary.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use futures::StreamExt;
use futures::sink::{Sink, SinkExt};
use pgwire::api::portal::Format;
use pgwire::api::results::Tag;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyData, CopyDone, CopyOutResponse};
use tokio::sync::OwnedSemaphorePermit;
use weir_engine::Statement;

use super::{LONG_ROW_BYTES, PgConnection, checked};
use crate::error::{Failure, FailureKind};
use crate::pg::client::Client;
use crate::pg::encode;
use crate::pg::error::pg_error;
use crate::pg::route::{CopyFormat, CopyOut};
use crate::pg::setting;

impl PgConnection {
    /// The query whose rows are copied.
    fn query_of(&self, copy: &CopyOut) -> Result<Statement, Failure> {
        let mut statements = self.session.parse(&copy.query)?;
        let failed = |message: &str| Err(Failure::new(FailureKind::Plan, message));
        match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) if statement.is_query() => Ok(statement),
            (Some(_), true) => failed("COPY takes a query: COPY (SELECT …) TO STDOUT"),
            _ => failed("COPY takes one query"),
        }
    }

    /// Sends the rows of a query as `COPY … TO STDOUT` does.
    pub(super) async fn copy<C: Client>(
        &self,
        client: &mut C,
        copy: &CopyOut,
        load: Option<OwnedSemaphorePermit>,
    ) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let failed = |failure: Failure| pg_error(&failure);
        let statement = self.query_of(copy).map_err(failed)?;
        let configured = checked(client, &statement)?;
        let answer = self.session.start(statement).await.map_err(failed)?;
        drop(load);
        self.configure(client, configured).await?;
        let is_binary = copy.format == CopyFormat::Binary;
        let format = match is_binary {
            true => Format::UnifiedBinary,
            false => Format::UnifiedText,
        };
        let fields = Arc::new(encode::fields(&answer.schema, &answer.origins, &format));
        let columns = i16::try_from(fields.len()).unwrap_or(i16::MAX);
        let code = i16::from(is_binary);
        let response = CopyOutResponse::new(i8::from(is_binary), columns, vec![code; fields.len()]);
        client
            .feed(PgWireBackendMessage::CopyOutResponse(response))
            .await?;
        let mut out = BytesMut::new();
        match copy.format {
            CopyFormat::Binary => out.put_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0"),
            _ if copy.header => {
                let names = fields.iter().map(|field| Some(field.name().as_bytes()));
                line(copy, names, &mut out);
            }
            _ => {}
        }
        let mut rows = self.rows(answer, &fields, setting::style(client));
        let mut count = 0;
        while let Some(row) = rows.data_rows.next().await {
            let row = row?;
            count += 1;
            match copy.format {
                CopyFormat::Binary => {
                    out.put_i16(row.field_count);
                    out.put_slice(&row.data);
                }
                _ => line(copy, encode::values(&row), &mut out),
            }
            let is_long = out.len() > LONG_ROW_BYTES;
            let data = CopyData::new(out.split().freeze());
            client.feed(PgWireBackendMessage::CopyData(data)).await?;
            if is_long {
                client.flush().await?;
            }
        }
        if copy.format == CopyFormat::Binary {
            out.put_i16(-1);
        }
        if !out.is_empty() {
            let data = CopyData::new(out.split().freeze());
            client.feed(PgWireBackendMessage::CopyData(data)).await?;
        }
        client
            .feed(PgWireBackendMessage::CopyDone(CopyDone::new()))
            .await?;
        self.send_notices(client).await?;
        self.complete(client, Tag::new("COPY").with_rows(count))
            .await
    }
}

/// A line of text or CSV.
fn line<'v>(copy: &CopyOut, values: impl Iterator<Item = Option<&'v [u8]>>, out: &mut BytesMut) {
    let is_csv = copy.format == CopyFormat::Csv;
    let null = copy
        .null
        .as_deref()
        .unwrap_or(if is_csv { "" } else { "\\N" });
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.put_u8(copy.delimiter);
        }
        let Some(value) = value else {
            out.put_slice(null.as_bytes());
            continue;
        };
        if is_csv {
            let quotes =
                |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || *byte == copy.delimiter;
            if value == null.as_bytes() || value.iter().any(quotes) {
                out.put_u8(b'"');
                for byte in value {
                    if *byte == b'"' {
                        out.put_u8(b'"');
                    }
                    out.put_u8(*byte);
                }
                out.put_u8(b'"');
            } else {
                out.put_slice(value);
            }
            continue;
        }
        for byte in value {
            match byte {
                b'\\' => out.put_slice(b"\\\\"),
                b'\n' => out.put_slice(b"\\n"),
                b'\r' => out.put_slice(b"\\r"),
                b'\t' => out.put_slice(b"\\t"),
                byte if *byte == copy.delimiter => out.put_slice(&[b'\\', *byte]),
                byte => out.put_u8(*byte),
            }
        }
    }
    out.put_u8(b'\n');
}
