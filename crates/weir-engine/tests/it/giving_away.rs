//! Captures that are given away, and databases of addresses.

use std::collections::BTreeSet;
use std::path::Path;

use weir_engine::Options;
use weir_testkit::Limited as _;

use crate::samples;
use crate::slt::Runner;

/// Every address of the samples, as bytes and as text, is looked for in every byte of what is written.
#[test]
fn an_anonymized_capture_has_no_original_address_anywhere() {
    samples::enter();
    let runner = Runner::new(&Options::default());
    for (sample, target) in [
        ("demo/services.pcap", "anonymous-services.pcap"),
        ("demo/calls.pcap", "anonymous-calls.pcapng"),
        ("demo/voip.pcap", "anonymous-voip.pcap"),
    ] {
        let _ = std::fs::remove_file(target);
        let copy = format!(
            "COPY (SELECT * FROM '{sample}') TO '{target}' OPTIONS (anonymize 'a long secret')"
        );
        let packets = rows(&runner, &format!("SELECT count(*) FROM '{sample}'"));
        assert_eq!(rows(&runner, &copy), packets);
        let written = std::fs::read(target).unwrap();
        let sql = format!(
            "SELECT DISTINCT address FROM (
               SELECT unnest(addr.any) AS address FROM '{sample}'
               UNION ALL SELECT unnest(eth.addr) FROM '{sample}'
               UNION ALL SELECT arp.src.hw_mac FROM '{sample}' UNION ALL SELECT arp.src.proto_ipv4 FROM '{sample}'
             ) AS addresses WHERE address IS NOT NULL"
        );
        let addresses: BTreeSet<String> = rows(&runner, &sql).into_iter().collect();
        assert!(addresses.len() > 4, "{addresses:?}");
        for address in &addresses {
            // Addresses that belong to no host.
            if ["0.0.0.0", "255.255.255.255", "ff:ff:ff:ff:ff:ff"].contains(&address.as_str()) {
                continue;
            }
            let parsed: weir_packet::Address = address.parse().unwrap();
            // Small numbers such as 02:00:00:00:00:01 occur anywhere, so such addresses are not searched.
            let is_made_up = address.starts_with("02:00:00:00:00:");
            for wanted in [parsed.as_bytes(), address.as_bytes()] {
                let found = written.windows(wanted.len()).any(|part| part == wanted);
                assert!(!found || is_made_up, "{sample}: {address}");
            }
        }
        // Flows are what they were, and so are checksums and lengths.
        for sql in [
            "SELECT proto, port.src, port.dst, frame.time, frame.len, tcp.seq_raw, tcp.flags FROM 'X' WHERE proto IS NOT NULL ORDER BY frame.number",
            "SELECT count(*), count(*) FILTER (WHERE ip.checksum_ok), count(*) FILTER (WHERE tcp.checksum_ok), count(*) FILTER (WHERE udp.checksum_ok), count(*) FILTER (WHERE icmp.checksum_ok) FROM 'X'",
            "SELECT flow.state, flow.history, flow.rtt, flow.payload_bytes_src FROM flows('X') ORDER BY flow.id",
            "SELECT count(DISTINCT ip.src), count(DISTINCT network(ip.src, 24)), count(DISTINCT network(ip.src, 16)) FROM 'X'",
        ] {
            let [before, after] =
                [sample, target].map(|file| rows(&runner, &sql.replace('X', file)));
            assert_eq!(before, after, "{sample}: {sql}");
        }
        // SQL's function gives the same addresses.
        let sources = |sql: &str| rows(&runner, sql).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(
            sources(&format!(
                "SELECT anonymize_ip(ip.src, 'a long secret') FROM '{sample}' WHERE ip.src IS NOT NULL"
            )),
            sources(&format!(
                "SELECT ip.src FROM '{target}' WHERE ip.src IS NOT NULL"
            )),
        );
    }
}

