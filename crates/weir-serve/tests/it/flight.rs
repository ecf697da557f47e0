//! Arrow Flight SQL: the client of Rust, and what is refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, AsArray, Decimal128Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use arrow::ipc::writer::IpcWriteOptions;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    ActionCancelQueryRequest, ActionCancelQueryResult, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, Any, CommandGetDbSchemas, CommandGetPrimaryKeys,
    CommandGetTables, CommandGetXdbcTypeInfo, CommandPreparedStatementQuery, ProstMessageExt,
    SqlInfo,
};
use arrow_flight::{
    Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightData,
    FlightDescriptor, FlightInfo, SchemaAsIpc,
};
use futures::TryStreamExt;
use prost::Message;
use tonic::Code;
use tonic::transport::Channel;

use crate::served::{Served, write_late_column};

type Client = FlightSqlServiceClient<Channel>;

async fn connect(served: &Served) -> Client {
    let address = format!("http://{}", served.flight);
    let channel = Channel::from_shared(address).unwrap().connect().await;
    FlightSqlServiceClient::new(channel.unwrap())
}

async fn fetch(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>, FlightError> {
    let schema = info.clone().try_decode_schema().unwrap();
    let mut all = Vec::new();
    for endpoint in info.endpoint {
        let mut stream = client.do_get(endpoint.ticket.unwrap()).await?;
        while let Some(batch) = stream.try_next().await? {
            assert_eq!(batch.schema().fields(), schema.fields());
            all.push(batch);
        }
    }
    Ok(all)
}

async fn ask(client: &mut Client, sql: &str) -> Result<Vec<RecordBatch>, FlightError> {
    let info = client.execute(sql.to_owned(), None).await?;
    fetch(client, info).await
}

fn code(error: FlightError) -> (Code, String) {
    match error {
        FlightError::Tonic(status) => (status.code(), status.message().to_owned()),
        other => panic!("{other}"),
    }
}

/// Prepares a statement, and gives its handle.
async fn prepared(client: &mut Client, sql: &str) -> bytes::Bytes {
    let query = ActionCreatePreparedStatementRequest {
        query: sql.to_owned(),
        transaction_id: None,
    };
    let action = Action::new("CreatePreparedStatement", query.as_any().encode_to_vec());
    let mut results = client.do_action(action).await.unwrap();
    let result = results.message().await.unwrap().unwrap();
    let result = Any::decode(result.body).unwrap();
    let result: ActionCreatePreparedStatementResult = result.unpack().unwrap().unwrap();
    result.prepared_statement_handle
}

/// The header of a record batch of 100 integers, compressed by LZ4, as PyArrow 26 writes it.
const COMPRESSED_HEADER: &str = "\
    14000000000000000c0018000600050008000c000c000000000304001c0000003000000000000000000000000c001c001000\
    040008000c000c000000480000001c0000001400000064000000000000000000000004000400040000000200000000000000\
    0000000000000000000000000000000000000000290000000000000000000000010000006400000000000000000000000000\
    0000";

/// The size of a compressed buffer's allocation precedes the buffer.
#[test]
fn compressed_values_of_parameters_are_refused_before_they_are_read() {
    let served = Served::plain();
    let digits = COMPRESSED_HEADER.as_bytes().chunks(2);
    let header: Vec<u8> = digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut client = connect(&served).await;
        let handle = prepared(&mut client, "SELECT CAST($1 AS BIGINT)").await;
        let command = CommandPreparedStatementQuery {
            prepared_statement_handle: handle,
        };
        let schema = Schema::new(vec![Field::new("$1", DataType::Int64, true)]);
        for length in [800, 1 << 33, 1 << 46, i64::MAX, -2] {
            let mut body = i64::to_le_bytes(length).to_vec();
            body.resize(48, 0);
            let options = IpcWriteOptions::default();
            let mut first = FlightData::from(SchemaAsIpc::new(&schema, &options));
            first.flight_descriptor =
                Some(FlightDescriptor::new_cmd(command.as_any().encode_to_vec()));
            let rows = FlightData::new()
                .with_data_header(header.clone())
                .with_data_body(body);
            let put = client.do_put(futures::stream::iter([first, rows])).await;
            let put = match put {
                Ok(mut results) => results.message().await.map_err(FlightError::from).map(drop),
                Err(error) => Err(error),
            };
            let (code, message) = code(put.unwrap_err());
            assert_eq!(code, Code::InvalidArgument, "{length}: {message}");
            assert!(message.contains("are compressed"), "{length}: {message}");
        }
        // The connection still works.
        assert_eq!(cells(&ask(&mut client, "SELECT 1").await.unwrap()), [["1"]]);
    });
}

