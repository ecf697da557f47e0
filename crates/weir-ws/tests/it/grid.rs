//! Every size equals stock zlib's.

use weir_ws::exact::{ClassSizes, Engine, EngineOptions};
use weir_ws::{Cells, Setting};

use crate::common::{Random, lines, shared, zlib};

/// Compares each message of some settings with zlib.
fn check(name: &str, messages: &[&[u8]], settings: impl Iterator<Item = Setting>, batch: usize) {
    let sizes = of_cells(Cells::all(), messages, batch);
    let mut wrong = 0;
    let mut checked = 0;
    for setting in settings {
        let theirs: u64 = zlib(setting, messages).iter().sum();
        checked += 1;
        // One setting alone goes another way than all together.
        let alone = of_cells(Cells::one(setting), messages, batch).compressed(setting);
        assert_eq!(alone, theirs, "{name}, {setting} by itself");
        if sizes.compressed(setting) != theirs {
            wrong += 1;
            eprintln!(
                "{name}, {setting}: {} instead of {theirs}",
                sizes.compressed(setting)
            );
            first_difference(setting, messages);
        }
        assert!(wrong < 5, "{name}: {wrong} of {checked} settings differ");
    }
    assert!(
        checked > 0 && wrong == 0,
        "{name}: {wrong} of {checked} settings differ"
    );
}

fn of_cells(cells: Cells, messages: &[&[u8]], batch: usize) -> ClassSizes {
    let mut options = EngineOptions::default();
    options.cells = cells;
    options.batch_bytes = batch;
    let mut engine = Engine::new(options);
    for message in messages {
        engine.message(message, 0);
    }
    engine.finish().total()
}

fn first_difference(setting: Setting, messages: &[&[u8]]) {
    let theirs = zlib(setting, messages);
    let mut options = EngineOptions::default();
    options.cells = Cells::one(setting);
    options.classes_max = 1 << 16;
    let mut engine = Engine::new(options);
    for (message, class) in messages.iter().zip(0..) {
        engine.message(message, class);
    }
    let sizes = engine.finish();
    for (n, (class, theirs)) in sizes.classes.iter().zip(theirs).enumerate() {
        let ours = class.compressed(setting);
        if ours != theirs {
            eprintln!(
                "  message {n} of {} bytes: {ours}, zlib {theirs}",
                messages[n].len()
            );
            return;
        }
    }
    eprintln!("  by itself, no message differs");
}

#[test]
fn a_random_sample_of_the_grid_is_zlibs_on_chat() {
    let Some(text) = shared("jsonchat.txt") else {
        return;
    };
    let messages = lines(&text);
    let mut random = Random(7);
    check(
        "jsonchat",
        &messages,
        (0..40).map(|_| random.setting()),
        1 << 16,
    );
}

#[test]
#[ignore = "all 1,296 settings take a minute: cargo test -p weir-ws -- --ignored"]
fn every_cell_of_the_grid_is_zlibs_on_chat() {
    for name in ["jsonchat.txt", "jsonticker.txt"] {
        let Some(text) = shared(name) else {
            return;
        };
        check(name, &lines(&text), Setting::all(), 30_000);
    }
}

/// Texts that reach every corner: long messages over several windows and blocks, runs, noise that is
/// stored, messages of 0, 1 and 2 bytes.
fn corners(seed: u64, bytes: usize) -> Vec<Vec<u8>> {
    let mut random = Random(seed);
    let mut messages: Vec<Vec<u8>> =
        vec![b"".to_vec(), b"a".to_vec(), b"ab".to_vec(), b"abc".to_vec()];
    let mut total = 0;
    while total < bytes {
        let length = match random.below(12) {
            0 => random.below(3),
            1 => 30_000 + random.below(60_000),
            2 => 245 + random.below(30),
            3 => 2000 + random.below(9000),
            _ => random.below(600),
        };
        let letters = [2, 4, 16, 256][random.below(4)];
        let mut message: Vec<u8> = Vec::with_capacity(length);
        while message.len() < length {
            if message.len() > 8 && random.below(3) > 0 {
                let from = random.below(message.len());
                let many = 1 + random.below(300).min(message.len() - from);
                message.extend_from_within(from..(from + many).min(message.len()));
            } else if let (0, Some(before)) = (random.below(3), messages.last()) {
                let from = random.below(before.len());
                message.extend(before.iter().skip(from).take(random.below(100)));
            } else {
                message.extend((0..random.below(40)).map(|_| random.below(letters) as u8));
            }
        }
        message.truncate(length);
        total += length;
        messages.push(message);
    }
    messages
}

