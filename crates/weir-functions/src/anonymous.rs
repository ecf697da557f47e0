//! `anonymize_ip(ip, 'key')`: an address in the place of another, whose prefixes are kept (weir-anonymize).

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use weir_anonymize::Anonymizer;
use weir_packet::Address;

use crate::computed::{Arguments, ColumnFunction};
use crate::networks;

const ANONYMIZE_IP: &str = "anonymize_ip";

pub(crate) fn anonymize_ip() -> ScalarUDF {
    let function = ColumnFunction {
        name: ANONYMIZE_IP,
        arguments: Arguments::Coerced(coerced),
        kind: |_, _| Ok(DataType::Utf8View),
        values: anonymized,
    };
    function.udf()
}

fn coerced(_name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [address, _] if networks::coerced_type(address).is_some() => {
            let address = networks::coerced_type(address);
            Ok(address.into_iter().chain([DataType::Utf8View]).collect())
        }
        _ => {
            plan_err!("anonymize_ip takes an address and a key: anonymize_ip(ip.src, 'secret')")
        }
    }
}

fn anonymized(_name: &str, given: &[ArrayRef]) -> Result<ArrayRef> {
    let [addresses, keys] = given else {
        return exec_err!("anonymize_ip got {} arguments", given.len());
    };
    let addresses = networks::parsed_addresses(addresses)?;
    let keys = cast(keys, &DataType::Utf8View)?;
    let mut texts = StringViewBuilder::with_capacity(addresses.len());
    let mut last: Option<(&str, Anonymizer)> = None;
    for (address, key) in addresses.into_iter().zip(keys.as_string_view()) {
        let (Some(address), Some(key)) = (address, key) else {
            texts.append_null();
            continue;
        };
        let (_, anonymizer) = match last.take() {
            Some(known) if known.0 == key => last.insert(known),
            _ => last.insert((key, Anonymizer::new(key.as_bytes()))),
        };
        texts.append_value(replaced(anonymizer, address).to_string());
    }
    Ok(Arc::new(texts.finish()))
}

/// The replacement of an address of any kind; identifiers of 8 bytes identify no device here, and become a MAC address's with their
/// ends.
fn replaced(anonymizer: &Anonymizer, address: Address) -> Address {
    let bytes = address.as_bytes();
    let other = if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        Address::from_bytes(&anonymizer.ipv4(Ipv4Addr::from(four)).octets())
    } else if let Ok(sixteen) = <[u8; 16]>::try_from(bytes) {
        Address::from_bytes(&anonymizer.ipv6(Ipv6Addr::from(sixteen)).octets())
    } else {
        bytes
            .first_chunk::<6>()
            .and_then(|card| Address::from_bytes(&anonymizer.mac(*card)))
    };
    // All lengths that an address has are above.
    other.unwrap_or(address)
}