/// A NULL in the first row of values made its column one of NULLs, from which that of the next row differed.
#[test]
fn rows_of_values_have_the_types_of_those_that_are_not_null() {
    let served = Served::plain();
    run(async {
        let mut client = connect(&served).await;
        let sql = "SELECT $1, $2".to_owned();
        let mut prepared = client.prepare(sql, None).await.unwrap();
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(5), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]));
        let columns = [("$1", numbers, true), ("$2", texts, true)];
        let values = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        prepared.set_parameters(values).unwrap();
        let info = prepared.execute().await.unwrap();
        let schema = info.clone().try_decode_schema().unwrap();
        assert_eq!(*schema.field(0).data_type(), DataType::Int64);
        let rows = cells(&fetch(&mut client, info).await.unwrap());
        assert_eq!(rows, [["NULL", "a"], ["5", "NULL"], ["NULL", "b"]]);
        prepared.close().await.unwrap();
    });
}

/// Arrow's reader trusts the lengths in a message: it panicked, which was counted as an error of the program.
#[test]
fn values_that_their_reader_panics_at_are_refused_before() {
    let served = Served::plain();
    let values = Int64Array::from(vec![Some(1), None]);
    let values = RecordBatch::try_from_iter([("$1", Arc::new(values) as _)]).unwrap();
    let messages = arrow_flight::utils::batches_to_flight_data(&values.schema(), vec![values]);
    let mut messages = messages.unwrap();
    // The bitmap of NULLs, which is the first buffer and has one octet, has none.
    let bitmap = [0_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat();
    let mut header = messages[1].data_header.to_vec();
    let place = header.windows(16).position(|octets| octets == bitmap);
    header[place.unwrap() + 8] = 0;
    messages[1].data_header = header.into();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut client = connect(&served).await;
        let handle = prepared(&mut client, "SELECT CAST($1 AS BIGINT)").await;
        let command = CommandPreparedStatementQuery {
            prepared_statement_handle: handle,
        };
        let descriptor = FlightDescriptor::new_cmd(command.as_any().encode_to_vec());
        messages[0].flight_descriptor = Some(descriptor);
        for _ in 0..2 {
            let put = client.do_put(futures::stream::iter(messages.clone())).await;
            let put = match put {
                Ok(mut results) => results.message().await.map_err(FlightError::from).map(drop),
                Err(error) => Err(error),
            };
            let (code, message) = code(put.unwrap_err());
            assert_eq!(code, Code::InvalidArgument, "{message}");
            assert!(
                message.contains("a bitmap of NULLs is shorter"),
                "{message}"
            );
            served.wait_for("weir_panics_total 0");
        }
        assert_eq!(cells(&ask(&mut client, "SELECT 1").await.unwrap()), [["1"]]);
    });
}

async fn refused(client: &mut Client, sql: &str) -> (Code, String) {
    match ask(client, sql).await {
        Ok(batches) => panic!("{sql}: {batches:?}"),
        Err(error) => code(error),
    }
}

/// The cells of all rows as texts.
fn cells(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let columns: Vec<_> = columns
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| column.value(row).to_string());
            rows.push(cells.collect());
        }
    }
    rows
}

/// The answer of the engine itself, which the command line prints.
async fn of_engine(served: &Served, sql: &str) -> Vec<Vec<String>> {
    let mut options = weir_engine::Options::default();
    options.roots = vec![served.path().canonicalize().unwrap()];
    let engine = weir_engine::Engine::new(&options).unwrap();
    let statement = engine.parse(sql).unwrap().remove(0);
    let mut answer = engine.answer(statement).await.unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = answer.next().await.unwrap() {
        batches.push(batch);
    }
    cells(&batches)
}

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(work);
}

