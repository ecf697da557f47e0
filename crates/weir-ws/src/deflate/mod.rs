//! permessage-deflate (RFC 7692): negotiation and transformation.

mod compress;
mod inflate;
mod negotiate;

pub use compress::{DeflateOptions, Deflater};
pub use inflate::{InflateError, InflateErrorKind, InflateOptions, Inflated, Inflater};
pub use negotiate::{
    Agreed, Bits, NegotiationError, NegotiationErrorKind, Offer, ServerPolicy, parse_offers,
    parse_response,
};