/// tshark computes each checksum anew.
#[test]
fn tshark_finds_the_checksums_of_an_anonymized_capture_right() {
    let dir = samples::enter();
    let runner = Runner::new(&Options::default());
    let _ = std::fs::remove_file("judged.pcap");
    rows(
        &runner,
        "COPY (SELECT * FROM 'demo/services.pcap') TO 'judged.pcap' OPTIONS (anonymize 'k')",
    );
    let judge = |filter: &str| {
        let mut tshark = std::process::Command::new("tshark");
        for check in [
            "ip.check_checksum",
            "tcp.check_checksum",
            "udp.check_checksum",
        ] {
            tshark.args(["-o", &format!("{check}:TRUE")]);
        }
        let output = tshark
            .arg("-r")
            .arg(dir.join("judged.pcap"))
            .args(["-Y", filter])
            .output_limited();
        output
            .ok()
            .filter(|output| output.status.success())
            .map(|output| output.stdout.iter().filter(|byte| **byte == b'\n').count())
    };
    let Some(wrong) = judge(
        "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 || icmp.checksum.status == 0",
    ) else {
        weir_testkit::missing("tshark", "nothing judges checksums");
        return;
    };
    assert_eq!(wrong, 0);
    assert!(judge("tcp.checksum.status == 1").unwrap() > 50);
    assert!(judge("udp.checksum.status == 1").unwrap() > 20);
}

#[test]
fn what_cannot_be_anonymized_is_refused() {
    samples::enter();
    let runner = Runner::new(&Options::default());
    for (sql, message) in [
        (
            "COPY (SELECT * FROM 'demo/framerelay.pcap') TO 'never.pcap' OPTIONS (anonymize 'k')",
            "link type 107",
        ),
        (
            "COPY (SELECT ip.src FROM 'demo/voip.pcap') TO 'never.csv' OPTIONS (anonymize 'k')",
            "only captures are anonymized",
        ),
        (
            "COPY (SELECT * FROM 'demo/voip.pcap') TO 'never.pcap' OPTIONS (anonymize '')",
            "takes a key",
        ),
    ] {
        let error = runner.rows(sql).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(!Path::new("never.pcap").exists() && !Path::new("never.csv").exists());
    }
}

fn rows(runner: &Runner, sql: &str) -> Vec<String> {
    match runner.rows(sql) {
        Ok(answer) => answer.rows,
        Err(error) => panic!("{error}:\n{sql}"),
    }
}

fn geo(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/geo")
        .join(name)
}

#[test]
fn databases_say_where_addresses_are_and_whose() {
    samples::enter();
    let mut options = Options::default();
    options.geoip = vec![geo("places.mmdb"), geo("systems.mmdb")];
    let runner = Runner::new(&options);
    let sql = "SELECT a, geoip_country(a), geoip_city(a), asn(a), as_org(a) FROM (VALUES ('192.0.2.77'),
        ('203.0.113.5'), ('203.0.113.200'), ('2001:db8::1'), ('10.0.0.1'), ('02:00:00:00:00:01'), (NULL)) AS t(a)";
    assert_eq!(
        rows(&runner, sql),
        [
            "192.0.2.77 DE Berlin 64500 Example Net",
            "203.0.113.5 JP NULL 64501 Other Net",
            "203.0.113.200 JP NULL 64501 Other Net",
            "2001:db8::1 SE Umea NULL NULL",
            "10.0.0.1 NULL NULL NULL NULL",
            "02:00:00:00:00:01 NULL NULL NULL NULL",
            "NULL NULL NULL NULL NULL",
        ]
    );
    let sql = "SELECT geoip_country(addr.dst) AS country, count(*) FROM flows('demo/services.pcap')
        WHERE geoip_country(addr.dst) IS NOT NULL GROUP BY country ORDER BY country";
    assert_eq!(rows(&runner, sql), ["DE 3", "JP 11"]);
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    samples::enter();
    let mut options = Options::default();
    options.geoip = vec!["demo/voip.pcap".into()];
    let Err(error) = weir_engine::Engine::new(&options) else {
        panic!("a capture is no database");
    };
    assert!(error.to_string().starts_with("demo/voip.pcap: "), "{error}");
}
