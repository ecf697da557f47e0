//! Makes Rust types of the ASN.1 module of version 3, as a user of rasn would.

use std::{env, path::PathBuf};

use rasn_compiler::prelude::{Compiler, RasnBackend};

fn main() {
    let module = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/specs/h248/MEDIA-GATEWAY-CONTROL-v3.asn");
    println!("cargo::rerun-if-changed={}", module.display());
    let types = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("types.rs");
    let done = Compiler::<RasnBackend, _>::new()
        .add_asn_by_path(module)
        .set_output_path(types)
        .compile();
    match done {
        Ok(warnings) => {
            for warning in warnings {
                println!("cargo::warning={warning}");
            }
        }
        Err(error) => panic!("{error}"),
    }
}
