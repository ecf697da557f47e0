//! The number of fields of a protobuf message, which is bounded before the message is decoded. An empty message in a list takes two bytes
//! on its way and some hundred in memory, so that a message of 16 MiB would take gigabytes.

use prost::Message;
use prost::encoding::decode_varint;

use super::Refused;

/// Decodes a message that does not have too many fields; `what` names it in errors.
///
/// # Errors
/// When it has, or is malformed.
pub(crate) fn decoded<M: Message + Default>(what: &str, bytes: &[u8]) -> Result<M, Refused> {
    decoded_up_to(FIELDS_MAX, what, bytes)
}

/// As [`decoded`], with another limit.
pub(super) fn decoded_up_to<M: Message + Default>(
    fields_max: u64,
    what: &str,
    bytes: &[u8],
) -> Result<M, Refused> {
    let mut counter = FieldCounter {
        found: 0,
        fields_max,
    };
    counter.count(bytes, 0);
    if counter.found > fields_max {
        return Err(Refused::malformed(format!(
            "{what} has more fields than the limit of {fields_max}"
        )));
    }
    M::decode(bytes)
        .map_err(|error| Refused::malformed(format!("{what} cannot be decoded: {error}")))
}

struct FieldCounter {
    found: u64,
    fields_max: u64,
}

impl FieldCounter {
    /// Counts the fields of a message and of those in it, up to the place where it is malformed. Bytes that could be a message are counted as
    /// one, unless they are a text.
    fn count(&mut self, mut bytes: &[u8], depth: usize) {
        while !bytes.is_empty() && self.found <= self.fields_max {
            let Ok(tag) = decode_varint(&mut bytes) else {
                return;
            };
            if tag >> 3 == 0 || tag > u64::from(u32::MAX) {
                return;
            }
            self.found += 1;
            let length = match tag & 7 {
                VARINT => match decode_varint(&mut bytes) {
                    Ok(_) => 0,
                    Err(_) => return,
                },
                FIXED_64 => 8,
                LENGTH_DELIMITED => match decode_varint(&mut bytes) {
                    Ok(length) => usize::try_from(length).unwrap_or(usize::MAX),
                    Err(_) => return,
                },
                FIXED_32 => 4,
                _ => return,
            };
            let Some((content, rest)) = bytes.split_at_checked(length) else {
                return;
            };
            if tag & 7 == LENGTH_DELIMITED && depth < DEPTH_MAX && !is_text(content) {
                self.count(content, depth + 1);
            }
            bytes = rest;
        }
    }
}

/// Whether a content is a text, such as a long statement. A message in a list begins with a byte below 32, or has 32 bytes at least.
fn is_text(content: &[u8]) -> bool {
    let controls = content.iter().filter(|byte| **byte < b' ').count();
    controls <= content.len() / CHARACTERS_MIN
}

/// The characters of a text for each control character.
const CHARACTERS_MIN: usize = 32;
/// The wire types of fields.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;
const FIXED_32: u64 = 5;
/// The maximum number of fields of a message, with those of the messages in it. A list of a hundred thousand numbers in a condition has
/// more, and its statement is sent as a text.
const FIELDS_MAX: u64 = 1 << 18;
/// The depth at which prost decodes no more messages.
const DEPTH_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use datafusion_proto::protobuf::physical_expr_node::ExprType;
    use datafusion_proto::protobuf::{PhysicalColumn, PhysicalExprNode, PhysicalInListNode};

    use super::*;

    fn in_list(values: Vec<PhysicalExprNode>) -> Vec<u8> {
        let list = PhysicalInListNode {
            list: values,
            ..PhysicalInListNode::default()
        };
        PhysicalExprNode {
            expr_id: None,
            expr_type: Some(ExprType::InList(Box::new(list))),
        }
        .encode_to_vec()
    }

    fn fields(bytes: &[u8]) -> u64 {
        let mut counter = FieldCounter {
            found: 0,
            fields_max: FIELDS_MAX,
        };
        counter.count(bytes, 0);
        counter.found
    }

    /// A message of 16 MiB became eight million nodes before it was refused.
    #[test]
    fn messages_have_a_number_of_fields() {
        let column = PhysicalExprNode {
            expr_id: None,
            expr_type: Some(ExprType::Column(PhysicalColumn {
                index: 7,
                ..PhysicalColumn::default()
            })),
        };
        // A column is a field with a number, in a field of the list.
        let message = in_list(vec![column; 1_000]);
        assert_eq!(fields(&message), 1 + 3 * 1_000);
        let decoded_list = decoded::<PhysicalExprNode>("the list", &message).unwrap();
        assert_eq!(decoded_list.encode_to_vec(), message);
        let mut many = in_list(vec![PhysicalExprNode::default(); 1 << 20]);
        for _ in 0..2 {
            let refused = decoded::<PhysicalExprNode>("the list", &many).unwrap_err();
            assert!(refused.to_string().contains("more fields"), "{refused}");
            // A decoder meets what is wrong at the end only when it has all the rest.
            many.push(0);
        }
        let cut = decoded::<PhysicalExprNode>("the list", &message[..99]).unwrap_err();
        assert!(
            cut.to_string().starts_with("the list cannot be decoded"),
            "{cut}"
        );
        let mut statement = Vec::new();
        prost::encoding::string::encode(1, &"1, 2, ".repeat(1 << 18), &mut statement);
        assert_eq!(fields(&statement), 1);
        // Rows and zeros are no fields.
        assert_eq!(fields(&[0; 1_000]), 0);
        assert_eq!(
            fields(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x10"),
            0
        );
        let deep = (0..1_000).fold(Vec::new(), |inner, _| {
            let mut outer = Vec::new();
            prost::encoding::bytes::encode(1, &inner, &mut outer);
            outer
        });
        assert_eq!(fields(&deep), u64::try_from(DEPTH_MAX).unwrap() + 1);
    }
}
