//! HTTP, as the page and curl use it.

use std::time::{Duration, Instant};

use crate::served::Served;

const ASK: &str = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";

fn body(answer: &str) -> serde_json::Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn a_query_is_answered_with_types_and_limits() {
    let served = Served::plain();
    let asked = serde_json::json!({
        "sql": "SELECT frame.number, ip.src, arrow_cast(18446744073709551615, 'UInt64') AS most, NULL AS nothing \
                FROM 'office.pcapng' WHERE frame.len > $least ORDER BY 1",
        "params": {"least": 60}, "limit": 2,
    });
    let answer = body(&served.request(ASK, &asked.to_string()));
    assert_eq!(answer["row_count"], 2, "{answer}");
    assert_eq!(answer["truncated"], true);
    assert_eq!(answer["columns"][1]["type"], "ip");
    assert_eq!(answer["rows"][0][2], "18446744073709551615");
    assert_eq!(answer["rows"][0][3], serde_json::Value::Null);
    let answer = body(&served.request(ASK, r#"{"sql": "SELECT 1\nFROM )"}"#));
    assert_eq!(answer["error"]["kind"], "sql", "{answer}");
    assert_eq!(answer["error"]["line"], 2, "{answer}");
    let answer = body(&served.request(ASK, r#"{"sql": "SELECT $1 + 1 AS n", "params": [41]}"#));
    assert_eq!(answer["rows"][0][0], 42, "{answer}");
}

#[test]
fn long_answers_in_json_are_whole_or_have_no_end() {
    let served = Served::plain();
    // A client of HTTP/1.0 gets no chunks.
    let ask = |sql: &str| {
        let asked = serde_json::json!({"sql": sql, "limit": 20_000});
        served.request(&ASK.replace("HTTP/1.1", "HTTP/1.0"), &asked.to_string())
    };
    let long =
        "SELECT value, repeat('x', 1000), 1 // ({nought} - value) FROM generate_series(1, 20000)";
    let whole = ask(&long.replace("{nought}", "20001"));
    assert!(whole.len() > 20_000_000, "{} bytes", whole.len());
    let whole = body(&whole);
    let rows = whole["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &whole["row_count"]), (20_000, &20_000.into()));
    let numbers = rows.iter().zip(1_u64..);
    for (row, number) in numbers {
        assert_eq!(row[0], number);
    }
    assert_eq!(whole["truncated"], false);
    assert_eq!(
        whole["columns"][1]["name"]
            .as_str()
            .map(|name| name.contains("repeat")),
        Some(true)
    );
    // An early failure has an HTTP status, and a late one leaves the body incomplete.
    let early = ask(&long.replace("{nought}", "1000"));
    assert!(early.starts_with("HTTP/1.0 400"), "{early:.200}");
    assert!(
        body(&early)["error"]["message"]
            .as_str()
            .unwrap()
            .contains("division by zero")
    );
    let late = ask(&long.replace("{nought}", "19000"));
    assert!(late.starts_with("HTTP/1.0 200"), "{late:.200}");
    let (_, late) = late.split_once("\r\n\r\n").unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(late).is_err());
}

#[test]
fn what_there_is_is_listed() {
    let served = Served::plain();
    let get = |path: &str| served.request(&format!("GET {path} HTTP/1.1\r\nHost: localhost"), "");
    let files = body(&get("/files"));
    let office = files
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["name"] == "office.pcapng");
    assert_eq!(office.unwrap()["kind"], "capture");
    let listed = body(&get("/fields?match=IP.src"));
    let mut columns = listed.as_array().unwrap().iter();
    assert!(columns.any(|column| column["name"] == "ip.src" && column["table"] == "packets"));
    let none = body(&get("/fields?match=no+such+column"));
    assert_eq!(none.as_array().map(Vec::len), Some(0));
    assert!(get("/functions").contains("cidr_match"));
    assert!(get("/tables").contains("flows"));
    assert!(get("/health").ends_with("ok\n"));
    assert!(get("/metrics").contains("# TYPE weir_queries_total counter"));
    assert_eq!(body(&get("/openapi.json"))["openapi"], "3.1.0");
    assert!(get("/nothing").starts_with("HTTP/1.1 404"));
    assert!(
        get("/health")
            .to_lowercase()
            .contains("content-security-policy: default-src 'none'")
    );
}

#[test]
fn a_capture_that_is_dropped_can_be_asked() {
    let served = Served::plain();
    let capture = "\u{1}";
    let head = |name: &str| {
        format!(
            "POST /upload?name={name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream"
        )
    };
    let answer = body(&served.request(&head("dropped.csv"), "a,b\n1,2\n"));
    let path = answer["path"].as_str().unwrap().to_owned();
    let asked = serde_json::json!({"sql": format!("SELECT a + b AS c FROM '{path}'")});
    assert_eq!(
        body(&served.request(ASK, &asked.to_string()))["rows"][0][0],
        3
    );
    for name in ["..%2Fx.csv", "", ".hidden", "a%2Fb"] {
        let answer = served.request(&head(name), capture);
        assert!(answer.starts_with("HTTP/1.1 400"), "{name}: {answer}");
    }
}

#[test]
fn captures_that_are_dropped_have_so_many_bytes_together() {
    use std::io::Write as _;
    let served = Served::with(|options| options.limits.upload_bytes_max = 1000);
    // An incomplete upload counts until its client is gone.
    let mut socket = std::net::TcpStream::connect(served.http).unwrap();
    let head =
        "POST /upload?name=cut.csv HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(&[b'x'; 700]).unwrap();
    drop(socket);
    let files = || body(&served.request("GET /files HTTP/1.1\r\nHost: localhost", ""));
    served.wait_for("weir_connections_open 1");
    for (name, size, status) in [
        ("a.csv", 600, 200),
        ("b.csv", 500, 413),
        ("a.csv", 300, 200),
        ("b.csv", 500, 200),
        ("c.csv", 300, 413),
        ("c.csv", 200, 200),
        ("d.csv", 1, 413),
    ] {
        let head = format!("POST /upload?name={name} HTTP/1.1\r\nHost: localhost");
        let answer = served.request(&head, &"x".repeat(size));
        let expected = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&expected), "{name} {size}: {answer}");
        assert_eq!(answer.contains("--max-upload"), status == 413, "{answer}");
    }
    let files = files().to_string();
    for (name, is_there) in [
        ("a.csv", true),
        ("c.csv", true),
        ("d.csv", false),
        ("cut.csv", false),
    ] {
        assert_eq!(files.contains(name), is_there, "{name}: {files}");
    }
}

/// A body was read up to the limit before it was refused, and one that did not come was waited for.
#[test]
fn bodies_that_say_that_they_are_too_long_are_refused_before_they_come() {
    use std::io::{Read as _, Write as _};
    let served = Served::plain();
    for (head, limit) in [
        (ASK, "--max-text"),
        (
            "POST /upload?name=x.csv HTTP/1.1\r\nHost: localhost",
            "--max-upload",
        ),
    ] {
        let mut socket = std::net::TcpStream::connect(served.http).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let head = format!("{head}\r\nContent-Length: 1000000000000\r\nConnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        assert!(answer.contains(limit), "{answer}");
    }
}

/// Uploads that replaced the same file at the same moment each released its bytes, so that more and more were accepted.
#[test]
fn captures_that_take_the_name_of_others_are_counted_once() {
    let served = Served::with(|options| options.limits.upload_bytes_max = 1000);
    let send = |name: &str, size: usize| {
        let head = format!("POST /upload?name={name} HTTP/1.1\r\nHost: localhost");
        served.request(&head, &"x".repeat(size))
    };
    assert!(send("a.csv", 200).starts_with("HTTP/1.1 200"));
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(send("a.csv", 200).starts_with("HTTP/1.1 200")));
            }
        });
    }
    assert!(send("b.csv", 801).starts_with("HTTP/1.1 413"));
    assert!(send("b.csv", 800).starts_with("HTTP/1.1 200"));
}