#[test]
fn rows_are_those_of_the_command_line() {
    let served = Served::plain();
    run(async {
        let mut client = connect(&served).await;
        for sql in [
            "SELECT * FROM 'office.pcapng' ORDER BY frame.number",
            "SELECT frame.number, frame.time, ip.src, ipv6.src, eth.src, tcp.dstport FROM 'office.pcapng' ORDER BY 1",
            "SELECT arrow_cast(18446744073709551615, 'UInt64') AS most, NULL AS nothing, [1, NULL, 3] AS list, X'00ff' AS bytes, TIMESTAMP '2026-01-02 03:04:05.123456789' AS at",
            "SELECT ip.src, array_agg(DISTINCT tcp.dstport ORDER BY tcp.dstport), array_agg(DISTINCT ip.dst ORDER BY ip.dst) FROM 'office.pcapng' GROUP BY 1 ORDER BY 1",
            "SELECT * FROM dns('office.pcapng') ORDER BY frame.number",
            "FROM flows('office.pcapng') |> AGGREGATE count(*) GROUP BY ip.proto |> ORDER BY 1",
            "SELECT 1 WHERE false",
            "SHOW TABLES",
            "DESCRIBE 'office.pcapng'",
        ] {
            let given = ask(&mut client, sql)
                .await
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
            for kind in given
                .iter()
                .flat_map(|batch| batch.schema().fields().to_vec())
            {
                let kind = kind.data_type().to_string();
                assert!(
                    !kind.contains("View") && !kind.contains("Dictionary"),
                    "{sql}: {kind}"
                );
            }
            assert_eq!(cells(&given), of_engine(&served, sql).await, "{sql}");
        }
    });
}

#[test]
fn what_there_is_is_listed() {
    let served = Served::plain();
    run(async {
        let mut client = connect(&served).await;
        let info = client
            .get_sql_info(vec![
                SqlInfo::FlightSqlServerName,
                SqlInfo::FlightSqlServerReadOnly,
            ])
            .await
            .unwrap();
        let told = cells(&fetch(&mut client, info).await.unwrap());
        assert!(
            told.len() == 2 && told[0][1].contains("weir") && told[1][1].contains("true"),
            "{told:?}"
        );
        let info = client.get_sql_info(vec![]).await.unwrap();
        let all = fetch(&mut client, info).await.unwrap();
        let numbers = all[0].column(0).as_primitive::<UInt32Type>();
        assert!(
            numbers
                .values()
                .contains(&(SqlInfo::SqlIdentifierQuoteChar as u32))
                && numbers.len() > 40
        );
        let info = client.get_catalogs().await.unwrap();
        assert_eq!(cells(&fetch(&mut client, info).await.unwrap()), [["weir"]]);
        let query = |pattern: Option<&str>| CommandGetDbSchemas {
            catalog: None,
            db_schema_filter_pattern: pattern.map(str::to_owned),
        };
        let info = client.get_db_schemas(query(Some("pub%"))).await.unwrap();
        assert_eq!(
            cells(&fetch(&mut client, info).await.unwrap()),
            [["weir", "public"]]
        );
        let info = client.get_db_schemas(query(Some("x%"))).await.unwrap();
        assert!(cells(&fetch(&mut client, info).await.unwrap()).is_empty());
        let tables = |kinds: &[&str]| CommandGetTables {
            catalog: Some("weir".to_owned()),
            db_schema_filter_pattern: None,
            table_name_filter_pattern: Some("off%".to_owned()),
            table_types: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            include_schema: true,
        };
        let info = client.get_tables(tables(&["TABLE", "VIEW"])).await.unwrap();
        let found = fetch(&mut client, info).await.unwrap();
        assert_eq!(
            found[0].column(2).as_string::<i32>().value(0),
            "office.pcapng"
        );
        let schema = found[0].column(4).as_binary::<i32>().value(0).to_vec();
        let schema = Schema::try_from(arrow_flight::IpcMessage(schema.into())).unwrap();
        assert_eq!(
            schema.field_with_name("ip.src").unwrap().data_type(),
            &DataType::Utf8
        );
        let info = client.get_tables(tables(&["VIEW"])).await.unwrap();
        assert!(cells(&fetch(&mut client, info).await.unwrap()).is_empty());
        // Patterns become regular expressions, which take a thousand times as much.
        let mut long = tables(&["TABLE"]);
        long.table_name_filter_pattern = Some("%_".repeat(501));
        let info = client.get_tables(long).await.unwrap();
        let (found, message) = code(fetch(&mut client, info).await.unwrap_err());
        assert_eq!(found, Code::InvalidArgument);
        assert!(message.contains("1000 bytes at most"), "{message}");
        let info = client.get_table_types().await.unwrap();
        assert_eq!(cells(&fetch(&mut client, info).await.unwrap()), [["TABLE"]]);
        let info = client
            .get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: None })
            .await
            .unwrap();
        assert!(cells(&fetch(&mut client, info).await.unwrap()).len() > 10);
        let keys = CommandGetPrimaryKeys {
            catalog: None,
            db_schema: None,
            table: "office.pcapng".to_owned(),
        };
        let info = client.get_primary_keys(keys).await.unwrap();
        assert!(cells(&fetch(&mut client, info).await.unwrap()).is_empty());
    });
}

