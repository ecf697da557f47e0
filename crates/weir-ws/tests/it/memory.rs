//! The memory formulas against what stock zlib asks its allocator for.

use weir_ws::{ZlibBuild, deflate_bytes, inflate_bytes};

#[test]
fn deflate_and_inflate_allocate_what_the_formulas_say() {
    let build = ZlibBuild::STOCK_1_3_2;
    for window_bits in 9..=15 {
        for mem_level in 1..=9 {
            let mut deflate = weir_zlib::Deflate::new(6, window_bits, mem_level, 0).unwrap();
            let mut wire = Vec::new();
            deflate.message(&vec![b'x'; 100_000], &mut wire);
            assert_eq!(
                deflate.allocated().bytes as u64,
                deflate_bytes(window_bits, mem_level, build),
                "zlib {} deflate {window_bits}/{mem_level}",
                weir_zlib::version()
            );
        }
    }
    for window_bits in 8..=15 {
        let mut deflate = weir_zlib::Deflate::new(6, window_bits.max(9), 8, 0).unwrap();
        let mut wire = Vec::new();
        deflate.message(b"a message that is longer than nothing", &mut wire);
        let mut inflate = weir_zlib::Inflate::new(window_bits).unwrap();
        let (idle, active) = inflate_bytes(window_bits, build);
        assert_eq!(
            inflate.allocated().bytes as u64,
            idle,
            "inflate {window_bits}"
        );
        let mut out = Vec::new();
        wire.extend([0, 0, 0xff, 0xff]);
        assert!(inflate.feed(&wire, &mut out));
        assert_eq!(
            inflate.allocated().bytes as u64,
            active,
            "inflate {window_bits}"
        );
    }
}