#[test]
fn captures_that_are_dropped_have_a_number() {
    let served = Served::plain();
    let send = |name: &str| {
        let head = format!("POST /upload?name={name} HTTP/1.1\r\nHost: localhost");
        served.request(&head, "x")
    };
    std::thread::scope(|scope| {
        for part in 0..4 {
            let send = &send;
            scope.spawn(move || {
                for number in 0..250 {
                    let answer = send(&format!("{part}-{number}.csv"));
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                }
            });
        }
    });
    let answer = send("more.csv");
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("1000 uploaded captures"), "{answer}");
    // One takes the place of another.
    assert!(send("0-0.csv").starts_with("HTTP/1.1 200"));
}

#[test]
fn a_query_ends_when_it_is_cancelled_or_its_client_has_gone() {
    use std::io::Write as _;
    let served = Served::plain();
    let endless = r#"{"sql": "SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000", "id": "mine"}"#;
    let get = |head: &str| served.request(&format!("{head} HTTP/1.1\r\nHost: localhost"), "");
    let wait_for = |what: &str| {
        let deadline = Instant::now() + Duration::from_secs(5);
        while !get("GET /metrics").contains(what) {
            assert!(Instant::now() < deadline, "{}", get("GET /metrics"));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| served.request(ASK, endless));
        wait_for("weir_queries_running 1");
        assert!(get("GET /query/mine").contains("\"running\""));
        assert!(get("DELETE /query/mine").starts_with("HTTP/1.1 200"));
        assert!(asked.join().unwrap().contains("\"cancelled\""));
    });
    wait_for("weir_queries_running 0");
    assert!(get("DELETE /query/mine").starts_with("HTTP/1.1 404"));
    let mut socket = std::net::TcpStream::connect(served.http).unwrap();
    write!(
        socket,
        "{ASK}\r\nContent-Length: {}\r\n\r\n{endless}",
        endless.len()
    )
    .unwrap();
    wait_for("weir_queries_running 1");
    drop(socket);
    wait_for("weir_queries_running 0");
    // Bytes after a request are not read during its answer, and of many the last, with the FIN, do not even arrive.
    for behind in [
        "GET /health HTTP/1.1\r\nHost: local".to_owned(),
        "x".repeat(200_000),
    ] {
        let mut socket = std::net::TcpStream::connect(served.http).unwrap();
        write!(
            socket,
            "{ASK}\r\nContent-Length: {}\r\n\r\n{endless}{behind}",
            endless.len()
        )
        .unwrap();
        wait_for("weir_queries_running 1");
        drop(socket);
        wait_for("weir_queries_running 0");
    }
}

