//! `weir summary` and `weir report`: documents of several answers.

use crate::shell::{folder, run};

#[test]
fn a_summary_says_what_is_in_a_capture_and_reads_it_once() {
    let folder = folder("summary");
    let ended = run("weir summary demo/voip.pcap", &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for part in [
        "\nCapture\n",
        "\nProtocols\n",
        "\nTalkers\n",
        "\nCalls\n",
        "completed",
    ] {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
    // A note lists the omitted sections.
    assert!(!ended.stdout.contains("Damage"), "{}", ended.stdout);
    assert!(
        ended
            .stderr
            .contains("sections without rows are left out: ")
            && ended.stderr.contains("Damage"),
        "{}",
        ended.stderr
    );
    // The numbers of the report are those of a query.
    let count = run(
        "weir query \"SELECT count(*) AS n FROM 'demo/voip.pcap'\" --format csv",
        &folder,
    );
    let count = count.stdout.lines().nth(1).unwrap().to_owned();
    let ended = run("weir summary demo/voip.pcap --format json", &folder);
    assert!(
        ended.stdout.contains(&format!("{{\"packets\":{count},")),
        "{}",
        ended.stdout
    );
    assert!(
        ended
            .stdout
            .starts_with("{\"title\":\"demo/voip.pcap\",\"sections\":[")
    );
    // A pipe has one reading and no second: the summary is of one.
    let ended = run("cat demo/voip.pcap | weir summary - --format json", &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains(&format!("{{\"packets\":{count},")),
        "{}",
        ended.stdout
    );
    let ended = run("weir summary cut.pcap -o cut.html && cat cut.html", &folder);
    assert_eq!(ended.code, Some(1), "status of damage: {}", ended.stderr);
    let page = std::fs::read_to_string(folder.join("cut.html")).unwrap();
    assert!(page.contains("<h2>Capture</h2>"), "{page}");
    let ended = run("weir summary demo/voip.pcap -o x.pdf", &folder);
    assert!(
        ended.code == Some(2) && ended.stderr.contains("found the ending .pdf"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_report_answers_the_queries_of_a_file_with_parameters() {
    let folder = folder("report");
    let queries = "-- Calls <by> state\n-- as they ended\nSELECT call.state AS state, count(*) AS calls FROM calls('demo/voip.pcap')\n\
                   WHERE call.state <> $not GROUP BY 1 ORDER BY 1;\n\
                   CREATE VIEW v AS SELECT 1 AS one;\n\
                   SELECT one + $more AS two FROM v;\n";
    std::fs::write(folder.join("calls.sql"), queries).unwrap();
    let ended = run(
        "weir report calls.sql --param not=busy --param more=1",
        &folder,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for part in [
        "calls\n\nCalls <by> state\nas they ended\n",
        "completed",
        "\nQuery 3\n",
    ] {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains("busy"), "{}", ended.stdout);
    let line = "weir report calls.sql --param not=x --param more=1 --title 'A & B' -o r.html";
    assert_eq!(run(line, &folder).code, Some(0));
    let page = std::fs::read_to_string(folder.join("r.html")).unwrap();
    for part in [
        "<title>A &amp; B</title>",
        "Calls &lt;by&gt; state",
        "calls by state",
        "busy",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let line = "weir report calls.sql --param not=x --param more=1 --format json";
    let ended = run(line, &folder);
    let json = ended.stdout.replace('\n', "");
    assert!(
        json.contains("\"row_count\":1,\"rows\":[{\"two\":2}]}]}"),
        "{json}"
    );
    for (line, part) in [
        (
            "weir report calls.sql --param not=x",
            "the parameter $more has no value",
        ),
        (
            "weir report calls.sql --param not=x --param more=1 --param day=1",
            "has the parameter $day",
        ),
        ("weir report calls.sql --param not", "expected NAME=VALUE"),
        ("echo ' -- nothing' | weir report -", "- has no query"),
    ] {
        let ended = run(line, &folder);
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{line}: {}", ended.stderr);
    }
    assert!(!folder.join("none.html").exists());
}