/// JSON was read whole for its columns, which kept lists of tables from being answered.
#[test]
fn columns_in_lists_of_tables_are_those_of_the_beginnings_of_files() {
    let served = Served::with(|options| write_late_column(&options.roots[0]));
    run(async {
        let mut client = connect(&served).await;
        let tables = CommandGetTables {
            catalog: None,
            db_schema_filter_pattern: None,
            table_name_filter_pattern: Some("late.ndjson".to_owned()),
            table_types: Vec::new(),
            include_schema: true,
        };
        let info = client.get_tables(tables).await.unwrap();
        let found = fetch(&mut client, info).await.unwrap();
        let schema = found[0].column(4).as_binary::<i32>().value(0).to_vec();
        let schema = Schema::try_from(arrow_flight::IpcMessage(schema.into())).unwrap();
        let names: Vec<&str> = (schema.fields().iter())
            .map(|field| field.name().as_str())
            .collect();
        assert_eq!(names, ["a", "b"]);
        let rows = ask(&mut client, "SELECT a FROM 'late.ndjson' WHERE late").await;
        assert_eq!(cells(&rows.unwrap()), [["1.5"]]);
    });
}

#[test]
fn prepared_statements_take_values() {
    let served = Served::plain();
    run(async {
        let mut client = connect(&served).await;
        let sql = "SELECT count(*) FROM 'office.pcapng' WHERE frame.len > $1 AND ip.src = $2";
        let all = cells(&ask(&mut client, "SELECT ip.src, count(*) FROM 'office.pcapng' WHERE frame.len > 60 AND ip.src IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 2").await.unwrap());
        let mut prepared = client.prepare(sql.to_owned(), None).await.unwrap();
        let wanted = prepared.parameter_schema().unwrap();
        assert_eq!(wanted.fields().len(), 2);
        let values = |lengths: Vec<i64>, sources: Vec<&str>| {
            RecordBatch::try_from_iter([
                ("$1", Arc::new(Int64Array::from(lengths)) as ArrayRef),
                ("$2", Arc::new(StringArray::from(sources)) as ArrayRef),
            ])
        };
        prepared
            .set_parameters(values(vec![60], vec![&all[0][0]]).unwrap())
            .unwrap();
        let info = prepared.execute().await.unwrap();
        assert_eq!(
            cells(&fetch(&mut client, info).await.unwrap()),
            [[all[0][1].as_str()]]
        );
        // Several rows of values: the answers behind each other.
        prepared
            .set_parameters(
                values(
                    vec![60, 60, 100_000],
                    vec![&all[1][0], &all[0][0], &all[0][0]],
                )
                .unwrap(),
            )
            .unwrap();
        let info = prepared.execute().await.unwrap();
        let given = cells(&fetch(&mut client, info).await.unwrap());
        assert_eq!(given, [[all[1][1].as_str()], [all[0][1].as_str()], ["0"]]);
        let one =
            RecordBatch::try_from_iter([("$1", Arc::new(Int64Array::from(vec![60])) as ArrayRef)]);
        prepared.set_parameters(one.unwrap()).unwrap();
        let (code, message) = code(prepared.execute().await.unwrap_err());
        assert!(
            code == Code::InvalidArgument
                && message.contains("the number of values is 1, and that of parameters 2"),
            "{message}"
        );
        prepared.close().await.unwrap();
        // Unset parameters have no values.
        let mut prepared = client
            .prepare("SELECT $1 + 1".to_owned(), None)
            .await
            .unwrap();
        let error = prepared.execute().await;
        let error = match error {
            Ok(info) => fetch(&mut client, info).await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.to_string().contains("$1"), "{error}");
    });
}

