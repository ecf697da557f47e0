//! Link layers over bytes made by hand: each row of the table is a frame, as hexadecimal text, and
//! some of its columns. Every prefix and every mutation of each frame is decoded too.

use std::fmt::Write as _;

use proptest::prelude::*;
use weir_packet::{
    AtmVcMux, Decoder, ErfHdlc, Field, Frame, Get, LinkType, Needs, Options, Packet, fields,
};

const IPV4: &str = "4500001c00010000401166b90a0000010a000002 138800350008 0000";
const IPV6: &str = "6000000000081140 20010db8000000000000000000000001 20010db8000000000000000000000002 138800350008 0000";
/// The columns that every frame with one of these packets has.
const UDP: &str = "udp.srcport=5000 udp.dstport=53";

/// Link type, frame, and columns as `name=value`, where an empty value is NULL. In frames `{4}`,
/// `{6}` and `{e}` stand for an IPv4 packet, an IPv6 packet and an Ethernet frame with IPv4.
#[rustfmt::skip]
const FRAMES: &[(u32, &str, &str)] = &[
    // Ethernet and its tags.
    (1, "{e}", "frame.layers=eth:ip:udp eth.dst=02:00:00:00:00:01 eth.src=02:00:00:00:00:02 eth.type=2048 eth.len="),
    (1, "020000000001 020000000002 0024 aaaa03 000000 0800 {4}", "frame.layers=eth:llc:ip:udp eth.type= eth.len=36 llc.dsap=170 llc.ssap=170 llc.control=3 llc.oui=0 llc.type=2048 llc.pid="),
    (1, "020000000001 020000000002 0026 424203 0000000000 8000000000000001 00000000 8000000000000001 8001 0000 1400 0200 0f00", "frame.layers=eth:llc llc.dsap=66 llc.oui= frame.stopped="),
    (1, "020000000001 020000000002 0020 fefe03 cc {4}", "frame.layers=eth:llc:ip:udp llc.dsap=254"),
    (1, "020000000001 020000000002 001f 060603 {4}", "frame.layers=eth:llc:ip:udp"),
    (1, "020000000001 020000000002 0008 aaaa03 00000c 2000", "llc.oui=12 llc.cisco_pid=8192 llc.type= llc.pid= frame.stopped="),
    (1, "020000000001 020000000002 0020 ffff 001e", "frame.layers=eth frame.stopped="),
    (1, "020000000001 020000000002 0000 1111", "eth.type=0 eth.len= frame.stopped="),
    (1, "020000000001 020000000002 8100 b064 0800 {4}", "frame.layers=eth:vlan:ip:udp vlan.id=100 vlan.priority=5 vlan.dei=1 vlan.etype=2048"),
    (1, "020000000001 020000000002 9100 0005 8100 0006 86dd {6}", "frame.layers=eth:vlan:ipv6:udp vlan.id=5 vlan.etype=33024"),
    (1, "020000000001 020000000002 8100 0005 001f 060603 {4}", "frame.layers=eth:vlan:llc:ip:udp vlan.len=31 vlan.etype="),
    (1, "020000000001 020000000002 88a8 2064 8100 0007 0800 {4}", "frame.layers=eth:ieee8021ad:vlan:ip:udp ieee8021ad.id=100 ieee8021ad.svid= ieee8021ad.priority=1 vlan.id=7"),
    (1, "020000000001 020000000002 88a8 2064 88a8 0007 0800 {4}", "frame.layers=eth:ieee8021ad:ip:udp ieee8021ad.id= ieee8021ad.svid=100 ieee8021ad.cvid=7"),
    (1, "020000000001 020000000002 88e7 10aabbcc 020000000003 020000000004 0800 {4}", "frame.layers=eth:ieee8021ah:ip:udp ieee8021ah.isid=11189196 ieee8021ah.cdst=02:00:00:00:00:03"),
    (1, "020000000001 020000000002 88e5 2000 00000042 0200000000020001 0800 {4} 00000000000000000000000000000000", "frame.layers=eth:macsec:ip:udp macsec.pn=66 macsec.etype=2048"),
    (1, "020000000001 020000000002 88e5 2c00 00000042 0200000000020001 112233445566", "frame.layers=eth:macsec macsec.etype= frame.stopped="),
    (1, "020000000001 020000000002 8926 40050006 0800 {4}", "frame.layers=eth:vntag:ip:udp vntag.dst=5 vntag.src=6"),
    (1, "020000000001 020000000002 893f 000000070000 0800 {4}", "frame.layers=eth:etag:ip:udp etag.ecid_base=7"),
    (1, "020000000001 020000000002 892f 0022 0009 0800 {4}", "frame.layers=eth:hsr:ip:udp hsr.sequence_nr=9"),
    (1, "020000000001 020000000002 f1c1 0000 0009 0800 {4}", "frame.layers=eth:ieee8021cb:ip:udp ieee8021cb.seq=9"),
    (1, "020000000001 020000000002 22f3 0001 0005 0006 {e}", "frame.layers=eth:trill:ip:udp trill.egress_nick=5 trill.ingress_nick=6"),
    (1, "01000c000001 020000000002 0048 aaaa03 00000c 000a 0000 0000 {e} 11223344", "frame.layers=isl:eth:ip:udp isl.vlan_id=5 eth.dst=02:00:00:00:00:01"),
    // MPLS: the payload is known by its first bits and its length only.
    (1, "020000000001 020000000002 8847 00064a40 000c8140 {4}", "frame.layers=eth:mpls:ip:udp mpls.label=100 mpls.exp=5 mpls.bottom=0 mpls.ttl=64"),
    (1, "020000000001 020000000002 8847 00064140 {6}", "frame.layers=eth:mpls:ipv6:udp mpls.bottom=1"),
    (1, "020000000001 020000000002 8847 00064140 00000007 {e}", "frame.layers=eth:mpls:pwethcw:ip:udp pweth.cw.sequence_number=7"),
    (1, "020000000001 020000000002 8847 00064140 {e}", "frame.layers=eth:mpls:ip:udp"),
    (1, "020000000001 020000000002 8847 0000d140 10000021 {4}", "frame.layers=eth:mpls:pwach:ip:udp pwach.channel_type=33"),
    // FabricPath, which stands in the place of Ethernet; a VLAN tag may be in front.
    (1, "02000a0b0c0d fe3abcde1234 8903 0a5f {e}", "frame.layers=cfp:eth:ip:udp cfp.d_hmac_mc= cfp.swid=10 cfp.sswid=11 cfp.lid=3085 cfp.ooodl=0 cfp.etype=35075 cfp.ftag=41 cfp.ttl=31 eth.dst=02:00:00:00:00:01"),
    (1, "930a0a0b0c0d fe3abcde1234 8903 0a5f {e}", "cfp.d_hmac_mc=93:0a:0a:0b:0c:0d cfp.swid=2748 cfp.sswid=222 cfp.lid=4660 cfp.ooodl=1"),
    (1, "02000a0b0c0d 02000bbcde12 88a8 2064 8903 0a5f {e}", "frame.layers=cfp:eth:ip:udp cfp.ftag=41 cfp.ttl=31"),
    (1, "020000000001 020000000002 8100 0005 8100 0006 8903 0a5f", "frame.layers=eth:vlan frame.stopped="),
    // Arista's tag: two lengths of time, and forms that are unknown.
    (1, "020000000001 020000000002 d28b 0001 0010 5ceeed57 384f59c8 0800 {4}", "frame.layers=eth:avsp:ip:udp avsp.sub_type=1 avsp.ver=16 avsp.seconds=1559162199 avsp.nanoseconds=944724424 avsp.etype=2048"),
    (1, "020000000001 020000000002 d28b 0001 0120 eda0 38ec11c8 86dd {6}", "frame.layers=eth:avsp:ipv6:udp avsp.ver=288 avsp.seconds=60832 avsp.nanoseconds=954995144 avsp.etype=34525"),
    (1, "020000000001 020000000002 d28b 0001 0021 eda0 38ec11c8 86dd", "frame.layers=eth:avsp avsp.ver=33 avsp.seconds= avsp.etype= frame.stopped="),
    (1, "020000000001 020000000002 d28b 0003 0800 {4}", "frame.layers=eth:avsp:ip:udp avsp.ver= avsp.etype=2048"),
    // IP over InfiniBand, without and with a global route header.
    (242, "0000000000000000000000000000000000000000 80000550 fe80000000000000 0010e000664ab451 0800 0000 {4}", "frame.layers=ipoib:ip:udp ipoib.daddr.qpn=1360 ipoib.dgid=fe80::10:e000:664a:b451 ipoib.type=2048 ipoib.grh.ipver= ipoib.grh.sgid="),
    (242, "61234567 04050607 08090a0b0c0d0e0f1011121314151617 18191a1b1c1d1e1f2021222324252627 86dd 0001 {6}", "frame.layers=ipoib:ipv6:udp ipoib.grh.ipver=6 ipoib.grh.tclass=18 ipoib.grh.flowlabel=214375 ipoib.grh.sqpn=329223 ipoib.grh.sgid=809:a0b:c0d:e0f:1011:1213:1415:1617 ipoib.dgid=1819:1a1b:1c1d:1e1f:2021:2223:2425:2627 ipoib.daddr.qpn="),
    // Apple's packet tap, under its own number and under that of the user's that it had.
    (258, "6c000000 01000000 01000000 656e3000000000000000000000000000000000000000000002000000 02000000 0e000000 00000000 00020000 637075000000000000000000000000000000000000000000 0600 0001 ffffffff0000000000000000000000000000000000000000 {e}", "frame.layers=pktap:eth:ip:udp pktap.hdrlen=108 pktap.rectype=1 pktap.dlt=1 pktap.ifname=en0 pktap.flags=2 pktap.pfamily=2 pktap.llhdrlen=14 pktap.lltrlrlen=0 pktap.pid=512 pktap.cmdname=cpu pktap.svc_class=0 pktap.iftype=6 pktap.ifunit=256 pktap.epid=4294967295 pktap.ecmdname="),
    (149, "6c000000 01000000 01000000 656e3000000000000000000000000000000000000000000002000000 02000000 0e000000 00000000 00020000 637075000000000000000000000000000000000000000000 0600 0001 ffffffff0000000000000000000000000000000000000000 {e}", "frame.layers=pktap:eth:ip:udp pktap.ifname=en0"),
    (149, "00112233445566778899", "frame.layers= frame.stopped="),
    (258, "6b000000 01000000 01000000", "frame.layers=pktap pktap.hdrlen=107"),
    // ERSPAN of a version whose layout is unknown.
    (1, "020000000001 020000000002 0800 4500002400010000402f66b5 0a000001 0a000002 1000 88be 00000001 7123 4567 89abcdef", "frame.layers=eth:ip:gre:erspan erspan.version=7 erspan.vlan= erspan.cos= erspan.truncated= erspan.spanid="),
    // A header of IP of which no more than the version's octet is there.
    (106, "30", "frame.layers=clip:ip ip.version=3 ip.src="),
    // PPP over Ethernet.
    (1, "020000000001 020000000002 8864 1100 0009 001e 0021 {4}", "frame.layers=eth:pppoe:ppp:ip:udp pppoe.version=1 pppoe.type=1 pppoe.code=0 pppoe.session_id=9 pppoe.payload_length=30 ppp.protocol=33 ppp.address="),
    (1, "020000000001 020000000002 8863 1109 0000 0008 01010000 01030000", "frame.layers=eth:pppoe pppoe.code=9 frame.stopped="),
    // Linux cooked, BSD loopback, raw IP.
    (113, "0004 0001 0006 020000000001 0000 0800 {4}", "frame.layers=sll:ip:udp sll.pkttype=4 sll.hatype=1 sll.halen=6 sll.src.eth=02:00:00:00:00:01 sll.etype=2048 sll.ltype= sll.ifindex="),
    (113, "0000 0300 0004 0a000001 00000000 0004 aaaa03 000000 0800 {4}", "frame.layers=sll:llc:ip:udp sll.src.ipv4=10.0.0.1 sll.src.eth= sll.etype= sll.ltype=4"),
    (113, "0000 030a 0004 0a000001 00000000 86dd {6}", "frame.layers=sll:ipv6:udp sll.gretype=34525 sll.etype="),
    (276, "0800 0000 00000007 0001 00 06 020000000001 0000 {4}", "frame.layers=sll:ip:udp sll.pkttype=0 sll.ifindex=7 sll.src.eth=02:00:00:00:00:01 sll.etype=2048"),
    (0, "02000000 {4}", "frame.layers=null:ip:udp null.family=2"),
    (0, "00000002 {4}", "frame.layers=null:ip:udp null.family=2"),
    (0, "18000000 {6}", "null.family=24 frame.layers=null:ipv6:udp"),
    (0, "0000001c {6}", "null.family=28 frame.layers=null:ipv6:udp"),
    (0, "1e000000 {6}", "null.family=30 frame.layers=null:ipv6:udp"),
    (0, "0a000000 {6}", "null.family=10 frame.layers=null:ipv6:udp"),
    (0, "0000 0800 {4}", "null.family= null.type=2048 frame.layers=null:ip:udp"),
    (0, "ff03 0021 {4}", "frame.layers=ppp:ip:udp null.family="),
    (108, "00000018 {6}", "null.family=24 frame.layers=null:ipv6:udp"),
    (12, "{4}", "frame.layers=raw:ip:udp"),
    (14, "{6}", "frame.layers=raw:ipv6:udp"),
    (101, "{6}", "frame.layers=raw:ipv6:udp"),
    (228, "{4}", "frame.layers=ip:udp"),
    (229, "{6}", "frame.layers=ipv6:udp"),
    // PPP and Cisco HDLC.
    (9, "ff03 0021 {4}", "frame.layers=ppp:ip:udp ppp.address=255 ppp.control=3 ppp.protocol=33 ppp.direction="),
    (9, "0057 {6}", "frame.layers=ppp:ipv6:udp ppp.address= ppp.protocol=87"),
    (50, "ff03 21 {4}", "frame.layers=ppp:ip:udp ppp.protocol=33"),
    (50, "21 {4}", "frame.layers=ppp:ip:udp ppp.protocol=33"),
    (50, "0f00 0800 {4}", "frame.layers=chdlc:ip:udp chdlc.address=15 chdlc.protocol=2048"),
    (51, "1100 0009 001e 0021 {4}", "frame.layers=pppoe:ppp:ip:udp"),
    (166, "01 ff03 0021 {4}", "frame.layers=ppp:ip:udp ppp.direction=0"),
    (204, "00 ff03 0021 {4}", "frame.layers=ppp:ip:udp ppp.direction=1 frame.len=32"),
    (104, "8f00 86dd {6}", "frame.layers=chdlc:ipv6:udp chdlc.address=143"),
    (104, "0f00 8035 00000002 00000001 00000000 ffff", "frame.layers=chdlc chdlc.protocol=32821 frame.stopped="),
    // Frame relay: the four ways to carry IP, three lengths of address.
    (107, "1841 03 cc {4}", "frame.layers=fr:ip:udp fr.dlci=100 fr.cr=0 fr.fecn=0 fr.becn=0 fr.de=0 fr.control=3 fr.nlpid=204 fr.chdlctype="),
    (107, "1a4f 03 8e {6}", "frame.layers=fr:ipv6:udp fr.dlci=100 fr.cr=1 fr.fecn=1 fr.becn=1 fr.de=1 fr.nlpid=142"),
    (107, "1841 03 00 80 000000 0800 {4}", "frame.layers=fr:ip:udp fr.nlpid=128 fr.snap.oui=0 fr.snaptype=2048 fr.snap.pid="),
    (107, "1841 03 80 0080c2 0007 {e}", "frame.layers=fr:eth:ip:udp fr.snap.oui=32962 fr.snap.pid=7"),
    (107, "1841 0800 {4}", "frame.layers=fr:ip:udp fr.control= fr.nlpid= fr.chdlctype=2048"),
    (107, "1841 03 cf 0021 {4}", "frame.layers=fr:ppp:ip:udp fr.nlpid=207"),
    (107, "1841 03 b1 112233", "frame.layers=fr fr.nlpid=177 frame.stopped="),
    (107, "0001 03 08 00 75 51 01 00", "frame.layers=fr fr.dlci=0 fr.nlpid=8 frame.stopped="),
    (107, "0440 91 03 cc {4}", "fr.dlci=1316 fr.lower_dlci=36 fr.dc=0 frame.layers=fr:ip:udp"),
    (107, "1840 0285 03 cc {4}", "fr.dlci=819297 fr.third_dlci=1 fr.lower_dlci=33 frame.layers=fr:ip:udp"),
    (206, "01 1841 03 cc {4}", "frame.layers=fr:ip:udp fr.dlci=100 frame.len=32"),
    // ATM.
    (123, "82 03 0021 aaaa03 000000 0800 {4}", "frame.layers=atm:aal5:llc:ip:udp atm.vpi=3 atm.vci=33 atm.channel=0 frame.len=36"),
    (123, "00 03 0021 {4}", "frame.layers=atm:aal5:ip:udp atm.channel=1"),
    (123, "01 03 0021 0005 {e}", "frame.layers=atm:lane:eth:ip:udp"),
    (123, "06 00 0005 0a0b0c0d", "frame.layers=atm:aal5 frame.stopped="),
    (100, "aaaa03 0080c2 0007 0000 {e}", "frame.layers=llc:eth:ip:udp llc.pid=7"),
    (106, "aaaa03 000000 0800 {4}", "frame.layers=clip:llc:ip:udp"),
    (106, "{4}", "frame.layers=clip:ip:udp"),
    // ERF: timestamp, type, flags, rlen, lctr, wlen.
    (197, "0000008000f15365 02 05 004c 0000 002a 0000 {e}", "frame.layers=erf:eth:ip:udp erf.types.type=2 erf.flags.cap=1 erf.flags.vlen=1 erf.rlen=76 erf.wlen=42 frame.len=42 erf.ts=7301444405347483648"),
    (197, "0000008000f15365 96 04 0030 0000 001c 8101020304050607 0401020304050607 {4} 00000000", "frame.layers=erf:ip:udp erf.types.ext_header=1 erf.ehdr.types=1 frame.len=28 frame.cap_len=28"),
    (197, "0000008000f15365 17 04 0040 0000 0030 {6}", "frame.layers=erf:ipv6:udp"),
    (197, "0000008000f15365 01 04 0030 0000 0020 1841 03 cc {4}", "frame.layers=erf:fr:ip:udp fr.dlci=100"),
    (197, "0000008000f15365 01 04 0030 0000 0020 0f00 0800 {4}", "frame.layers=erf:chdlc:ip:udp"),
    (197, "0000008000f15365 0a 04 0030 1234 0020 ff03 0021 {4}", "frame.layers=erf:ppp:ip:udp erf.color=4660 erf.lctr="),
    (197, "0000008000f15365 05 02 0034 0007 0020 410003f5 1841 03 cc {4}", "frame.layers=erf:fr:ip:udp erf.flags.cap=2 erf.lctr=7 erf.mchdlc.cn=1013 erf.mchdlc.fcse=1 erf.mchdlc.first=1 erf.mchdlc.lbe=0 erf.mcatm.cn="),
    (197, "0000008000f15365 09 03 0040 0000 0034 013523f5 02000c80 aaaa03 000000 0800 {4} 00000000 0000 0024 00000000", "frame.layers=erf:atm:aal5:llc:ip:udp erf.mcaal5.cn=1013 erf.mcaal5.port=5 erf.mcaal5.crcck=1 erf.mcaal5.crce=1 atm.vpi=32 atm.vci=200 atm.channel=3 atm.cells=1 atm.aal5t_len=36"),
    (197, "0000008000f15365 04 03 003c 0000 0034 02000c80 fefe03 cc {4} 0000000000000000 0000 0020 00000000", "frame.layers=erf:atm:aal5:llc:ip:udp atm.aal5t_len=32"),
    (197, "0000008000f15365 0c 03 0040 0000 0028 07050001 02000c80 11223344", "frame.layers=erf:atm erf.mcaal2.cid=7 erf.mcaal2.port=5 atm.cid=7 frame.stopped="),
    (197, "0000008000f15365 30 04 0020 0000 0000 0000000000000000", "frame.layers=erf frame.stopped="),
    // Wireless.
    (105, "0801 2c00 020000000001 020000000002 020000000003 1002 aaaa03 000000 0800 {4}", "frame.layers=wlan:llc:ip:udp wlan.fc.type=2 wlan.fc.subtype=0 wlan.fc.type_subtype=32 wlan.fc.tods=1 wlan.duration=44 wlan.ra=02:00:00:00:00:01 wlan.bssid=02:00:00:00:00:01 wlan.sa=02:00:00:00:00:02 wlan.ta=02:00:00:00:00:02 wlan.da=02:00:00:00:00:03 wlan.seq=33 wlan.frag=0"),
    (105, "8803 2c00 020000000001 020000000002 020000000003 1002 020000000004 0500 aaaa03 000000 0800 {4}", "frame.layers=wlan:llc:ip:udp wlan.sa=02:00:00:00:00:04 wlan.bssid= wlan.qos.tid=5"),
    (105, "8882 2c00 020000000001 020000000002 020000000003 1002 8000 00000000 020000000001 020000000003 0024 aaaa03 000000 0800 {4}", "frame.layers=wlan:llc:ip:udp wlan.fc.order=1 wlan.sa=02:00:00:00:00:03"),
    // Two packets side by side (A-MSDU), the first with two bytes of padding behind it, and a check sequence.
    (105, "8882 2c00 020000000001 020000000002 020000000003 1002 8000 00000000 020000000001 020000000003 0024 aaaa03 000000 0800 {4} 0000 020000000001 020000000003 0038 aaaa03 000000 86dd {6} 0000 11223344", "frame.layers=wlan:llc:ip:udp:ipv6 wlan.sa=02:00:00:00:00:03 ip.src=10.0.0.1 ipv6.src=2001:db8::1 addr.src=10.0.0.1 proto=udp"),
    (105, "0842 2c00 020000000001 020000000002 020000000003 1002 1122334455667788", "frame.layers=wlan wlan.fc.protected=1 frame.stopped="),
    (105, "8000 0000 ffffffffffff 020000000002 020000000002 1000 0000000000000000 6400 0100", "frame.layers=wlan wlan.fc.type_subtype=8 wlan.bssid=02:00:00:00:00:02 frame.stopped="),
    (105, "d400 0000 020000000001", "wlan.ra=02:00:00:00:00:01 wlan.ta= wlan.seq= frame.stopped="),
    (127, "0000 1000 0e000000 10 02 8509 a000 0000 0801 2c00 020000000001 020000000002 020000000003 1002 aaaa03 000000 0800 {4} 11223344", "frame.layers=radiotap:wlan:llc:ip:udp radiotap.length=16 radiotap.flags=16 radiotap.channel.freq=2437 radiotap.mactime="),
    (192, "00000800 69000000 0801 2c00 020000000001 020000000002 020000000003 1002 aaaa03 000000 0800 {4}", "frame.layers=ppi:wlan:llc:ip:udp ppi.dlt=105"),
    (119, "44000000 0c000000 00000000 0801 2c00 020000000001 020000000002 020000000003 1002 aaaa03 000000 0800 {4}", "frame.layers=prism:wlan:llc:ip:udp"),
    (163, "80211001 0000000c 00000000 0801 2c00 020000000001 020000000002 020000000003 1002 aaaa03 000000 0800 {4}", "frame.layers=wlancap:wlan:llc:ip:udp wlancap.length=12"),
    // The rest.
    (6, "1040 020000000001 820000000002 0630aaa1bbb0 aaaa03 000000 0800 {4}", "frame.layers=tr:llc:ip:udp tr.dst=02:00:00:00:00:01"),
    (10, "50 400000000080 400000000040 aaaa03 000000 0800 {4}", "frame.layers=fddi:llc:ip:udp fddi.dst=02:00:00:00:00:01"),
    (7, "0102 f0 {4}", "frame.layers=arcnet:ip:udp arcnet.src=1 arcnet.dst=2"),
    (129, "0102 0000 d4 000001 {4}", "frame.layers=arcnet:ip:udp arcnet.protid=212"),
    (178, "4d474380 0002 0000 {e}", "frame.layers=juniper:eth:ip:udp juniper.direction=0"),
    (226, "0102 0000 0000001c 00000005 00000000 00000000 00000000 {4}", "frame.layers=ipnet:ip:udp ipnet.ifindex=5"),
    (239, "02000005 08000100 00000000 05000a00 61000000 20000900 {4}", "frame.layers=nflog:ip:udp nflog.family=2"),
    (240, "10400000 {e} 11223344", "frame.layers=netanalyzer:eth:ip:udp"),
    (284, "020000000001 020000000002 40000000 0800 {4}", "frame.layers=switch_tag:ip:udp switch_tag.dst=02:00:00:00:00:01"),
    (285, "020000000001 020000000002 dada0000 40000000 0800 {4}", "frame.layers=switch_tag:ip:udp"),
    (281, "020000000001 020000000002 20000001 0800 {4}", "frame.layers=switch_tag:ip:udp"),
    // Link types that are registered and not decoded are rows without columns; others are damage.
    (195, "41 88 01 ff ff", "frame.layers= frame.stopped="),
    (147, "00", "frame.layers= frame.stopped="),
    (5000, "00", "frame.layers= frame.stopped=link~type~5000~is~not~supported"),
];

