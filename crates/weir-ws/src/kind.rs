//! The kinds of messages: by the keys of a JSON object, or by size.

/// A name for messages of the same shape: `{type="msg",timestamp,sender}` for an object (the first
/// names at its top, and the value of a member that tells types apart), `[array]`, or a size class
/// such as `text <= 256 B`. Looks at no more than the first 512 bytes.
///
/// ```
/// assert_eq!(weir_ws::kind_of(br#"{"type":"msg","n":{"a":1},"x":[2]}"#, false), r#"{type="msg",n,x}"#);
/// assert_eq!(weir_ws::kind_of(b"hello", false), "text <= 16 B");
/// assert_eq!(weir_ws::kind_of(&[0; 300], true), "binary <= 512 B");
/// ```
#[must_use]
pub fn kind_of(payload: &[u8], binary: bool) -> String {
    let text = payload.trim_ascii_start();
    if !binary && let Some(shape) = object_shape(text) {
        return shape;
    }
    if !binary && text.first() == Some(&b'[') {
        return "[array]".to_owned();
    }
    let what = if binary { "binary" } else { "text" };
    let class = payload.len().max(16).next_power_of_two();
    format!("{what} <= {class} B")
}

const LOOK: usize = 512;
const NAMES_MAX: usize = 12;
const NAME_MAX: usize = 32;
/// Members whose value tells types apart.
const TYPES: [&[u8]; 8] = [
    b"type", b"event", b"op", b"action", b"method", b"cmd", b"kind", b"t",
];

fn object_shape(text: &[u8]) -> Option<String> {
    let text = text.get(..text.len().min(LOOK))?;
    if text.first() != Some(&b'{') {
        return None;
    }
    let mut shape = String::from("{");
    let mut names = 0;
    let mut depth = 0usize;
    let mut at = 0;
    let mut key: Option<&[u8]> = None;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            b',' => key = None,
            b'"' => {
                let begin = at;
                while let Some(&byte) = text.get(at) {
                    match byte {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
                let string = text.get(begin..at.min(text.len())).unwrap_or_default();
                at += 1;
                if depth != 1 || string.len() > NAME_MAX {
                    continue;
                }
                let rest = text.get(at..).unwrap_or_default().trim_ascii_start();
                if rest.first() == Some(&b':') {
                    if names < NAMES_MAX {
                        if names > 0 {
                            shape.push(',');
                        }
                        shape.push_str(&String::from_utf8_lossy(string));
                        names += 1;
                    }
                    key = Some(string);
                } else if key.is_some_and(|key| TYPES.contains(&key)) && names <= NAMES_MAX {
                    shape.push_str("=\"");
                    shape.push_str(&String::from_utf8_lossy(string));
                    shape.push('"');
                    key = None;
                }
            }
            _ => {}
        }
    }
    shape.push('}');
    Some(shape)
}
