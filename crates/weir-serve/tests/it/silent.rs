//! Clients that read nothing of the answers that they ask for.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::error::FlightError;

use crate::attacks::{ENDLESS, POST, flight, postgres, simple};
use crate::served::Served;

/// Writes the rows of batches as lines.
#[derive(Debug)]
struct Lines;

struct LinesOf(Box<dyn Write + Send>);

impl weir_engine::RowEncoder for Lines {
    fn start(
        &self,
        _format: weir_engine::RowFormat,
        _schema: &arrow::datatypes::SchemaRef,
        out: Box<dyn Write + Send>,
    ) -> Result<Box<dyn weir_engine::RowWriter>, weir_engine::EncodeError> {
        Ok(Box::new(LinesOf(out)))
    }
}

impl weir_engine::RowWriter for LinesOf {
    fn write(&mut self, batch: &arrow::array::RecordBatch) -> Result<(), weir_engine::EncodeError> {
        let lines = vec!["1,1"; batch.num_rows()].join("\n");
        self.0.write_all(lines.as_bytes()).unwrap();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), weir_engine::EncodeError> {
        Ok(())
    }
}

#[test]
fn clients_that_read_nothing_keep_no_other_waiting() {
    let served = Served::with(|options| {
        options.limits.queries_max = 2;
        options.engine.encoder = Some(Arc::new(Lines));
    });
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        // Answers over HTTP whose sockets are full, and cursors of one connection that are not gone on with.
        let mut silent = Vec::new();
        for _ in 0..4 {
            let mut socket = TcpStream::connect(served.http).unwrap();
            let head = POST.replace("/query", "/query?format=csv");
            let length = ENDLESS.len();
            let request = format!("{head}\r\nContent-Length: {length}\r\n\r\n{ENDLESS}");
            socket.write_all(request.as_bytes()).unwrap();
            let mut first = [0; 12];
            socket.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
            silent.push(socket);
        }
        let client = postgres(&served).await;
        for number in 0..4 {
            let begun =
                format!("BEGIN; DECLARE c{number} CURSOR FOR {ENDLESS}; FETCH 1 FROM c{number}");
            assert_eq!(simple(&client, &begun).await.unwrap(), ["1|1"]);
        }
        let mut portals = Vec::new();
        let mut config = postgres(&served).await;
        let transaction = config.transaction().await.unwrap();
        for _ in 0..4 {
            let portal = transaction.bind(ENDLESS, &[]).await.unwrap();
            let rows = transaction.query_portal(&portal, 1).await.unwrap();
            assert_eq!(rows.len(), 1);
            portals.push(portal);
        }
        let mut flights = Vec::new();
        for _ in 0..4 {
            let mut client = flight(&served).await;
            let info = client.execute(ENDLESS.to_owned(), None).await.unwrap();
            let ticket = info.endpoint[0].ticket.clone().unwrap();
            let mut rows = client.do_get(ticket).await.unwrap();
            assert!(futures::StreamExt::next(&mut rows).await.unwrap().is_ok());
            flights.push((client, rows));
        }
        // All statements still run, and do not block others.
        served.wait_for("weir_queries_running 16");
        let other = postgres(&served).await;
        let answer = simple(&other, "SELECT 1");
        let answer = tokio::time::timeout(Duration::from_secs(30), answer).await;
        assert_eq!(answer.unwrap().unwrap(), ["1"]);
        assert!(served.request(POST, "SELECT 1").starts_with("HTTP/1.1 200"));
        // The portals continue at their positions.
        let rows = transaction.query_portal(&portals[3], 20_000).await.unwrap();
        assert_eq!(rows.len(), 20_000);
        let rows = simple(&client, "FETCH 20000 FROM c2").await.unwrap();
        assert_eq!(rows.len(), 20_000);
    });
}

#[test]
fn statements_whose_clients_read_nothing_end_when_their_time_is_over() {
    let served = Served::with(|options| {
        options.limits.queries_max = 2;
        options.limits.time_max = Some(Duration::from_millis(1500));
        options.engine.encoder = Some(Arc::new(Lines));
    });
    let mut socket = TcpStream::connect(served.http).unwrap();
    let head = POST.replace("/query", "/query?format=csv");
    let length = ENDLESS.len();
    let request = format!("{head}\r\nContent-Length: {length}\r\n\r\n{ENDLESS}");
    socket.write_all(request.as_bytes()).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let begun = format!("BEGIN; DECLARE c CURSOR FOR {ENDLESS}; FETCH 1 FROM c");
        // The rows computed so far come first, and then the reason of the end. A busy machine computes no row in that time.
        let mut fetched = simple(&client, &begun).await;
        if let Ok(first) = &fetched {
            assert_eq!(*first, ["1|1"]);
        }
        let error = loop {
            match fetched {
                Err(error) => break error,
                Ok(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
            fetched = simple(&client, "FETCH 8192 FROM c").await;
        };
        assert!(
            error.contains("exceeded its time limit: 1500 ms"),
            "{error}"
        );
        // The window of a call is closed while its rows are not taken.
        let mut client = flight(&served).await;
        let taken = async {
            let info = client.execute(ENDLESS.to_owned(), None).await?;
            let ticket = info.endpoint[0].ticket.clone().unwrap();
            let mut rows = client.do_get(ticket).await?;
            // A statement that began later is at the end of its time behind this one.
            let later = postgres(&served).await;
            let without_rows = ENDLESS.replace("a.v, b.v", "max(a.v + b.v)");
            let over = simple(&later, &without_rows).await.unwrap_err();
            assert!(over.contains("statement timeout: 1500 ms"), "{over}");
            while let Some(batch) = futures::StreamExt::next(&mut rows).await {
                batch?;
            }
            Ok::<(), FlightError>(())
        };
        let error = taken.await.unwrap_err().to_string();
        assert!(
            error.contains("exceeded its time limit: 1500 ms"),
            "{error}"
        );
    });
    drop(socket);
    served.wait_for("weir_queries_running 0");
}

/// A statement whose time was over counted among those that run until its client had taken all of its rows.
#[test]
fn statements_whose_time_is_over_do_not_run() {
    let served = Served::with(|options| options.limits.time_max = Some(Duration::from_secs(2)));
    let long = "SELECT repeat('x', 20000) || a.v AS t FROM generate_series(1, 1000000000) a(v)";
    let mut socket = TcpStream::connect(served.http).unwrap();
    let request = format!("{POST}\r\nContent-Length: {}\r\n\r\n{long}", long.len());
    socket.write_all(request.as_bytes()).unwrap();
    // The rows behind these fill the socket.
    socket.read_exact(&mut [0; 12]).unwrap();
    served.wait_for("weir_queries_running 0");
}
