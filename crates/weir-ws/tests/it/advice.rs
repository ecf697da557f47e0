//! The original's tables, the sample's intervals, and one recommendation.

use weir_ws::exact::{Engine, EngineOptions};
use weir_ws::{Budget, Cells, CpuTimes, Library, SampleOptions, Setting, advise, sample, snippet};

use crate::common::{lines, shared};

fn sizes(messages: &[&[u8]], cells: Cells) -> weir_ws::exact::ClassSizes {
    let mut options = EngineOptions::default();
    options.cells = cells;
    let mut engine = Engine::new(options);
    for message in messages {
        engine.message(message, 0);
    }
    engine.finish().total()
}

#[test]
fn the_originals_tables_to_three_digits() {
    let Some(text) = shared("jsonchat.txt") else {
        return;
    };
    let messages = lines(&text);
    let sizes = sizes(&messages, Cells::all());
    let zlib = Setting::ZLIB;
    let near = |setting: Setting, expected: f64, digits: f64| {
        let ratio = sizes.ratio(setting);
        assert!(
            (ratio - expected).abs() <= 0.5 * digits + 1e-9,
            "{setting}: {ratio} is not {expected}"
        );
    };
    near(zlib.with_takeover(false), 0.841, 1e-3);
    near(zlib, 0.304, 1e-3);
    for (window_bits, ratio) in [
        (8, 0.510),
        (9, 0.510),
        (10, 0.435),
        (11, 0.384),
        (12, 0.353),
        (13, 0.331),
        (14, 0.315),
        (15, 0.304),
    ] {
        near(zlib.with_window_bits(window_bits), ratio, 1e-3);
    }
    let by_mem_level = [
        0.3077, 0.3058, 0.3051, 0.3048, 0.3047, 0.3046, 0.3045, 0.3045, 0.3045,
    ];
    for (mem_level, ratio) in (1..).zip(by_mem_level) {
        near(Setting { mem_level, ..zlib }, ratio, 1e-4);
    }
    let by_level = [
        0.351, 0.339, 0.332, 0.315, 0.306, 0.3045, 0.3038, 0.3029, 0.3029,
    ];
    for (level, ratio) in (1..).zip(by_level) {
        near(
            Setting { level, ..zlib },
            ratio,
            if ratio * 1000.0 % 1.0 > 0.1 {
                1e-4
            } else {
                1e-3
            },
        );
    }
}

#[test]
fn a_sample_comes_close_and_says_how_close() {
    let mut random = crate::common::Random(11);
    let words: Vec<String> = (0..300).map(|n| format!("word{}", n * n % 977)).collect();
    let messages: Vec<String> = (0..6000)
        .map(|n| {
            let mut text = format!("{{\"n\":{n},\"text\":\"");
            for _ in 0..random.below(20) {
                text.push_str(&words[random.below(300)]);
                text.push(' ');
            }
            text + "\"}"
        })
        .collect();
    let messages: Vec<&[u8]> = messages.iter().map(String::as_bytes).collect();
    let cells = Cells::all()
        .only_levels([1, 6])
        .only_mem_levels([8])
        .only_windows([9, 12, 15]);
    let exact = sizes(&messages, cells);
    let mut options = SampleOptions::default();
    options.engine.cells = cells;
    options.blocks = 16;
    options.block_bytes = 6000;
    options.warm_bytes = 20_000;
    let sampled = sample(&messages, &options);
    assert!(!sampled.complete);
    for setting in Setting::all().filter(|&setting| cells.contains(setting)) {
        let estimate = sampled.estimate(setting);
        let ratio = exact.ratio(setting);
        assert!(
            estimate.low < estimate.high && estimate.low <= estimate.ratio,
            "{estimate:?}"
        );
        assert!(
            (estimate.ratio / ratio - 1.0).abs() < 0.03,
            "{setting}: {estimate:?}, {ratio}"
        );
    }
    options.blocks = 400;
    let whole = sample(&messages, &options);
    assert!(whole.complete);
    let setting = Setting::ZLIB.with_window_bits(12);
    assert_eq!(whole.estimate(setting).ratio, exact.ratio(setting));
}

#[test]
fn one_setting_within_the_budget() {
    let text: Vec<String> = (0..400)
        .map(|n| {
            let price = n * 37 % 1000;
            format!(
                "{{\"type\":\"tick\",\"price\":{price},\"price_before\":{},\"price_after\":{}}}",
                price + 1,
                price - 1
            )
        })
        .collect();
    let messages: Vec<&[u8]> = text.iter().map(String::as_bytes).collect();
    let sizes = sizes(&messages, Cells::all());
    let times = CpuTimes::estimate(25.0);
    let mut last = 2.0;
    for (gigabytes, takeover) in [(0, false), (1, false), (20, true), (400, true)] {
        let advice = advise(
            &sizes,
            &times,
            &Budget::new(1_000_000, (gigabytes << 30) + (1 << 20)),
        );
        let chosen = advice.chosen.unwrap_or_else(|| panic!("{}", advice.reason));
        assert!(chosen.fits && chosen.ratio <= last, "{}", advice.reason);
        assert_eq!(chosen.setting.takeover, takeover, "{}", advice.reason);
        last = chosen.ratio;
        // No setting on the front is beaten by another.
        for front in advice.front() {
            assert!(!advice.candidates.iter().any(|c| {
                c.ratio < front.ratio
                    && c.memory_bytes < front.memory_bytes
                    && c.micros < front.micros
            }));
        }
        for library in Library::ALL {
            let snippet = snippet(library, chosen.setting, 64);
            assert!(!snippet.code.is_empty());
        }
    }
    // Only 8 bits were studied: they can be had, with a word of warning.
    let eight = self::sizes(&messages, Cells::all().only_windows([8]));
    let advice = advise(&eight, &times, &Budget::new(1000, 1 << 30));
    assert_eq!(advice.chosen.unwrap().setting.window_bits, 8);
    assert!(advice.warnings[0].contains("zlib deflates with 9"));
    let nothing = advise(&sizes, &times, &Budget::new(1_000_000, 1000));
    assert!(
        nothing.chosen.is_none() && nothing.reason.starts_with("nothing fits"),
        "{}",
        nothing.reason
    );
}