/// A decimal number became the floating-point number next to it.
#[test]
fn decimal_numbers_have_all_of_their_digits() {
    let served = Served::plain();
    run(async {
        let mut client = connect(&served).await;
        let values = |values: Vec<i128>| {
            let values = Decimal128Array::from(values).with_precision_and_scale(38, 10);
            RecordBatch::try_from_iter([("$1", Arc::new(values.unwrap()) as ArrayRef)]).unwrap()
        };
        let long = 12_345_678_901_234_567_890_123_456_789_012_345_678;
        let mut prepared = client
            .prepare("SELECT $1 AS v".to_owned(), None)
            .await
            .unwrap();
        prepared.set_parameters(values(vec![long, -5])).unwrap();
        let info = prepared.execute().await.unwrap();
        let rows = fetch(&mut client, info).await.unwrap();
        let kind = rows[0].schema().field(0).data_type().clone();
        assert_eq!(kind, DataType::Decimal128(38, 10));
        let expected = ["1234567890123456789012345678.9012345678", "-0.0000000005"];
        assert_eq!(cells(&rows), [[expected[0]], [expected[1]]]);
        // A list of floating-point numbers takes such numbers only.
        let mut prepared = client
            .prepare("SELECT array_append([1.5], $1) AS v".to_owned(), None)
            .await
            .unwrap();
        prepared
            .set_parameters(values(vec![5_000_000_000]))
            .unwrap();
        let info = prepared.execute().await.unwrap();
        let rows = fetch(&mut client, info).await.unwrap();
        assert_eq!(cells(&rows), [["[1.5, 0.5]"]]);
    });
}

#[test]
fn views_and_settings_live_as_long_as_their_connection() {
    let served = Served::plain();
    run(async {
        let mut client = connect(&served).await;
        assert_eq!(
            client
                .execute_update(
                    "CREATE VIEW long AS SELECT * FROM 'office.pcapng' WHERE frame.len > 1000"
                        .to_owned(),
                    None
                )
                .await
                .unwrap(),
            0
        );
        let sql = "SELECT count(*) FROM long";
        let count = cells(&ask(&mut client, sql).await.unwrap());
        let same = "CREATE VIEW long2 AS SELECT * FROM 'office.pcapng' WHERE frame.len > 1000; SELECT count(*) FROM long2";
        assert_eq!(cells(&ask(&mut client, same).await.unwrap()), count);
        // A text of several statements leaves nothing behind.
        assert!(
            ask(&mut client, "SELECT count(*) FROM long2")
                .await
                .is_err()
        );
        ask(&mut client, "SET TIME ZONE '+02:00'").await.unwrap();
        let at = cells(
            &ask(&mut client, "SELECT TIMESTAMPTZ '2026-01-01 00:00:00Z'")
                .await
                .unwrap(),
        );
        assert_eq!(at, [["2026-01-01T02:00:00+02:00"]]);
        let mut other = connect(&served).await;
        assert!(ask(&mut other, sql).await.is_err());
        let (code, message) = refused(&mut client, "CREATE VIEW long AS SELECT 1").await;
        assert!(
            code == Code::InvalidArgument || code == Code::Unknown,
            "{message}"
        );
    });
}

