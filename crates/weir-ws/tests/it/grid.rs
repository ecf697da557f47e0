//! Every size equals stock zlib's.

use weir_ws::exact::{Engine, EngineOptions};
use weir_ws::{Cells, Setting};

use crate::common::{Random, lines, shared, zlib};

/// Compares each message of some settings with zlib.
fn check(name: &str, messages: &[&[u8]], settings: impl Iterator<Item = Setting>, batch: usize) {
    let mut options = EngineOptions::default();
    options.classes_max = 1 << 16;
    options.batch_bytes = batch;
    let mut engine = Engine::new(options);
    for message in messages {
        engine.message(message, 0);
    }
    let sizes = engine.finish().total();
    let mut wrong = 0;
    let mut checked = 0;
    for setting in settings {
        let theirs: u64 = zlib(setting, messages).iter().sum();
        checked += 1;
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