fn bytes(text: &str) -> Vec<u8> {
    let ethernet = format!("020000000001 020000000002 0800 {IPV4}");
    let text = text
        .replace("{e}", &ethernet)
        .replace("{4}", IPV4)
        .replace("{6}", IPV6);
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn value(packet: &Packet<'_>, field: &Field) -> Option<String> {
    match field.get {
        Get::Bool(get) => get(packet).map(|it| u8::from(it).to_string()),
        Get::U8(get) => get(packet).map(|it| it.to_string()),
        Get::U16(get) => get(packet).map(|it| it.to_string()),
        Get::U32(get) => get(packet).map(|it| it.to_string()),
        Get::U64(get) => get(packet).map(|it| it.to_string()),
        Get::Time(get) => get(packet).map(|it| it.to_string()),
        Get::Address(get) => get(packet).map(|it| it.to_string()),
        Get::Bytes(get) => get(packet).map(|it| format!("{it:02x?}")),
        Get::Text(get) => get(packet).map(str::to_owned),
        Get::Write(get) => {
            let mut text = String::new();
            get(packet, &mut text).unwrap().then_some(text)
        }
    }
}

fn column(packet: &Packet<'_>, name: &str) -> String {
    let (field, _) = fields()
        .find(|(field, _)| field.name == name)
        .unwrap_or_else(|| panic!("no column {name}"));
    value(packet, field).unwrap_or_default().replace(' ', "~")
}

#[track_caller]
fn check(decoder: &mut Decoder, link_type: u32, frame: &[u8], expected: &str) {
    let packet = decoder.decode(Frame::new(LinkType(link_type), frame));
    let mut got = String::new();
    for pair in expected.split(' ') {
        let (name, _) = pair.split_once('=').unwrap();
        write!(got, " {name}={}", column(&packet, name)).unwrap();
    }
    assert_eq!(
        got.trim_start(),
        expected,
        "link type {link_type}, {frame:02x?}, {:?}",
        packet.stop()
    );
}

/// Reads everything that there is to read.
fn exhaust(decoder: &mut Decoder, link_type: u32, frame: &[u8], wire_len: u32) {
    let mut frame = Frame::new(LinkType(link_type), frame);
    frame.wire_len = wire_len;
    let packet = decoder.decode(frame);
    for (field, _) in fields() {
        let _ = value(&packet, field);
    }
}

#[test]
fn each_link_layer_gives_its_columns_and_leads_to_ip() {
    let mut decoder = Decoder::default();
    for (link_type, text, expected) in FRAMES {
        let frame = bytes(text);
        check(&mut decoder, *link_type, &frame, expected);
        if ["{4}", "{6}", "{e}"]
            .iter()
            .any(|packet| text.contains(packet))
        {
            check(
                &mut decoder,
                *link_type,
                &frame,
                &format!("{UDP} frame.stopped="),
            );
        }
    }
}

#[test]
fn every_prefix_is_decoded_and_says_where_it_was_cut() {
    let mut decoder = Decoder::default();
    for (link_type, text, _) in FRAMES {
        let frame = bytes(text);
        let wire_len = u32::try_from(frame.len()).unwrap();
        for len in 0..frame.len() {
            exhaust(&mut decoder, *link_type, &frame[..len], wire_len);
        }
        // An IP packet that is cut in its header does not pass for a sound one.
        if text.ends_with("{4}") || text.ends_with("{e}") {
            let mut cut = Frame::new(LinkType(*link_type), &frame[..frame.len() - 10]);
            cut.wire_len = wire_len;
            let packet = decoder.decode(cut);
            assert!(packet.stop().is_some(), "{link_type} {text}");
        }
    }
}

#[test]
fn options_say_what_erf_and_atm_carry() {
    let mut options = Options::default();
    options.erf_hdlc = ErfHdlc::FrameRelay;
    options.atm_vc_mux = AtmVcMux::BridgedEthernet;
    let mut decoder = Decoder::new(options, [Needs::All]);
    // Cisco's encapsulation has no mark by which frame relay could be recognised.
    let record = bytes("0000008000f15365 05 02 0034 0000 001e 00000001 1841 0800 {4}");
    check(
        &mut decoder,
        197,
        &record,
        "frame.layers=erf:fr:ip:udp fr.chdlctype=2048",
    );
    let frame = bytes("00 03 0021 0000 {e}");
    check(
        &mut decoder,
        123,
        &frame,
        "frame.layers=atm:aal5:eth:ip:udp",
    );
    for (vc_mux, body, layers) in [
        (AtmVcMux::Ip, "{6}", "atm:aal5:ipv6:udp"),
        (AtmVcMux::Ppp, "0021 {4}", "atm:aal5:ppp:ip:udp"),
        (
            AtmVcMux::Llc,
            "aaaa03 000000 0800 {4}",
            "atm:aal5:llc:ip:udp",
        ),
        (AtmVcMux::Opaque, "{4}", "atm:aal5"),
        (AtmVcMux::Guess, "1841 03cc {4}", "atm:aal5:fr:ip:udp"),
        (AtmVcMux::Guess, "0005 {e}", "atm:aal5:lane:eth:ip:udp"),
    ] {
        let mut options = Options::default();
        options.atm_vc_mux = vc_mux;
        let mut decoder = Decoder::new(options, [Needs::All]);
        let frame = bytes(&format!("00 03 0021 {body}"));
        check(&mut decoder, 123, &frame, &format!("frame.layers={layers}"));
    }
}

/// Two cells of a PDU of IPv6 on VPI 1, VCI 100, and one of IPv4 in between on VCI 101, as ERF
/// records of type ATM.
fn cells() -> Vec<Vec<u8>> {
    let long = format!(
        "aaaa03 000000 86dd {IPV6} {} 0000 0038 40b2de79",
        "00".repeat(32)
    );
    let short = format!(
        "aaaa03 000000 0800 {IPV4} {} 0000 0024 e87acef4",
        "00".repeat(4)
    );
    let (long, short) = (bytes(&long), bytes(&short));
    let record = |header: &str, payload: &[u8]| {
        let mut record = bytes(&format!("0000008000f15365 03 04 0044 0000 0034 {header}"));
        record.extend_from_slice(payload);
        record
    };
    vec![
        record("01000640", &long[..48]),
        record("01000652", &short),
        record("01000642", &long[48..]),
    ]
}

#[test]
fn the_row_of_the_last_cell_has_the_headers_of_the_whole_pdu() {
    let mut decoder = Decoder::default();
    let cells = cells();
    check(
        &mut decoder,
        197,
        &cells[0],
        "frame.layers=erf:atm atm.vci=100 atm.payload_type=0 ipv6.src= frame.stopped=",
    );
    assert_eq!(decoder.aal5_waiting(), 1);
    check(
        &mut decoder,
        197,
        &cells[1],
        "frame.layers=erf:atm:aal5:llc:ip:udp atm.vci=101 atm.cells=1 ip.src=10.0.0.1 frame.stopped=",
    );
    check(
        &mut decoder,
        197,
        &cells[2],
        "frame.layers=erf:atm:aal5:llc:ipv6:udp atm.vci=100 atm.payload_type=1 atm.cells=2 atm.aal5t_len=56 ipv6.src=2001:db8::1 udp.srcport=5000 frame.stopped=",
    );
    assert_eq!(
        (decoder.aal5_waiting(), decoder.aal5_counters().pdus),
        (0, 2)
    );
}

#[test]
fn a_lost_cell_is_damage_of_the_row_that_ends_the_pdu() {
    let mut decoder = Decoder::default();
    let cells = cells();
    check(
        &mut decoder,
        197,
        &cells[2],
        "frame.layers=erf:atm ipv6.src= frame.stopped=aal5~at~byte~20:~atm.aal5t_crc~is~1085464185,~which~is~not~valid",
    );
    assert_eq!(decoder.aal5_counters().checksum_errors, 1);
    check(&mut decoder, 197, &cells[1], "ip.src=10.0.0.1");
}

#[test]
fn cells_are_kept_only_when_something_above_atm_is_asked_for() {
    let needs = fields()
        .filter(|(field, _)| field.name.starts_with("erf.") || field.name == "atm.vci")
        .map(|(_, needs)| needs);
    let mut decoder = Decoder::new(Options::default(), needs);
    for cell in cells() {
        check(
            &mut decoder,
            197,
            &cell,
            "atm.vpi=16 ip.src= ipv6.src= frame.stopped=",
        );
    }
    assert_eq!(decoder.aal5_counters().cells, 0);
}

proptest! {
    /// Any bytes under any link type, and frames of the table with some bytes changed.
    #[test]
    fn no_bytes_bring_the_decoder_down(
        link_type in 0_u32..310,
        noise in prop::collection::vec(any::<u8>(), 0..200),
        index in 0..FRAMES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut decoder = Decoder::default();
        exhaust(&mut decoder, link_type, &noise, 1500);
        let (link_type, text, _) = FRAMES[index];
        let mut frame = bytes(text);
        for (at, byte) in changes {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        exhaust(&mut decoder, link_type, &frame, 0);
        exhaust(&mut decoder, link_type, &frame, u32::MAX);
    }
}
