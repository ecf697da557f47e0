//! The other studies beside zlib, and the report.

use weir_ws::{
    Budget, CpuTimes, Format, InputOptions, Setting, Study, StudyOptions, advise, broadcast,
    fragmentation, html_report, mixed, read_messages, reconnects, reflections, threshold,
};

use crate::common::{lines, zlib};

fn chat() -> Vec<Vec<u8>> {
    let mut random = crate::common::Random(21);
    (0..5000)
        .map(|n| {
            let kind = ["msg", "join", "<b>"][random.below(3)];
            format!(
                "{{\"type\":\"{kind}\",\"n\":{n},\"text\":\"{}\"}}",
                "lorem ipsum dolor sit amet ".repeat(random.below(6))
            )
            .into_bytes()
        })
        .collect()
}

#[test]
fn studies_count_zlibs_bytes() {
    let messages = chat();
    let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let setting = Setting::ZLIB.with_window_bits(11).with_mem_level(4);
    let whole: u64 = zlib(setting, &messages).iter().sum();
    let alone: u64 = zlib(setting.with_takeover(false), &messages).iter().sum();

    // Fragments of 50 bytes, each flushed.
    let mut deflate = weir_zlib::Deflate::new(6, 11, 4, 0).unwrap();
    let mut out = Vec::new();
    for message in &messages {
        for piece in message.chunks(50) {
            deflate.flush(piece, &mut out);
        }
        out.truncate(out.len() - 4);
    }
    let found = fragmentation(&messages, setting, &[0, 50]);
    assert_eq!(found[0].payload_bytes, whole);
    assert_eq!(found[1].payload_bytes, out.len() as u64);

    let found = threshold(&messages, setting, &[0, 60, 1 << 20]);
    let (long, short): (Vec<&[u8]>, Vec<&[u8]>) = messages.iter().partition(|m| m.len() >= 60);
    let plain: u64 = short.iter().map(|m| m.len() as u64).sum();
    assert_eq!(found[0].payload_bytes, whole);
    assert_eq!(
        found[1].payload_bytes,
        zlib(setting, &long).iter().sum::<u64>() + plain
    );
    assert_eq!(found[2].compressed_messages, 0);

    let found = reconnects(&messages, setting, &[0, 1, 100]);
    assert_eq!(
        (found[0].payload_bytes, found[1].payload_bytes),
        (whole, alone)
    );
    let hundreds: u64 = messages
        .chunks(100)
        .flat_map(|part| zlib(setting, part))
        .sum();
    assert_eq!(found[2].payload_bytes, hundreds);

    let found = broadcast(&messages, setting, 1000);
    assert_eq!((found.once_bytes, found.each_bytes), (alone, whole));
    assert_eq!(found.each_compressions, 5_000_000);

    let found = mixed(&messages, setting);
    assert_eq!(found.together_bytes, whole);
    assert_eq!(found.apart.iter().map(|kind| kind.1).sum::<u64>(), 5000);
}

#[test]
fn reflected_fields_are_named() {
    let messages: &[(bool, &[u8])] = &[
        (true, br#"{"query":"find me please","id":"1"}"#),
        (
            false,
            br#"{"token":"secret-secret","echo":"find me please"}"#,
        ),
        (false, br#"{"echo":"something else"}"#),
    ];
    let found = reflections(messages.iter().copied());
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].field.as_str(), found[0].count, found[0].longest),
        ("echo", 1, 14)
    );
}

#[test]
fn a_report_is_one_page_without_anything_to_load() {
    let messages = chat();
    let text: Vec<u8> = messages[..200].join(&b'\n');
    let mut study = Study::new(StudyOptions::default());
    read_messages(
        &text[..],
        Format::Lines,
        InputOptions::default(),
        &mut |message| {
            study.message(message);
        },
    )
    .unwrap();
    let result = study.finish();
    assert_eq!(result.total(None).messages, lines(&text).len() as u64);
    let advice = advise(
        &result.total(None),
        &CpuTimes::estimate(80.0),
        &Budget::new(1000, 100 << 20),
    );
    let page = html_report("<chat> & co", &result, &advice);
    assert!(page.contains("&lt;chat&gt; &amp; co") && !page.contains("<chat>"));
    assert!(
        page.contains("type=&quot;&lt;b&gt;&quot;"),
        "kinds are escaped"
    );
    assert!(page.matches("<svg").count() == 3 && page.matches("</svg>").count() == 3);
    for what in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(what), "{what}");
    }
}
