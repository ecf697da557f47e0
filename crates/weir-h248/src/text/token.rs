//! The words of the protocol, long and short.

use crate::octets::pack8;

macro_rules! tokens {
    ($( $name:ident $long:literal $short:literal, )*) => {
        /// A word with a meaning. Which meanings count depends on the place: `A=media` is legal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Token {
            /// Any other word.
            Other,
            $( $name, )*
        }

        impl Token {
            /// The word in pretty text.
            #[inline]
            pub(crate) const fn long(self) -> &'static str {
                match self { Self::Other => "", $( Self::$name => $long, )* }
            }
            /// The word in compact text: at most eight characters.
            #[inline]
            pub(crate) const fn short(self) -> &'static str {
                match self { Self::Other => "", $( Self::$name => $short, )* }
            }
        }

        const WORDS: &[(&str, Token)] = &[
            $( ($long, Token::$name), ($short, Token::$name), )*
            // Erlang writes version 2 so, older ones read it so.
            ("EmergencyOffToken", Token::EmergencyOff),
        ];
    };
}

tokens! {
    Add "Add" "A",
    AndAuditSelect "ANSLgc" "ANSLgc",
    Audit "Audit" "AT",
    AuditCap "AuditCapability" "AC",
    AuditValue "AuditValue" "AV",
    Auth "Authentication" "AU",
    Both "Both" "B",
    Bothway "Bothway" "BW",
    Brief "Brief" "BR",
    Buffer "Buffer" "BF",
    Context "Context" "C",
    ContextAudit "ContextAudit" "CA",
    ContextAttr "ContextAttr" "CT",
    ContextList "ContextList" "CLT",
    DigitMap "DigitMap" "DM",
    Direction "SPADirection" "SPADI",
    Discard "Discard" "DS",
    Disconnected "Disconnected" "DC",
    Delay "Delay" "DL",
    Duration "Duration" "DR",
    Embed "Embed" "EM",
    Emergency "Emergency" "EG",
    EmergencyOff "EmergencyOff" "EGO",
    EmergencyValue "EmergencyValue" "EGV",
    Error "Error" "ER",
    EventBuffer "EventBuffer" "EB",
    Events "Events" "E",
    External "External" "EX",
    Failover "Failover" "FL",
    Forced "Forced" "FO",
    Graceful "Graceful" "GR",
    H221 "H221" "H221",
    H223 "H223" "H223",
    H226 "H226" "H226",
    HandOff "HandOff" "HO",
    Ieps "IEPSCall" "IEPS",
    ImmAckRequired "ImmAckRequired" "IA",
    Inactive "Inactive" "IN",
    Internal "Internal" "IT",
    IntsigDelay "Intersignal" "SPAIS",
    InterruptByEvent "IntByEvent" "IBE",
    InterruptByNewSignal "IntBySigDescr" "IBS",
    Isolate "Isolate" "IS",
    InService "InService" "IV",
    Iteration "Iteration" "IR",
    KeepActive "KeepActive" "KA",
    Local "Local" "L",
    LocalControl "LocalControl" "O",
    LockStep "LockStep" "SP",
    Loopback "Loopback" "LB",
    Media "Media" "M",
    MessageSegment "Segment" "SM",
    Method "Method" "MT",
    MgcId "MgcIdToTry" "MG",
    Mode "Mode" "MO",
    Modify "Modify" "MF",
    Modem "Modem" "MD",
    Move "Move" "MV",
    Mtp "MTP" "MTP",
    Mux "Mux" "MX",
    NeverNotify "NeverNotify" "NBNN",
    Notify "Notify" "N",
    NotifyCompletion "NotifyCompletion" "NC",
    NotifyImmediate "ImmediateNotify" "NBIN",
    NotifyRegulated "RegulatedNotify" "NBRN",
    Nx64k "Nx64Kservice" "N64",
    ObservedEvents "ObservedEvents" "OE",
    Off "OFF" "OFF",
    Oneway "Oneway" "OW",
    OnewayBoth "OnewayBoth" "OWB",
    OnewayExternal "OnewayExternal" "OWE",
    OnOff "OnOff" "OO",
    OrAuditSelect "ORLgc" "ORLgc",
    On "ON" "ON",
    OtherReason "OtherReason" "OR",
    OutOfService "OutOfService" "OS",
    Packages "Packages" "PG",
    Pending "Pending" "PN",
    Priority "Priority" "PR",
    Profile "Profile" "PF",
    Reason "Reason" "RE",
    Recvonly "ReceiveOnly" "RC",
    Reply "Reply" "P",
    ResetEventsDescriptor "ResetEventsDescriptor" "RSE",
    Restart "Restart" "RS",
    Remote "Remote" "R",
    RequestID "SPARequestID" "SPARQ",
    ReservedGroup "ReservedGroup" "RG",
    ReservedValue "ReservedValue" "RV",
    SegmentationComplete "END" "&",
    Sendonly "SendOnly" "SO",
    Sendrecv "SendReceive" "SR",
    Services "Services" "SV",
    ServiceStates "ServiceStates" "SI",
    ServiceChange "ServiceChange" "SC",
    ServiceChangeAddress "ServiceChangeAddress" "AD",
    ServiceChangeIncomplete "ServiceChangeInc" "SIC",
    SignalList "SignalList" "SL",
    Signals "Signals" "SG",
    SignalType "SignalType" "SY",
    Statistics "Statistics" "SA",
    Stream "Stream" "ST",
    Subtract "Subtract" "S",
    SynchIsdn "SynchISDN" "SN",
    TerminationState "TerminationState" "TS",
    Test "Test" "TE",
    TimeOut "TimeOut" "TO",
    Topology "Topology" "TP",
    Transaction "Transaction" "T",
    ResponseAck "TransactionResponseAck" "K",
    V18 "V18" "V18",
    V22 "V22" "V22",
    V22Bis "V22b" "V22b",
    V32 "V32" "V32",
    V32Bis "V32b" "V32b",
    V34 "V34" "V34",
    V76 "V76" "V76",
    V90 "V90" "V90",
    V91 "V91" "V91",
    Version "Version" "V",
}

