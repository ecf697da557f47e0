//! SQL functions on addresses.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanBuilder, StringViewBuilder,
};
use arrow::compute::cast;
use arrow::compute::kernels::length::length;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use weir_packet::Address;
use weir_tables::{ADDRESS_EXTENSION, Network};

use crate::computed::{Arguments, ColumnFunction};
use crate::payload;
use crate::replacement;

/// `cidr_match(address, 'network')`: true when the address lies in the network.
pub const CIDR_MATCH: &str = "cidr_match";
/// `address('text')`: the address that the text spells, NULL when it is not an address.
pub const ADDRESS: &str = "address";
/// `address_or_other('text')`: as `address`, with bytes that no address has for a text that is not an address.
pub(crate) const ADDRESS_OR_OTHER: &str = "address_or_other";
/// Addresses have four bytes or more.
const OTHER: &[u8] = &[];
/// `address_text(address)`: the address as text.
pub const ADDRESS_TEXT: &str = "address_text";

/// `display_filter('text')`: whether a packet passes a display filter of Wireshark.
pub const DISPLAY_FILTER: &str = "display_filter";

/// Functions that give back one of their arguments.
pub const MIXING_FUNCTIONS: &[&str] = &[
    "coalesce", "nullif", "ifnull", "nvl", "nvl2", "greatest", "least",
];

/// Functions that work on text, or keep it in a value in which an address would lose its type.
pub const TEXT_FUNCTIONS: &[&str] = &[
    "ascii",
    "btrim",
    "char_length",
    "character_length",
    "concat",
    "concat_ws",
    "contains",
    "ends_with",
    "find_in_set",
    "initcap",
    "instr",
    "left",
    "length",
    "levenshtein",
    "lower",
    "lpad",
    "ltrim",
    "make_map",
    "map",
    "named_struct",
    "position",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_match",
    "regexp_replace",
    replacement::REGEXP_REPLACEMENT,
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    "split_part",
    "starts_with",
    "string_agg",
    "strpos",
    "struct",
    "substr",
    "substr_index",
    "substring",
    "substring_index",
    "to_char",
    "translate",
    "trim",
    "upper",
];

/// The functions whose results are bytes and never addresses, whatever their arguments are.
pub(crate) const HASH_FUNCTIONS: &[&str] = &[
    "digest",
    "md5",
    payload::PART,
    "sha224",
    "sha256",
    "sha384",
    "sha512",
];

/// `octet_length(bytes)`: how many bytes there are.
pub const OCTET_LENGTH: &str = "octet_length";

/// The functions that every session has.
pub(crate) fn all() -> [ScalarUDF; 6] {
    [
        cidr_match(),
        address(),
        address_or_other(),
        address_text(),
        octet_length(),
        display_filter(),
    ]
}

pub(crate) fn cidr_match() -> ScalarUDF {
    ScalarUDF::from(AddressFunction::new(CIDR_MATCH, 2))
}

pub(crate) fn address() -> ScalarUDF {
    ScalarUDF::from(AddressFunction::new(ADDRESS, 1))
}

/// The value that an address is compared with: the address of a text, or bytes that no address has when the text is not one. NULL
/// would make the comparison unknown.
pub(crate) fn address_or_other() -> ScalarUDF {
    ScalarUDF::from(AddressFunction::new(ADDRESS_OR_OTHER, 1))
}