#[test]
fn a_cancel_and_a_dropped_stream_end_the_scan() {
    let served = Served::plain();
    run(async {
        let mut client = connect(&served).await;
        let endless =
            "SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000";
        let info = client.execute(endless.to_owned(), None).await.unwrap();
        let cancel = async |client: &mut Client| {
            let body = CancelFlightInfoRequest::new(info.clone()).encode_to_vec();
            let mut results = client
                .do_action(Action::new("CancelFlightInfo", body))
                .await
                .unwrap();
            let result = results.message().await.unwrap().unwrap();
            CancelFlightInfoResult::decode(result.body).unwrap().status
        };
        // The best of three: a machine that does much else may take its time.
        let mut soonest = Duration::MAX;
        for _ in 0..3 {
            let ticket = info.endpoint[0].ticket.clone().unwrap();
            let mut asking = client.clone();
            let asked = tokio::spawn(async move {
                let mut stream = asking.do_get(ticket).await?;
                stream.try_next().await
            });
            served.wait_for("weir_queries_running 1");
            let begun = Instant::now();
            assert_eq!(cancel(&mut client).await, CancelStatus::Cancelled as i32);
            let (ended, _) = code(asked.await.unwrap().unwrap_err());
            assert_eq!(ended, Code::Cancelled);
            soonest = soonest.min(begun.elapsed());
            served.wait_for("weir_queries_running 0");
            if soonest < Duration::from_secs(1) {
                break;
            }
        }
        assert!(soonest < Duration::from_secs(1), "{soonest:?}");
        assert_eq!(
            cancel(&mut client).await,
            CancelStatus::NotCancellable as i32
        );
        // The connection still works.
        assert_eq!(cells(&ask(&mut client, "SELECT 1").await.unwrap()), [["1"]]);
        // The older action of Flight SQL for the same purpose works, too.
        let mut asking = client.clone();
        let again = info.endpoint[0].ticket.clone().unwrap();
        let asked = tokio::spawn(async move { asking.do_get(again).await?.try_next().await });
        served.wait_for("weir_queries_running 1");
        let query = ActionCancelQueryRequest {
            info: info.encode_to_vec().into(),
        };
        let body = query.as_any().encode_to_vec();
        let mut results = client
            .do_action(Action::new("CancelQuery", body))
            .await
            .unwrap();
        let result = results.message().await.unwrap().unwrap();
        let result = Any::decode(result.body).unwrap();
        let result: ActionCancelQueryResult = result.unpack().unwrap().unwrap();
        assert_eq!(result.result, CancelStatus::Cancelled as i32);
        let (ended, _) = code(asked.await.unwrap().unwrap_err());
        assert_eq!(ended, Code::Cancelled);
        served.wait_for("weir_queries_running 0");
        let mut asking = client.clone();
        let again = info.endpoint[0].ticket.clone().unwrap();
        let asked = tokio::spawn(async move { asking.do_get(again).await?.try_next().await });
        served.wait_for("weir_queries_running 1");
        asked.abort();
        served.wait_for("weir_queries_running 0");
        // The client fetches no rows of this one, and goes.
        let mut stream = connect(&served).await;
        let info = stream
            .execute(
                "SELECT v FROM generate_series(1, 1000000000000) a(v)".to_owned(),
                None,
            )
            .await
            .unwrap();
        let mut rows = stream
            .do_get(info.endpoint[0].ticket.clone().unwrap())
            .await
            .unwrap();
        assert!(rows.try_next().await.unwrap().is_some());
        served.wait_for("weir_queries_running 1");
        drop((rows, stream));
        served.wait_for("weir_queries_running 0");
    });
}