/// The figures are those of the libraries that study messages, whose own tests hold them against zlib and Erlang.
#[test]
fn messages_are_studied_with_other_settings_and_encodings() {
    let served = Served::plain();
    let get = |path: &str| served.request(&format!("GET {path} HTTP/1.1\r\nHost: localhost"), "");
    let sums = r#"{"sql": "SELECT count(*), sum(websocket.message_length) FROM websocket('websocket.pcap') WHERE websocket.type IN ('text', 'binary')"}"#;
    let sums = body(&served.request(ASK, sums));
    let study = body(&get("/study/websocket?path=websocket.pcap"));
    assert_eq!(study["messages"], sums["rows"][0][0], "{sums}");
    assert_eq!(study["bytes"], sums["rows"][0][1], "{sums}");
    assert_eq!(study["truncated"], false);
    let rows = study["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 8 * 9 * 9);
    let of = |takeover: bool| {
        let found = rows
            .iter()
            .find(|row| row[0] == takeover && row[1] == 15 && row[2] == 6 && row[3] == 8);
        found.unwrap()[4].as_u64().unwrap()
    };
    assert!(of(true) < of(false), "{} {}", of(true), of(false));
    let study = body(&get("/study/h248?path=megaco.pcap"));
    let rows = study["rows"].as_array().unwrap();
    let octets = |name: &str| {
        let found = rows.iter().find(|row| row[0] == name);
        found.unwrap()[2].as_f64().unwrap()
    };
    assert!(study["messages"].as_u64().unwrap() > 100, "{study}");
    assert!(octets("compact") < octets("pretty"), "{study}");
    // A capture without messages gives an empty study, and a path outside the root gives an error.
    for of in ["websocket", "h248"] {
        let none = body(&get(&format!("/study/{of}?path=office.pcapng")));
        assert_eq!(none["rows"], serde_json::json!([]), "{none}");
        let outside = get(&format!("/study/{of}?path=%2Fetc%2Fpasswd"));
        assert!(outside.starts_with("HTTP/1.1 404"), "{outside}");
    }
}

/// HEAD of the page was 404, and gzip was taken for malformed text.
#[test]
fn methods_and_encodings_are_those_of_the_standard() {
    let served = Served::with(|options| options.token = Some("sesame".to_owned()));
    let head = served.request("HEAD / HTTP/1.1\r\nHost: localhost", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(
        head.contains("text/html") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    let ask = |encoding: &str| {
        let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\n\
             Content-Type: application/sql\r\nContent-Encoding";
        served.request(&format!("{head}: {encoding}"), "SELECT 42")
    };
    assert!(ask("gzip").starts_with("HTTP/1.1 415"));
    assert!(ask("identity").contains("[[42]]"));
    // A content type in capitals was not accepted.
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\n\
         Content-Type: Application/SQL; charset=UTF-8";
    assert!(served.request(head, "SELECT 42").contains("[[42]]"));
}

/// A body in gzip and in chunks was taken for what its chunks hold.
#[test]
fn transfer_codings_other_than_chunked_are_refused() {
    use std::io::{Read as _, Write as _};
    let served = Served::plain();
    for (codings, status) in [
        ("Transfer-Encoding: Chunked", "200"),
        ("Transfer-Encoding: gzip, chunked", "501"),
        ("Transfer-Encoding: chunked, chunked", "501"),
        (
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
            "501",
        ),
    ] {
        let head = format!(
            "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql\r\n{codings}\r\nConnection: close"
        );
        let mut socket = std::net::TcpStream::connect(served.http).unwrap();
        let request = format!("{head}\r\n\r\n9\r\nSELECT 42\r\n0\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
        assert_eq!(answer.contains("[[42]]"), status == "200", "{answer}");
    }
}

/// Errors of the router were plain text, or nothing.
#[test]
fn errors_of_an_address_are_those_of_the_interface() {
    let served = Served::plain();
    for (asked, status, expected) in [
        ("GET /ladder?path=voip.pcap", 400, "call_id"),
        ("GET /packet?path=voip.pcap&number=many", 400, "number"),
        ("POST /query?limit=-1", 400, "limit"),
        ("GET /query/%FF", 400, "UTF-8"),
        ("DELETE /files", 405, "method"),
        ("GET /query", 405, "method"),
    ] {
        let answer = served.request(&format!("{asked} HTTP/1.1\r\nHost: localhost"), "");
        let line = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&line), "{asked}: {answer}");
        let error = &body(&answer)["error"];
        assert_eq!(error["kind"], "request", "{asked}: {answer}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected), "{asked}: {answer}");
        let lower = answer.to_lowercase();
        assert_eq!(lower.contains("\r\nallow: "), status == 405, "{answer}");
    }
}

#[test]
fn a_call_is_drawn_and_becomes_a_capture() {
    let served = Served::plain();
    let asked = serde_json::json!({"sql": "SELECT sip.call_id, count(*) FROM sip('voip.pcap') WHERE sip.call_id IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 1"});
    let found = body(&served.request(ASK, &asked.to_string()));
    let Some(call) = found["rows"][0][0].as_str() else {
        panic!("{found}");
    };
    let messages = found["rows"][0][1].as_u64().unwrap();
    let call = call.replace('@', "%40");
    let get = |path: &str| served.request(&format!("GET {path} HTTP/1.1\r\nHost: localhost"), "");
    let ladder = body(&get(&format!("/ladder?path=voip.pcap&call_id={call}")));
    assert_eq!(
        ladder["messages"].as_array().unwrap().len() as u64,
        messages,
        "{ladder}"
    );
    assert!(ladder["participants"].as_array().unwrap().len() >= 2);
    assert!(get(&format!("/ladder?path=voip.pcap&call_id={call}&format=svg")).contains("<svg"));
    assert!(get("/ladder?path=voip.pcap&call_id=unknown").starts_with("HTTP/1.1 404"));
    assert!(get("/ladder?path=%2Fetc%2Fpasswd&call_id=x").starts_with("HTTP/1.1 404"));
    assert!(get(&format!("/call.pcap?path=voip.pcap&call_id={call}")).starts_with("HTTP/1.1 200"));
    // A capture without packets was made by reading the file several times.
    let unknown = get("/call.pcap?path=voip.pcap&call_id=unknown");
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    assert!(unknown.contains("no SIP message with Call-ID unknown"));
    assert!(get("/call.pcap?path=%2Fetc%2Fpasswd&call_id=x").starts_with("HTTP/1.1 404"));
    let packet = body(&get("/packet?path=office.pcapng&number=1"));
    assert_eq!(packet["layers"][0]["name"], "frame", "{packet}");
    let columns = packet["layers"][0]["fields"].as_array().unwrap();
    let length = columns
        .iter()
        .find(|field| field["name"] == "frame.cap_len");
    let length = length.unwrap()["value"].as_u64().unwrap();
    assert_eq!(packet["bytes"].as_str().unwrap().len() as u64, 2 * length);
    let stream = body(&get("/stream?path=websocket.pcap&flow=1"));
    let pieces = stream["pieces"].as_array().unwrap();
    assert_eq!(pieces[0]["from"], "client");
    assert!(
        pieces[0]["text"].as_str().unwrap().starts_with("GET "),
        "{stream}"
    );
    assert!(pieces[0]["hex"].as_str().unwrap().starts_with("474554"));
    assert!(pieces.iter().any(|piece| piece["from"] == "server"));
    assert!(get("/stream?path=%2Fetc%2Fpasswd&flow=1").starts_with("HTTP/1.1 404"));
}

/// A flow of 120 MB once took 400 MB in the server's own process, for each client that requested it.
#[test]
fn flows_are_given_up_to_their_limit() {
    let served = Served::plain();
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 101] {
        capture.extend(word.to_le_bytes());
    }
    let payload = vec![b'a'; 60_000];
    for number in 0..400_u32 {
        let mut packet = vec![0x45, 0];
        packet.extend((40 + 60_000_u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([4, 0, 8, 0]);
        packet.extend((1 + number * 60_000).to_be_bytes());
        packet.extend([0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(&payload);
        let length = u32::try_from(packet.len()).unwrap();
        for word in [1, number, length, length] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(packet);
    }
    std::fs::write(served.path().join("long.pcap"), capture).unwrap();
    let head = "GET /stream?path=long.pcap&flow=1 HTTP/1.1\r\nHost: localhost";
    let answer = served.request(head, "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:.300}");
    assert!(answer.ends_with("\"truncated\":true}\r\n0\r\n\r\n"));
    // Each of its bytes is three letters.
    assert!(
        (20 << 20..25 << 20).contains(&answer.len()),
        "{}",
        answer.len()
    );
}
