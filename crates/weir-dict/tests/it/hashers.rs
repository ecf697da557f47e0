//! Hash functions, from good to useless.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

use weir_dict::FoldState;

/// The degree to which a hasher spreads keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    /// The default hash function with a fixed key.
    Fold,
    /// Each number is its own hash.
    Identity,
    /// There are sixteen different hashes.
    Sixteen,
    /// All keys have the same hash.
    Constant,
}

pub(crate) const QUALITIES: [Quality; 4] = [
    Quality::Fold,
    Quality::Identity,
    Quality::Sixteen,
    Quality::Constant,
];

/// Makes hashers of a quality.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State(pub(crate) Quality);

pub(crate) struct AnyHasher {
    quality: Quality,
    fold: weir_dict::FoldHasher,
    last: u64,
}

impl BuildHasher for State {
    type Hasher = AnyHasher;

    fn build_hasher(&self) -> AnyHasher {
        AnyHasher {
            quality: self.0,
            fold: FoldState::new(0x9ae1_6a3b_2f90_404f, 0xc2b2_ae3d_27d4_eb4f).build_hasher(),
            last: 0,
        }
    }
}

impl Hasher for AnyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.fold.write(bytes);
        for byte in bytes.iter().take(8) {
            self.last = self.last << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.fold.write_u64(number);
        self.last = number;
    }

    fn finish(&self) -> u64 {
        match self.quality {
            Quality::Fold => self.fold.finish(),
            Quality::Identity => self.last,
            Quality::Sixteen => {
                let mut hasher = DefaultHasher::new();
                hasher.write_u64(self.last % 16);
                hasher.finish()
            }
            Quality::Constant => 7,
        }
    }
}