#[test]
fn long_odd_and_incompressible_messages_are_zlibs() {
    for seed in [1, 2, 3] {
        let messages = corners(seed, 200_000);
        let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let mut random = Random(seed + 100);
        check(
            "corners",
            &messages,
            (0..30).map(|_| random.setting()),
            20_000,
        );
    }
}

#[test]
fn contexts_begin_with_an_empty_window() {
    let messages = corners(9, 60_000);
    let setting = Setting::ZLIB.with_window_bits(12).with_mem_level(5);
    let mut engine = Engine::new(EngineOptions::default());
    let (mut fast, mut lazy) = (0, 0);
    for part in messages.chunks(7) {
        engine.begin_context();
        let part: Vec<&[u8]> = part.iter().map(Vec::as_slice).collect();
        for message in &part {
            engine.message(message, 3);
        }
        lazy += zlib(setting, &part).iter().sum::<u64>();
        fast += zlib(
            Setting {
                level: 1,
                ..setting
            },
            &part,
        )
        .iter()
        .sum::<u64>();
    }
    let sizes = engine.finish();
    assert_eq!(sizes.classes[3].compressed(setting), lazy);
    assert_eq!(
        sizes.classes[3].compressed(Setting {
            level: 1,
            ..setting
        }),
        fast
    );
}

/// A few lazy settings are followed by themselves: over several contexts, with and without takeover,
/// in small and large batches.
#[test]
fn a_few_settings_are_zlibs_over_several_contexts() {
    let messages = corners(21, 300_000);
    for (level, windows, mem_level, batch) in [
        (4, [9, 15], 1, 10_000),
        (6, [12, 15], 8, 1 << 16),
        (9, [10, 14], 9, 3000),
    ] {
        let cells = Cells::all()
            .only_levels([level])
            .only_windows(windows)
            .only_mem_levels([mem_level]);
        let mut options = EngineOptions::default();
        options.cells = cells;
        options.batch_bytes = batch;
        let mut engine = Engine::new(options);
        let settings: Vec<Setting> = Setting::all().filter(|&s| cells.contains(s)).collect();
        let mut expected = vec![0; settings.len()];
        for part in messages.chunks(40) {
            engine.begin_context();
            let part: Vec<&[u8]> = part.iter().map(Vec::as_slice).collect();
            for message in &part {
                engine.message(message, 0);
            }
            for (expected, &setting) in expected.iter_mut().zip(&settings) {
                *expected += zlib(setting, &part).iter().sum::<u64>();
            }
        }
        let sizes = engine.finish().total();
        assert_eq!(settings.len(), 4);
        for (expected, &setting) in expected.iter().zip(&settings) {
            assert_eq!(sizes.compressed(setting), *expected, "{setting}");
        }
    }
}

#[test]
#[ignore = "all 1,296 settings over long messages take minutes: cargo test -p weir-ws -- --ignored"]
fn every_cell_is_zlibs_on_long_and_odd_messages() {
    let messages = corners(77, 400_000);
    let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    check("corners", &messages, Setting::all(), 50_000);
}

/// Found by fuzzing: with 8 window bits alone, empty messages were not counted.
#[test]
fn empty_messages_count_with_eight_bits_alone() {
    let messages: [&[u8]; 3] = [b"one", b"", b"two"];
    for setting in Setting::all().filter(|setting| setting.window_bits == 8) {
        let mut options = EngineOptions::default();
        options.cells = Cells::one(setting);
        options.threads = 1;
        let mut engine = Engine::new(options);
        for message in &messages {
            engine.message(message, 0);
        }
        let expected: u64 = zlib(setting, &messages).iter().sum();
        assert_eq!(
            engine.finish().total().compressed(setting),
            expected,
            "{setting}"
        );
    }
}