#[test]
fn damage_is_reported_at_the_end_of_the_rows() {
    let served = Served::plain();
    let whole = std::fs::read(served.path().join("voip.pcap")).unwrap();
    std::fs::write(served.path().join("cut é.pcap"), &whole[..whole.len() - 7]).unwrap();
    run(async {
        let mut client = connect(&served).await;
        let info = client
            .execute("SELECT count(*) FROM 'cut é.pcap'".to_owned(), None)
            .await
            .unwrap();
        let mut stream = client
            .do_get(info.endpoint[0].ticket.clone().unwrap())
            .await
            .unwrap();
        while stream.try_next().await.unwrap().is_some() {}
        let told = stream.trailers().unwrap();
        let told = told.get("weir-damage").unwrap().to_str().unwrap();
        assert!(told.contains("cut %C3%A9.pcap"), "{told}");
    });
}

#[test]
fn limits_are_named() {
    let served = Served::with(|options| {
        options.limits.text_bytes_max = 1000;
        options.limits.connections_max = 2;
        options.limits.rows_max = Some(5);
        // The other statements are planned within it, on a machine that does much else, too.
        options.limits.time_max = Some(Duration::from_secs(3));
    });
    run(async {
        let mut client = connect(&served).await;
        for (sql, limit) in [
            (format!("SELECT '{}'", "x".repeat(2000)), "--max-text"),
            (format!("SELECT '{}'", "x".repeat(200_000)), "--max-text"),
            (
                "SELECT * FROM generate_series(1, 10)".to_owned(),
                "--max-rows",
            ),
        ] {
            let (code, message) = refused(&mut client, &sql).await;
            assert!(
                code == Code::ResourceExhausted && message.contains(limit),
                "{message}"
            );
        }
        let endless =
            "SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000";
        let (code, message) = refused(&mut client, endless).await;
        assert!(
            code == Code::DeadlineExceeded && message.contains("--max-time"),
            "{message}"
        );
        served.wait_for("weir_queries_running 0");
        let mut second = connect(&served).await;
        ask(&mut second, "SELECT 1").await.unwrap();
        let mut third = connect(&served).await;
        let (code, message) = refused(&mut third, "SELECT 1").await;
        assert!(
            code == Code::ResourceExhausted && message.contains("--max-connections is 2"),
            "{message}"
        );
    });
}

#[test]
fn strangers_are_not_answered() {
    let served = Served::with(|options| {
        options.password = Some("right".to_owned());
        options.token = Some("sesame".to_owned());
    });
    run(async {
        let mut client = connect(&served).await;
        let (code, message) = refused(&mut client, "SELECT 1").await;
        assert!(
            code == Code::Unauthenticated && message.contains("password"),
            "{message}"
        );
        assert!(
            client
                .handshake("me", "wrong")
                .await
                .unwrap_err()
                .to_string()
                .contains("is wrong")
        );
        for token in ["sesamf", "", "right"] {
            client.set_token(token.to_owned());
            assert_eq!(
                refused(&mut client, "SELECT 1").await.0,
                Code::Unauthenticated,
                "{token}"
            );
        }
        client.set_token("sesame".to_owned());
        assert!(ask(&mut client, "SELECT 1").await.is_ok());
        let mut client = connect(&served).await;
        client.handshake("me", "right").await.unwrap();
        assert!(client.token().is_some_and(|token| token.len() == 32));
        assert!(ask(&mut client, "SELECT 1").await.is_ok());
        client.set_header("origin", "http://evil.example");
        assert_eq!(
            refused(&mut client, "SELECT 1").await.0,
            Code::PermissionDenied
        );
    });
}