pub(crate) fn address_text() -> ScalarUDF {
    ScalarUDF::from(AddressFunction::new(ADDRESS_TEXT, 1))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AddressFunction {
    name: &'static str,
    signature: Signature,
}

impl AddressFunction {
    fn new(name: &'static str, arguments: usize) -> Self {
        Self {
            name,
            signature: Signature::any(arguments, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for AddressFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match self.name {
            CIDR_MATCH => Ok(DataType::Boolean),
            ADDRESS | ADDRESS_OR_OTHER => Ok(DataType::BinaryView),
            _ => match arguments {
                [argument] => Ok(text_type(argument)),
                _ => exec_err!("{} takes one address", self.name),
            },
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let field = Field::new(self.name, self.return_type(&types)?, true);
        Ok(Arc::new(if self.name == ADDRESS {
            let key = "ARROW:extension:name".to_owned();
            field.with_metadata([(key, ADDRESS_EXTENSION.to_owned())].into())
        } else {
            field
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let all_scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let result: ArrayRef = match (self.name, arrays.as_slice()) {
            (CIDR_MATCH, [addresses, networks]) => match_networks(addresses, networks)?,
            (ADDRESS, [texts]) => read_addresses(texts, None)?,
            (ADDRESS_OR_OTHER, [texts]) => read_addresses(texts, Some(OTHER))?,
            (ADDRESS_TEXT, [addresses]) => write_addresses(addresses)?,
            _ => return exec_err!("{} got {} arguments", self.name, arrays.len()),
        };
        if all_scalar && rows > 0 {
            let value = datafusion::common::ScalarValue::try_from_array(&result, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(result))
    }
}

/// `octet_length(bytes)`: as DataFusion's, but of bytes too, such as payloads.
fn octet_length() -> ScalarUDF {
    let function = ColumnFunction {
        name: OCTET_LENGTH,
        arguments: Arguments::Any(1),
        kind: |_, _| Ok(DataType::Int64),
        values: |_, columns| match columns {
            [values] => Ok(cast(&length(values)?, &DataType::Int64)?),
            _ => exec_err!("{OCTET_LENGTH} got {} arguments", columns.len()),
        },
    };
    function.udf()
}

/// `display_filter('tcp.port == 443')`: whether the packet passes. The scan decides it; no value of a
/// row shows it.
fn display_filter() -> ScalarUDF {
    let function = ColumnFunction {
        name: DISPLAY_FILTER,
        arguments: Arguments::Any(2),
        kind: |_, _| Ok(DataType::Boolean),
        values: |_, _| {
            exec_err!(
                "display_filter is evaluated while packets are read: use it in WHERE over a capture, alone or with conditions on columns of the packets"
            )
        },
    };
    function.udf()
}

/// The type of the text of addresses of this type: lists of addresses become lists of text.
fn text_type(addresses: &DataType) -> DataType {
    match addresses {
        DataType::List(item) => DataType::List(Arc::new(Field::new(
            item.name(),
            text_type(item.data_type()),
            item.is_nullable(),
        ))),
        _ => DataType::Utf8View,
    }
}

fn match_networks(addresses: &ArrayRef, networks: &ArrayRef) -> Result<ArrayRef> {
    let addresses = match addresses.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            read_addresses(addresses, None)?
        }
        _ => cast(addresses, &DataType::BinaryView)?,
    };
    let networks = cast(networks, &DataType::Utf8View)?;
    let (addresses, networks) = (addresses.as_binary_view(), networks.as_string_view());
    let mut result = BooleanBuilder::with_capacity(addresses.len());
    let mut last: Option<(&str, Network)> = None;
    for (address, network) in addresses.iter().zip(networks) {
        let (Some(address), Some(text)) = (address, network) else {
            result.append_null();
            continue;
        };
        let network = match last {
            Some((known, network)) if known == text => network,
            _ => parse_network(text)?,
        };
        last = Some((text, network));
        result.append_value(network.contains(address));
    }
    Ok(Arc::new(result.finish()))
}

/// Parses a network; the error describes the fault.
pub(crate) fn parse_network(text: &str) -> Result<Network> {
    Network::parse(text).ok_or_else(|| {
        DataFusionError::Plan(format!(
            "'{text}' is not a network; write it like '10.0.0.0/8' or '2001:db8::/32'"
        ))
    })
}

/// The addresses that texts spell, with another value in the place of a text that is not an address.
fn read_addresses(texts: &ArrayRef, other: Option<&[u8]>) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    let mut result = BinaryViewBuilder::with_capacity(texts.len());
    for text in texts {
        let Some(text) = text else {
            result.append_null();
            continue;
        };
        match text.trim().parse::<Address>() {
            Ok(address) => result.append_value(address.as_bytes()),
            Err(_) => result.append_option(other),
        }
    }
    Ok(Arc::new(result.finish()))
}

fn write_addresses(addresses: &ArrayRef) -> Result<ArrayRef> {
    use std::fmt::Write as _;
    if matches!(
        addresses.data_type(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    ) {
        return Ok(cast(addresses, &DataType::Utf8View)?);
    }
    if let Some(lists) = addresses.as_list_opt::<i32>() {
        let texts = write_addresses(lists.values())?;
        let DataType::List(item) = text_type(lists.data_type()) else {
            return exec_err!("the text of a list of addresses must be a list");
        };
        let lists = arrow::array::ListArray::try_new(
            item,
            lists.offsets().clone(),
            texts,
            lists.nulls().cloned(),
        )?;
        return Ok(Arc::new(lists));
    }
    let addresses = cast(addresses, &DataType::BinaryView)?;
    let addresses = addresses.as_binary_view();
    let mut result = StringViewBuilder::with_capacity(addresses.len());
    let mut text = String::new();
    for address in addresses {
        match address {
            None => result.append_null(),
            Some(bytes) => {
                text.clear();
                match Address::from_bytes(bytes) {
                    Some(address) => write!(text, "{address}"),
                    None => bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}")),
                }
                .map_err(|error| DataFusionError::External(Box::new(error)))?;
                result.append_value(&text);
            }
        }
    }
    Ok(Arc::new(result.finish()))
}
