//! Any message, looked at as the doors of a scheduler and of an executor do.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        // Arrow's reader panics on some schemas, which the checks catch. libFuzzer's own hook ends the process at once; a panic that
        // comes as far as the target still does.
        std::panic::set_hook(Box::new(|panic| {
            if panic.location().is_none_or(|at| !at.file().contains("arrow-")) {
                eprintln!("{panic}");
            }
        }));
    },
    |bytes: &[u8]| {
        let _ = weir_cluster::look_at_message(bytes);
    }
);
