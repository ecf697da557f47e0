//! mitmproxy's flow files: typed netstrings (`LENGTH:PAYLOADTYPE`), one a flow.

use super::{Each, InputErrorKind, InputMessage, InputOptions, InputReport};
use crate::wire::{Direction, Opcode};

#[derive(Debug)]
pub(super) struct Flows {
    options: InputOptions,
    begun: Vec<u8>,
}

/// Digits of a length.
const DIGITS_MAX: usize = 12;

impl Flows {
    pub(super) fn new(options: InputOptions) -> Self {
        Self {
            options,
            begun: Vec::new(),
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.begun.is_empty()
    }

    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        report: &mut InputReport,
        each: &mut Each<'_>,
    ) -> Result<(), InputErrorKind> {
        self.begun.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            let rest = self.begun.get(done..).unwrap_or_default();
            match need(rest, self.options.flow_bytes_max)? {
                Some(whole) if whole <= rest.len() => {
                    let (value, _) = MitmValue::read(rest).ok_or(InputErrorKind::Syntax)?;
                    self.flow(value, report, each);
                    done += whole;
                }
                _ => break,
            }
        }
        self.begun.drain(..done);
        Ok(())
    }

    fn flow(&self, flow: MitmValue<'_>, report: &mut InputReport, each: &mut Each<'_>) {
        // Since version 7 a flow has a member `websocket`; before, the messages were its own.
        let holder = match flow.get("websocket") {
            Some(inner) if inner.kind == b'}' => inner,
            _ if flow
                .get("type")
                .is_some_and(|kind| kind.bytes == b"websocket") =>
            {
                flow
            }
            _ => return,
        };
        let Some(messages) = holder.get("messages") else {
            return;
        };
        let connection = report.connections;
        report.connections += 1;
        for message in messages.items() {
            // The list has the type, whether the client sent it, the content and the time.
            let mut fields = message.items();
            let (opcode, client, content, time) =
                (fields.next(), fields.next(), fields.next(), fields.next());
            let (Some(opcode), Some(client), Some(content)) = (opcode, client, content) else {
                report.damaged += 1;
                continue;
            };
            if content.bytes.len() > self.options.message_bytes_max {
                report.too_long += 1;
                continue;
            }
            let number =
                |value: MitmValue<'_>| std::str::from_utf8(value.bytes).ok()?.parse::<f64>().ok();
            report.messages += 1;
            each(&InputMessage {
                connection,
                direction: Some(if client.bytes == b"true" {
                    Direction::ToServer
                } else {
                    Direction::ToClient
                }),
                opcode: match number(opcode) {
                    Some(2.0) => Opcode::Binary,
                    _ => Opcode::Text,
                },
                payload: content.bytes,
                time: time.and_then(number),
            });
        }
    }
}

/// The length of the value at the beginning, with its length field and type; `None` when it is not known yet.
fn need(bytes: &[u8], most: usize) -> Result<Option<usize>, InputErrorKind> {
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    match bytes.get(digits) {
        None if digits <= DIGITS_MAX => Ok(None),
        Some(b':') if (1..=DIGITS_MAX).contains(&digits) => {
            let length = std::str::from_utf8(bytes.get(..digits).unwrap_or_default())
                .ok()
                .and_then(|digits| digits.parse::<usize>().ok())
                .ok_or(InputErrorKind::Syntax)?;
            if length > most {
                return Err(InputErrorKind::Limit);
            }
            Ok(Some(digits + 1 + length + 1))
        }
        _ => Err(InputErrorKind::Syntax),
    }
}

/// A value: its type's character and its bytes.
#[derive(Clone, Copy, Debug)]
struct MitmValue<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> MitmValue<'a> {
    /// The value at the beginning, and what follows.
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let whole = need(bytes, bytes.len()).ok()??;
        let colon = memchr::memchr(b':', bytes)?;
        let payload = bytes.get(colon + 1..whole.checked_sub(1)?)?;
        let kind = *bytes.get(whole - 1)?;
        Some((
            Self {
                kind,
                bytes: payload,
            },
            bytes.get(whole..)?,
        ))
    }

    /// The values of a list, or the keys and values of a dictionary in turn.
    fn items(self) -> impl Iterator<Item = MitmValue<'a>> {
        let mut rest = match self.kind {
            b']' | b'}' => self.bytes,
            _ => &[],
        };
        std::iter::from_fn(move || {
            let (value, after) = MitmValue::read(rest)?;
            rest = after;
            Some(value)
        })
    }

    fn get(self, key: &str) -> Option<MitmValue<'a>> {
        if self.kind != b'}' {
            return None;
        }
        let mut items = self.items();
        while let (Some(name), Some(value)) = (items.next(), items.next()) {
            if name.bytes == key.as_bytes() {
                return Some(value);
            }
        }
        None
    }
}
