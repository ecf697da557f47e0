mod common;
use common::*;
use std::fs;
#[test]
fn probe() {
    let d = std::path::Path::new("/tmp/probe");
    let _ = fs::remove_dir_all(d);
    fs::create_dir_all(d).unwrap();
    let w = |n: &str, parts: &[Vec<u8>]| fs::write(d.join(n), parts.concat()).unwrap();
    let p = [0xaau8; 61];
    let t = 1_700_000_000_000_001u64;
    for (o, on) in [(Little, "le"), (Big, "be")] {
        let e = |n: u64| enhanced(o, 0, t + n, &p, 61, &[]);
        let head = [section(o), interface(o, 1, 0, &[])].concat();
        w(
            &format!("{on}-custom.pcapng"),
            &[
                head.clone(),
                e(0),
                block(o, 0xBAD, &[0, 0, 0, 1, 5, 6, 7, 8]),
                e(1),
                block(o, 0x40000BAD, &[0, 0, 0, 1, 5, 6, 7, 8]),
                e(2),
            ],
        );
        w(
            &format!("{on}-custom-nflx.pcapng"),
            &[
                head.clone(),
                e(0),
                block(
                    o,
                    0xBAD,
                    &Bytes::new(o).u32(10949).u32(1).u32(3).u32(4).bytes,
                ),
                e(1),
            ],
        );
        w(
            &format!("{on}-journal.pcapng"),
            &[
                head.clone(),
                e(0),
                block(
                    o,
                    9,
                    b"__REALTIME_TIMESTAMP=1700000000000000\nMESSAGE=hello\n\n",
                ),
                e(1),
            ],
        );
        for k in [
            0x201u32, 0x202, 0x203, 0x204, 0x205, 0x206, 0x207, 0x208, 0x209, 0x210, 0x211, 0x212,
            0x213, 0x214, 0x215, 0x216, 0x217, 0x218, 0x219, 0x220, 0x221, 0x222, 0x223, 7, 8, 10,
            0x80000001, 0x101, 0x102,
        ] {
            w(
                &format!("{on}-kind-{k:x}.pcapng"),
                &[head.clone(), e(0), block(o, k, &[0; 64]), e(1)],
            );
        }
        w(
            &format!("{on}-two-sections.pcapng"),
            &[
                head.clone(),
                interface(o, 101, 0, &[]),
                e(0),
                section(if o == Big { Little } else { Big }),
                interface(if o == Big { Little } else { Big }, 101, 0, &[]),
                enhanced(if o == Big { Little } else { Big }, 0, t, &p, 70, &[]),
            ],
        );
        w(
            &format!("{on}-simple.pcapng"),
            &[
                section(o),
                interface(o, 1, 60, &[]),
                simple(o, &p[..60], 100),
                simple(o, &p[..20], 20),
            ],
        );
        w(
            &format!("{on}-simple0.pcapng"),
            &[
                section(o),
                interface(o, 1, 0, &[]),
                simple(o, &p, 61),
                simple(o, &p[..20], 20),
                simple(o, &p[..20], 40),
                e(1),
            ],
        );
        w(
            &format!("{on}-obsolete.pcapng"),
            &[
                section(o),
                interface(o, 1, 60, &[]),
                obsolete(o, 0, t, &p, 100),
            ],
        );
        w(&format!("{on}-noiface.pcapng"), &[section(o), e(0), e(1)]);
        w(
            &format!("{on}-badiface.pcapng"),
            &[head.clone(), e(0), enhanced(o, 3, t, &p, 61, &[]), e(1)],
        );
        // tsresol variants
        for r in [
            0u8, 3, 6, 9, 10, 12, 19, 20, 40, 127, 0x80, 0x8a, 0xa0, 0xbf, 0xc0, 0xff,
        ] {
            let opt = option(o, 9, &[r]);
            w(
                &format!("{on}-tsresol-{r:02x}.pcapng"),
                &[
                    section(o),
                    interface(o, 1, 0, &opt),
                    e(0),
                    enhanced(o, 0, 12345678901234567890, &p, 61, &[]),
                    enhanced(o, 0, 1234567890, &p, 61, &[]),
                ],
            );
        }
        for off in [5i64, -5, 1 << 40, i64::MAX, i64::MIN] {
            let b = if o == Big {
                off.to_be_bytes()
            } else {
                off.to_le_bytes()
            };
            w(
                &format!("{on}-tsoffset-{off}.pcapng"),
                &[section(o), interface(o, 1, 0, &option(o, 14, &b)), e(0)],
            );
        }
        // length not multiple of four
        let body = Bytes::new(o)
            .u32(0)
            .u32((t >> 32) as u32)
            .u32(t as u32)
            .u32(61)
            .u32(61)
            .raw(&p)
            .bytes;
        let len = body.len() as u32 + 12;
        w(
            &format!("{on}-unpadded.pcapng"),
            &[
                head.clone(),
                Bytes::new(o).u32(6).u32(len).raw(&body).u32(len).bytes,
                e(1),
            ],
        );
        w(
            &format!("{on}-unpadded-len.pcapng"),
            &[
                head.clone(),
                Bytes::new(o)
                    .u32(6)
                    .u32(len)
                    .raw(&body)
                    .pad()
                    .u32(len)
                    .bytes,
                e(1),
            ],
        );
        w(
            &format!("{on}-odd-unknown.pcapng"),
            &[
                head.clone(),
                e(0),
                Bytes::new(o)
                    .u32(0x777)
                    .u32(15)
                    .raw(&[1, 2, 3])
                    .u32(15)
                    .bytes,
                e(1),
            ],
        );
        w(
            &format!("{on}-odd-unknown-pad.pcapng"),
            &[
                head.clone(),
                e(0),
                Bytes::new(o)
                    .u32(0x777)
                    .u32(15)
                    .raw(&[1, 2, 3, 0])
                    .u32(15)
                    .bytes,
                e(1),
            ],
        );
        w(
            &format!("{on}-closing.pcapng"),
            &[
                head.clone(),
                e(0),
                Bytes::new(o)
                    .u32(0x777)
                    .u32(16)
                    .raw(&[1, 2, 3, 0])
                    .u32(15)
                    .bytes,
                e(1),
            ],
        );
        w(
            &format!("{on}-closing-epb.pcapng"),
            &[
                head.clone(),
                e(0),
                {
                    let mut x = e(1);
                    let n = x.len();
                    x[n - 1] ^= 1;
                    x[n - 4] ^= 1;
                    x
                },
                e(2),
            ],
        );
        w(
            &format!("{on}-caplen-over.pcapng"),
            &[
                head.clone(),
                e(0),
                block(
                    o,
                    6,
                    &Bytes::new(o)
                        .u32(0)
                        .u32(0)
                        .u32(0)
                        .u32(100)
                        .u32(100)
                        .raw(&p)
                        .bytes,
                ),
                e(2),
            ],
        );
        w(
            &format!("{on}-version12.pcapng"),
            &[
                block(
                    o,
                    0x0a0d0d0a,
                    &Bytes::new(o)
                        .u32(0x1a2b3c4d)
                        .u16(1)
                        .u16(2)
                        .raw(&[0xff; 8])
                        .bytes,
                ),
                interface(o, 1, 0, &[]),
                e(0),
            ],
        );
        w(
            &format!("{on}-version11.pcapng"),
            &[
                block(
                    o,
                    0x0a0d0d0a,
                    &Bytes::new(o)
                        .u32(0x1a2b3c4d)
                        .u16(1)
                        .u16(1)
                        .raw(&[0xff; 8])
                        .bytes,
                ),
                interface(o, 1, 0, &[]),
                e(0),
            ],
        );
        w(
            &format!("{on}-len8.pcapng"),
            &[
                head.clone(),
                e(0),
                Bytes::new(o).u32(0x777).u32(8).bytes,
                e(1),
            ],
        );
        w(
            &format!("{on}-badopts.pcapng"),
            &[
                head.clone(),
                enhanced(o, 0, t, &p, 61, &Bytes::new(o).u16(2).u16(400).u32(7).bytes),
                e(1),
            ],
        );
        w(
            &format!("{on}-badidbopts.pcapng"),
            &[
                section(o),
                interface(o, 1, 0, &Bytes::new(o).u16(2).u16(400).u32(7).bytes),
                e(1),
            ],
        );
        w(
            &format!("{on}-optnoend.pcapng"),
            &[
                head.clone(),
                enhanced(o, 0, t, &p, 61, &option(o, 2, &[1, 0, 0, 0])),
                e(1),
            ],
        );
        w(&format!("{on}-emptysec.pcapng"), &[section(o)]);
        w(&format!("{on}-idbonly.pcapng"), &[head.clone()]);
        w(
            &format!("{on}-caplenzero.pcapng"),
            &[
                head.clone(),
                enhanced(o, 0, t, &[], 0, &[]),
                enhanced(o, 0, t, &[], 70, &[]),
                e(1),
            ],
        );
        // pcap variants
        for (m, more) in [
            (0xa1b2c3d4u32, 0),
            (0xa1b2c3d4, 4),
            (0xa1b2c3d4, 8),
            (0xa1b2cd34, 8),
            (0xa1b2cd34, 12),
            (0xa1b23c4d, 0),
            (0x1c0001ac, 0),
            (0x1c0001ab, 0),
        ] {
            for nrec in [1u32, 2, 5] {
                let mut v = vec![pcap_header(o, m, (2, 4), 1)];
                if m & 0xffffff00 == 0x1c000100 {
                    v.push(vec![1, 2, 3, 4]);
                }
                for i in 0..nrec {
                    v.push(pcap_record_with(
                        o,
                        (1_700_000_000 + i, 999_999),
                        &p,
                        61 + i,
                        &vec![0; more],
                    ));
                }
                w(&format!("{on}-pcap-{m:x}-{more}-{nrec}.pcap"), &v);
            }
        }
        for v in [
            (2, 0),
            (2, 1),
            (2, 2),
            (2, 3),
            (2, 4),
            (2, 5),
            (543, 0),
            (1, 0),
            (3, 0),
        ] {
            w(
                &format!("{on}-pcapv-{}-{}.pcap", v.0, v.1),
                &[
                    pcap_header(o, 0xa1b2c3d4, v, 1),
                    pcap_record(o, (1, 2), &p, 61),
                    pcap_record(o, (1, 2), &p[..60], 61),
                    pcap_record(o, (1, 3), &p[..40], 60),
                ],
            );
        }
        for net in [6, 9, 15, 24] {
            w(
                &format!("{on}-aix-{net}.pcap"),
                &[
                    pcap_header(o, 0xa1b2c3d4, (2, 2), net),
                    pcap_record(o, (1, 999999999), &p, 61),
                    pcap_record(o, (1, 2), &p, 61),
                ],
            );
        }
        w(
            &format!("{on}-usec.pcap"),
            &[
                pcap_header(o, 0xa1b2c3d4, (2, 4), 1),
                pcap_record(o, (1, 1000000), &p, 61),
                pcap_record(o, (u32::MAX, u32::MAX), &p, 61),
            ],
        );
        w(
            &format!("{on}-nsec.pcap"),
            &[
                pcap_header(o, 0xa1b23c4d, (2, 4), 1),
                pcap_record(o, (1, 1000000000), &p, 61),
                pcap_record(o, (u32::MAX, u32::MAX), &p, 61),
            ],
        );
        w(
            &format!("{on}-capgtwire.pcap"),
            &[
                pcap_header(o, 0xa1b2c3d4, (2, 4), 1),
                pcap_record(o, (1, 1), &p, 20),
                pcap_record(o, (5, 5), &p, 6),
            ],
        );
        w(
            &format!("{on}-fcs.pcap"),
            &[
                pcap_header(o, 0xa1b2c3d4, (2, 4), 0x2400_0001),
                pcap_record(o, (1, 1), &p, 61),
            ],
        );
    }
    // ERF
    let ts = (1_700_000_000u64 << 32) | 0x8000_0000;
    let pay = [0x55u8; 64];
    for (name, kind, rest) in [
        ("hdlc", 1u8, pay.to_vec()),
        ("eth", 2, [&[0, 0][..], &pay].concat()),
        ("atm", 3, pay[..52].to_vec()),
        ("aal5", 4, pay.to_vec()),
        ("mchdlc", 5, [&[0, 0, 0, 7][..], &pay].concat()),
        ("mcatm", 7, pay.to_vec()),
        ("mcaal5", 9, pay.to_vec()),
        ("aal2", 18, pay.to_vec()),
        ("meta", 27, pay.to_vec()),
        ("ip", 22, pay.to_vec()),
        ("t6", 6, pay.to_vec()),
        ("t8", 8, pay.to_vec()),
        ("t28", 28, pay.to_vec()),
        ("t33", 33, pay.to_vec()),
        ("t47", 47, pay.to_vec()),
        ("t100", 100, pay.to_vec()),
        ("t12", 12, pay.to_vec()),
        ("t13", 13, pay.to_vec()),
        ("t14", 14, pay.to_vec()),
        ("t10", 10, pay.to_vec()),
        ("t11", 11, pay.to_vec()),
        ("t15", 15, pay.to_vec()),
        ("t16", 16, pay.to_vec()),
        ("t17", 17, pay.to_vec()),
        ("t19", 19, pay.to_vec()),
        ("t20", 20, pay.to_vec()),
        ("t21", 21, pay.to_vec()),
        ("t23", 23, pay.to_vec()),
        ("t24", 24, pay.to_vec()),
        ("t25", 25, pay.to_vec()),
    ] {
        for n in [1u64, 3, 30] {
            let v: Vec<_> = (0..n)
                .map(|i| erf(ts + i * 12345678, kind, (i % 4) as u8, &rest, 60 + i as u16))
                .collect();
            w(&format!("erf-{name}-{n}.erf"), &v);
        }
        let v: Vec<_> = (0..10u64)
            .map(|i| {
                erf(
                    ts + i * 12345678,
                    kind | 0x80,
                    (i % 4) as u8,
                    &[
                        &[0x83u8, 1, 2, 3, 4, 5, 6, 7, 0x04, 0, 0, 0, 0, 0, 0, 0][..],
                        &rest,
                    ]
                    .concat(),
                    60,
                )
            })
            .collect();
        w(&format!("erf-{name}-ext.erf"), &v);
    }
    let mut v = vec![];
    for i in 0..10u64 {
        v.push(erf(ts + i, 1, 0, &pay, 64));
        v.push(erf(0, 48, 0, &[0; 16], 0));
        v.push(erf(0, 48, 0, &[], 0));
    }
    w("erf-pads.erf", &v);
    let back: Vec<_> = (0..10u64)
        .map(|i| erf(ts - i * (1 << 31), 1, 0, &pay, 64))
        .collect();
    w("erf-back.erf", &back);
    let back: Vec<_> = (0..10u64)
        .map(|i| erf(ts - i * (5 << 32), 1, 0, &pay, 64))
        .collect();
    w("erf-back5.erf", &back);
    let x: Vec<_> = (0..10u64)
        .map(|i| erf(ts + i * ((400 * 86400) << 32), 1, 0, &pay, 64))
        .collect();
    w("erf-jump.erf", &x);
    let x: Vec<_> = (0..10u64).map(|i| erf(ts + i, 1, 0, &pay, 20)).collect();
    w("erf-wlen-small.erf", &x);
    let mut x: Vec<_> = (0..10u64).map(|i| erf(ts + i, 1, 0, &pay, 64)).collect();
    x.push(erf(ts + 20, 1, 0, &[], 0));
    x.push(erf(ts + 21, 1, 0, &pay, 64));
    w("erf-16.erf", &x);
    let mut x: Vec<u8> = (0..10u64)
        .flat_map(|i| erf(ts + i, 1, 0, &pay, 64))
        .collect();
    x.truncate(x.len() - 5);
    w("erf-cut.erf", &[x.clone()]);
    x.truncate(9 * 80 + 5);
    w("erf-cuth.erf", &[x]);
    for f in 0..64u64 {
        let v: Vec<_> = (0..5u64)
            .map(|i| {
                erf(
                    (1_700_000_000u64 << 32) + (f * 5 + i) * 0x0123_4567,
                    1,
                    0,
                    &pay,
                    64,
                )
            })
            .collect();
        if f % 16 == 0 {
            w(&format!("erf-time-{f}.erf"), &v);
        }
    }
    w(
        "erf-late.erf",
        &(0..5u64)
            .map(|i| erf((0xffff_fff0u64 << 32) + 0xffff_ffff - i, 1, 0, &pay, 64))
            .collect::<Vec<_>>(),
    );
    w(
        "erf-2037.erf",
        &(0..5u64)
            .map(|i| erf((0x8000_0001u64 << 32) + 0xffff_ffff - i, 1, 0, &pay, 64))
            .collect::<Vec<_>>(),
    );
}