#[test]
fn nothing_leads_out_of_the_roots_and_nothing_is_written() {
    let served = Served::plain();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.csv"), "a,b\n1,2\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), served.path().join("way")).unwrap();
    let whole = format!("SELECT * FROM '{}/secret.csv'", outside.path().display());
    run(async {
        let mut client = connect(&served).await;
        for sql in [
            "SELECT * FROM '/etc/passwd'",
            "SELECT * FROM '../secret.csv'",
            "SELECT * FROM 'way/secret.csv'",
            "SELECT 1; SELECT * FROM 'way/secret.csv'",
            "CREATE VIEW v AS SELECT * FROM 'way/secret.csv'",
            "COPY (SELECT 1) TO 'out.csv'",
            "COPY (SELECT 1) TO '/tmp/out.csv'",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
            "CREATE TABLE t AS SELECT 1",
            "SELECT 1 AS a INTO t",
            "INSERT INTO t VALUES (1)",
            "UPDATE t SET a = 1",
            "DELETE FROM t",
            "TRUNCATE t",
            "DROP TABLE t",
            "ALTER TABLE t ADD COLUMN b INT",
            "CREATE SCHEMA s",
            "BEGIN",
            "GRANT SELECT ON t TO me",
            "SET datafusion.runtime.temp_directory = '/tmp'",
            &whole,
        ] {
            let mut message = vec![refused(&mut client, sql).await.1];
            message.push(
                code(
                    client
                        .execute_update(sql.to_owned(), None)
                        .await
                        .unwrap_err(),
                )
                .1,
            );
            message.push(client.prepare(sql.to_owned(), None).await.map_or_else(
                |error| code(error).1,
                // Only what is done is refused, where it is not planned before.
                |_| "refused".to_owned(),
            ));
            for message in message {
                let says = message.contains("restricted") || message.contains("refused");
                assert!(says && !message.contains("1,2"), "{sql}: {message}");
            }
        }
        assert!(!served.path().join("out.csv").exists());
    });
}

#[test]
fn tickets_and_handles_of_others_are_nothing() {
    let served = Served::plain();
    run(async {
        use arrow_flight::sql::{
            Any, CommandPreparedStatementQuery, ProstMessageExt, TicketStatementQuery,
        };
        let mut client = connect(&served).await;
        let ticket = |any: Any| arrow_flight::Ticket::new(any.encode_to_vec());
        let mine = TicketStatementQuery {
            statement_handle: "Tx".into(),
        }
        .as_any();
        let theirs = CommandPreparedStatementQuery {
            prepared_statement_handle: "x".into(),
        }
        .as_any();
        for any in [
            mine,
            theirs,
            Any {
                type_url: "x".to_owned(),
                value: "x".into(),
            },
        ] {
            assert!(client.do_get(ticket(any)).await.is_err());
        }
        assert!(
            client
                .do_get(arrow_flight::Ticket::new(vec![0xff; 40]))
                .await
                .is_err()
        );
        let (code, message) = match client.do_action(Action::new("DropCreate", "")).await {
            Err(error) => code(error),
            Ok(_) => panic!("it was done"),
        };
        assert!(code == Code::Unimplemented, "{message}");
        assert_eq!(cells(&ask(&mut client, "SELECT 1").await.unwrap()), [["1"]]);
    });
}

/// Statements that write, on a server that may write: an engine lives as long as a statement, so tables are not kept.
#[test]
fn what_writes_works_or_says_why_not() {
    let served = Served::with(|options| options.allow_write = true);
    run(async {
        let mut client = connect(&served).await;
        let copy = "COPY (SELECT 1 AS a UNION ALL SELECT 2) TO 'out.csv'";
        let written = client.execute_update(copy.to_owned(), None).await.unwrap();
        assert_eq!(written, 2);
        let read = ask(&mut client, "SELECT sum(a) FROM 'out.csv'").await;
        assert_eq!(cells(&read.unwrap()), [["3"]]);
        for (sql, says) in [
            (
                "CREATE TABLE t AS SELECT 1 AS a",
                "is not kept over Flight SQL",
            ),
            ("SELECT 1 AS a INTO t", "is not kept over Flight SQL"),
            ("INSERT INTO t VALUES (1)", "no table named t"),
            ("UPDATE t SET a = 1", "not supported: UPDATE"),
            ("DELETE FROM t", "not supported: DELETE"),
            ("BEGIN", "not supported: BEGIN"),
        ] {
            let error = client.execute_update(sql.to_owned(), None).await;
            let (_, message) = code(error.unwrap_err());
            assert!(message.contains(says), "{sql}: {message}");
            let (_, message) = refused(&mut client, sql).await;
            assert!(message.contains(says), "{sql}: {message}");
        }
    });
}