/// A word as two numbers, whatever its case: for a word of up to eight characters all of it and its length, for a longer one its
/// first eight and its last eight. Up to sixteen characters that is the whole word. The bit that makes letters small changes no
/// other character of a word into a letter or digit.
type WordKey = (u64, u64);

const SMALL: u64 = 0x2020_2020_2020_2020;

#[inline]
fn key(word: &[u8]) -> WordKey {
    if let (Some(first), Some(last)) = (word.first_chunk::<8>(), word.last_chunk::<8>())
        && word.len() > 8
    {
        return (
            u64::from_le_bytes(*first) | SMALL,
            u64::from_le_bytes(*last) | SMALL,
        );
    }
    let len = word.len() as u64;
    // One to eight characters: an empty word has been dealt with.
    let used = u64::MAX >> (64_u64.wrapping_sub(len.wrapping_mul(8)) & 63);
    (pack8(word) | SMALL & used, len)
}

/// [`key`] while compiling, where it has to be a loop.
const fn key_of(word: &[u8]) -> WordKey {
    const fn fold(word: &[u8], from: usize, to: usize) -> u64 {
        let mut sum = 0;
        let mut at = to;
        while at > from {
            at -= 1;
            sum = sum << 8 | (word[at] | 0x20) as u64;
        }
        sum
    }
    if word.len() <= 8 {
        (fold(word, 0, word.len()), word.len() as u64)
    } else {
        (fold(word, 0, 8), fold(word, word.len() - 8, word.len()))
    }
}

const SLOTS: usize = 512;

#[inline]
const fn slot(key: WordKey) -> usize {
    let mixed = (key.0 ^ key.1.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 55) as usize
}

/// Words by their keys, found by multiplying and probing. No key has a second half of 0.
static TABLE: [(WordKey, Token); SLOTS] = build();

const fn build() -> [(WordKey, Token); SLOTS] {
    let mut table = [((0, 0), Token::Other); SLOTS];
    let mut at = 0;
    while at < WORDS.len() {
        let key = key_of(WORDS[at].0.as_bytes());
        let mut place = slot(key);
        while table[place].0.1 != 0 && !(table[place].0.0 == key.0 && table[place].0.1 == key.1) {
            place = (place + 1) % SLOTS;
        }
        table[place] = (key, WORDS[at].1);
        at += 1;
    }
    table
}

/// The meaning of a word.
#[inline]
pub(crate) fn token(word: &[u8]) -> Token {
    if word.is_empty() {
        return Token::Other;
    }
    let key = key(word);
    let mut place = slot(key);
    loop {
        let Some(&(known, token)) = TABLE.get(place) else {
            return Token::Other;
        };
        if known == key {
            return if word.len() <= 8 || is_long(token, word) {
                token
            } else {
                Token::Other
            };
        }
        if known.1 == 0 {
            return Token::Other;
        }
        place = place.wrapping_add(1) % SLOTS;
    }
}

/// Whether a word of more than eight characters is the one of its key.
#[inline]
fn is_long(token: Token, word: &[u8]) -> bool {
    word.len() == token.long().len() && word.len() <= 16 || is_longer(token, word)
}

fn is_longer(token: Token, word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(token.long().as_bytes())
        || token == Token::EmergencyOff && word.eq_ignore_ascii_case(b"EmergencyOffToken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_any_case_and_no_other() {
        for (word, token_of) in WORDS {
            assert_eq!(token(word.as_bytes()), *token_of, "{word}");
            assert_eq!(
                token(word.to_ascii_lowercase().as_bytes()),
                *token_of,
                "{word}"
            );
            assert_eq!(
                token(word.to_ascii_uppercase().as_bytes()),
                *token_of,
                "{word}"
            );
            let longer = format!("{word}x");
            if !WORDS
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(&longer))
            {
                assert_eq!(token(longer.as_bytes()), Token::Other, "{longer}");
            }
        }
        for word in [
            "",
            "al/of",
            "Tranxxction",
            "ServiceChangeAxxress",
            "@",
            "$",
            "*",
        ] {
            assert_eq!(token(word.as_bytes()), Token::Other, "{word}");
        }
    }
}
