//! The E-model (ITU-T G.107): what packets that do not come, and delay, do to a telephone call.

/// The inputs of the model. The other inputs have the defaults of G.107, table 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inputs {
    /// One-way delay from mouth to ear, in milliseconds: *T*, *Ta* and half of *Tr*.
    pub delay_ms: f64,
    /// Packets that are not heard, in percent: *Ppl*.
    pub loss_percent: f64,
    /// Burst ratio: *BurstR*; 1 when losses are random.
    pub burst_ratio: f64,
    /// The impairment by the codec.
    pub codec: Impairment,
}

/// The impairment of speech by a codec (ITU-T G.113, appendix I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impairment {
    /// Equipment impairment factor without loss: *Ie*.
    pub ie: f64,
    /// Packet-loss robustness: *Bpl*.
    pub bpl: f64,
}

impl Impairment {
    /// The impairment of a codec by its name in `rtpmap`; `None` for codecs without values in appendix I, which are all
    /// that are not narrowband. The value of G.711 is that with packet loss concealment.
    #[must_use]
    pub fn of_codec(name: &str) -> Option<Self> {
        let known: [(&str, f64, f64); 5] = [
            ("PCMU", 0.0, 25.1),
            ("PCMA", 0.0, 25.1),
            ("G729", 11.0, 19.0),
            ("G723", 15.0, 16.1),
            ("GSM-EFR", 5.0, 10.0),
        ];
        let found = known
            .iter()
            .find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
        Some(Self {
            ie: found.1,
            bpl: found.2,
        })
    }
}

/// Rating factor *R*, from 0 to 100 (G.107, 7).
#[must_use]
pub fn rating(inputs: &Inputs) -> f64 {
    let basic = basic_ratio();
    let rating = basic
        - simultaneous(inputs.delay_ms, basic)
        - delay(inputs.delay_ms, basic)
        - effective(inputs);
    // The advantage factor A is 0: no one expects less of an ordinary telephone.
    rating.clamp(0.0, 100.0)
}

/// Mean opinion score of a rating, from 1 to 4.5 (G.107, annex B).
#[must_use]
pub fn opinion(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    let score = 1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6;
    // Below 6.5 the curve dips under 1, which no one can vote.
    score.max(1.0)
}

// The defaults of G.107, table 2, by their names there.
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
const STMR: f64 = 15.0;
const D_FACTOR: f64 = 3.0;
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
const QDU: f64 = 1.0;
const CIRCUIT_NOISE: f64 = -70.0;
const NOISE_FLOOR: f64 = -64.0;
const ROOM_NOISE: f64 = 35.0;
/// Loudness of both ends.
const OLR: f64 = SLR + RLR;

/// Powers of ten by tenths.
fn level(tenths: f64) -> f64 {
    10_f64.powf(tenths / 10.0)
}

/// *No*: all noise, at the receiving side.
fn noise() -> f64 {
    let sender =
        ROOM_NOISE - SLR - D_FACTOR - 100.0 + 0.004 * (ROOM_NOISE - OLR - D_FACTOR - 14.0).powi(2);
    let sidetone = ROOM_NOISE + 10.0 * (1.0 + level(10.0 - (STMR + D_FACTOR))).log10();
    let receiver = RLR - 121.0 + sidetone + 0.008 * (sidetone - 35.0).powi(2);
    let sum = level(CIRCUIT_NOISE) + level(sender) + level(receiver) + level(NOISE_FLOOR + RLR);
    10.0 * sum.log10()
}

/// *Ro*: signal over noise.
fn basic_ratio() -> f64 {
    15.0 - 1.5 * (SLR + noise())
}

