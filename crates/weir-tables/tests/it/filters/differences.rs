/// See the module.
const DIFFERENCES: &[Difference] = &[
    Difference {
        filters: &["*"],
        captures: &["*bigtcp-*"],
        reason: "BIG TCP sends IP packets of more than 64 KiB whose length field is 0; the frame's end is taken as the packet's, where tshark 4.0 stops.",
    },
    Difference {
        filters: &["*"],
        captures: &["*cisco-fabric-path.pcap"],
        reason: "What lies in FabricPath's frames is decoded to its end; tshark does not get as far in some of them.",
    },
    Difference {
        filters: &["tcp.*"],
        captures: &["*alexa-app.pcapng"],
        reason: "All fields of a header that an error of ICMP quotes are there; tshark sometimes shows the ports only.",
    },
    Difference {
        filters: &["ip.src *"],
        captures: &["*ipv4-internally-truncated-header.pcap"],
        reason: "Each field whose bytes are there has its value; tshark stops at a header that is cut.",
    },
    Difference {
        filters: &["ip[8] *"],
        captures: &["*mpls-6in6-6in6-4in6-invalid-version-4.pcap"],
        reason: "What says that it is IP of another version is no header of IP here.",
    },
    Difference {
        filters: &["frame[*"],
        captures: &["*scps_invalid.pcap"],
        reason: "The frame is raw IP with bytes behind its packet; tshark 4.0 cuts such a frame itself to the packet.",
    },
    Difference {
        filters: &["wlan.fc.type *"],
        captures: &["*lwapp-data.pcap"],
        reason: "LWAPP, and the 802.11 in it, is not decoded.",
    },
];