/// *Is*: what happens together with speech.
fn simultaneous(one_way_ms: f64, basic: f64) -> f64 {
    // Too loud.
    let x = OLR + 0.2 * (64.0 + noise() - RLR);
    let loud = 20.0 * ((1.0 + (x / 8.0).powi(8)).powf(1.0 / 8.0) - x / 8.0);
    // Sidetone.
    let echo = (-one_way_ms.max(0.0) / 4.0).exp() * level(-TELR);
    let masked = -10.0 * (level(-STMR) + echo).log10();
    let side = 12.0 * (1.0 + ((masked - 13.0) / 6.0).powi(8)).powf(1.0 / 8.0)
        - 28.0 * (1.0 + ((masked + 1.0) / 19.4).powi(35)).powf(1.0 / 35.0)
        - 13.0 * (1.0 + ((masked - 3.0) / 33.0).powi(13)).powf(1.0 / 13.0)
        + 29.0;
    // Quantizing.
    let q = 37.0 - 15.0 * QDU.log10();
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let y = (basic - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    let coded = 15.0 * (1.0 + 10_f64.powf(y) + 10_f64.powf(z)).log10();
    loud + side + coded
}

/// *Id*: echo to the talker, to the listener, and delay itself.
fn delay(one_way_ms: f64, basic: f64) -> f64 {
    let t = one_way_ms.max(0.0);
    let noise = noise();
    // Talker echo.
    let terv =
        TELR - 40.0 * ((1.0 + t / 10.0) / (1.0 + t / 150.0)).log10() + 6.0 * (-0.3 * t * t).exp();
    let re = 80.0 + 2.5 * (terv - 14.0);
    let roe = -1.5 * (noise - RLR);
    let half = (roe - re) / 2.0;
    let talker = match t < 1.0 {
        true => 0.0,
        false => (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - (-t).exp()),
    };
    // Listener echo, there and back.
    let rle = 10.5 * (WEPL + 7.0) * (2.0 * t + 1.0).powf(-0.25);
    let half = (basic - rle) / 2.0;
    let listener = half + (half * half + 169.0).sqrt();
    // The delay itself, which does not impair a conversation up to 100 ms.
    let late = match t <= 100.0 {
        true => 0.0,
        false => {
            let x = (t / 100.0).log2();
            25.0 * ((1.0 + x.powi(6)).powf(1.0 / 6.0)
                - 3.0 * (1.0 + (x / 3.0).powi(6)).powf(1.0 / 6.0)
                + 2.0)
        }
    };
    talker + listener + late
}

/// *Ie,eff*: codec and loss.
fn effective(inputs: &Inputs) -> f64 {
    let Impairment { ie, bpl } = inputs.codec;
    let loss = inputs.loss_percent.clamp(0.0, 100.0);
    if loss == 0.0 {
        return ie;
    }
    ie + (95.0 - ie) * loss / (loss / inputs.burst_ratio.max(1.0) + bpl)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delay_ms: f64, loss_percent: f64, ie: f64, bpl: f64) -> f64 {
        rating(&Inputs {
            delay_ms,
            loss_percent,
            burst_ratio: 1.0,
            codec: Impairment { ie, bpl },
        })
    }

    #[test]
    fn defaults_give_what_g107_says() {
        // G.107, 7.1 and table B.1: with all defaults R is 93.2 and the score 4.41.
        let rating = of(0.0, 0.0, 0.0, 25.1);
        assert!((rating - 93.2).abs() < 0.05, "{rating}");
        assert!(
            (opinion(rating) - 4.41).abs() < 0.005,
            "{}",
            opinion(rating)
        );
    }

    #[test]
    fn scores_are_those_of_annex_b() {
        // G.107, table B.1: R as the lower limit of a category, and the score, of which 4.03 is 4.024.
        for (rating, score) in [
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ] {
            assert!(
                (opinion(rating) - score).abs() < 0.007,
                "{rating}: {}",
                opinion(rating)
            );
        }
        assert_eq!(
            (opinion(-1.0), opinion(0.0), opinion(100.0)),
            (1.0, 1.0, 4.5)
        );
        assert!((0..1_000).all(|tenths| (1.0..=4.5).contains(&opinion(f64::from(tenths) / 10.0))));
    }

    #[test]
    fn codecs_and_loss_take_what_their_factors_say() {
        let clear = of(0.0, 0.0, 0.0, 25.1);
        // G.729A: 11 less; at 2 % of loss Ie,eff is 11 + 84 * 2 / 21 = 19.
        assert!((clear - of(0.0, 0.0, 11.0, 19.0) - 11.0).abs() < 1e-9);
        assert!((clear - of(0.0, 2.0, 11.0, 19.0) - 19.0).abs() < 1e-9);
        assert!((clear - of(0.0, 100.0, 0.0, 25.1) - 95.0 * 100.0 / 125.1).abs() < 1e-6);
    }

    /// G.113 had factors for single loss ratios before Bpl (appendix I of 02/2001, provisional planning values, whole numbers).
    /// The Ie,eff of Ie and Bpl passes through them, as the table of Bpl was fitted to them.
    #[test]
    fn loss_takes_what_the_planning_values_of_g113_say() {
        let clear = of(0.0, 0.0, 0.0, 25.1);
        /// Per cent of packets that are lost, and the equipment's factor.
        type Factors = &'static [(f64, f64)];
        let tables: [(&str, f64, Factors); 3] = [
            (
                "PCMU",
                3.0,
                &[
                    (0.0, 0.0),
                    (1.0, 5.0),
                    (2.0, 7.0),
                    (3.0, 10.0),
                    (5.0, 15.0),
                    (7.0, 20.0),
                    (10.0, 25.0),
                    (15.0, 35.0),
                    (20.0, 45.0),
                ],
            ),
            (
                "G729",
                1.7,
                &[
                    (0.0, 11.0),
                    (0.5, 13.0),
                    (1.0, 15.0),
                    (1.5, 17.0),
                    (2.0, 19.0),
                    (3.0, 23.0),
                    (4.0, 26.0),
                    (8.0, 36.0),
                    (12.0, 42.0),
                    (16.0, 49.0),
                ],
            ),
            (
                "G723",
                1.7,
                &[
                    (0.0, 15.0),
                    (0.5, 17.0),
                    (1.0, 19.0),
                    (1.5, 22.0),
                    (2.0, 24.0),
                    (3.0, 27.0),
                    (4.0, 32.0),
                    (8.0, 41.0),
                    (12.0, 49.0),
                    (16.0, 55.0),
                ],
            ),
        ];
        for (codec, tolerance, table) in tables {
            let impairment = Impairment::of_codec(codec).unwrap();
            for (loss, expected) in table {
                let found = clear - of(0.0, *loss, impairment.ie, impairment.bpl);
                assert!(
                    (found - expected).abs() < tolerance,
                    "{codec}, {loss} %: {found}, not {expected}"
                );
            }
        }
    }

    /// Cole and Rosenbluth ("Voice over IP performance monitoring", 2001) fitted two lines to G.107's Id: 0.024 a
    /// millisecond, and 0.11 more behind 177.3 ms; beyond 300 ms they are steeper than the model.
    #[test]
    fn delay_takes_what_cole_and_rosenbluth_read_off_the_model() {
        let clear = of(0.0, 0.0, 0.0, 25.1);
        for delay in (20..=300).step_by(20).map(f64::from) {
            let lines = 0.024 * delay + 0.11 * (delay - 177.3_f64).max(0.0);
            let found = clear - of(delay, 0.0, 0.0, 25.1);
            assert!(
                (found - lines).abs() < 0.8,
                "{delay} ms: {found}, not {lines}"
            );
        }
    }

    #[test]
    fn delay_beyond_the_sidetone_counts_more_the_longer_it_is() {
        let at: Vec<f64> = (0..=400)
            .map(|ms| of(f64::from(ms), 0.0, 0.0, 25.1))
            .collect();
        assert!(at[20..].windows(2).all(|pair| pair[1] <= pair[0] + 1e-9));
        // G.107 with defaults: some 150 ms keep R near 90, 400 ms bring it to some 60 to 70.
        assert!(at[150] > 88.0 && at[400] < 75.0, "{} {}", at[150], at[400]);
    }
}
