import Fleet
import Testing

@Suite struct PartitioningTests {
    /// From appendix C of draft-eastlake-fnv.
    @Test(
        arguments: [
            ("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("b", 0xaf63_df4c_8601_f1a5),
            ("foobar", 0x8594_4171_f739_67e8), ("\u{0}", 0xaf63_bd4c_8601_b7df),
        ] as [(String, UInt64)])
    func fnv1aMatchesTheStandard(_ text: String, _ hash: UInt64) { #expect(Partitioning.fnv1a(text.utf8) == hash) }

    /// Do not change these: changes in existing logs would be in the wrong partition.
    @Test(arguments: [
        ("", 64, 37), ("a", 64, 12), ("order-1", 64, 45), ("order-2", 64, 20), ("\u{e9}", 64, 1),
        ("e\u{301}", 64, 31), ("a", 1, 0), ("foobar", 1000, 968),
    ])
    func documentsKeepTheirPartition(_ id: String, _ partitions: Int, _ partition: Int) {
        #expect(Partitioning.partition(of: DocumentKey(id), among: partitions) == partition)
    }

    @Test(arguments: [(64, 1, 64), (64, 3, 22), (64, 64, 1), (64, 100, 1), (1, 2, 1), (64, 0, 64)])
    func shareIsRoundedUp(_ partitions: Int, _ members: Int, _ share: Int) {
        #expect(Partitioning.share(of: partitions, among: members) == share)
    }

    @Test func ownersPreferDifferentPartitions() {
        let all = Array(0..<64)
        let first = Partitioning.rendezvous(all, for: "first")
        #expect(first.sorted() == all)
        #expect(first == Partitioning.rendezvous(all.reversed(), for: "first"))
        let second = Partitioning.rendezvous(all, for: "second")
        #expect(Set(first.prefix(16)).intersection(second.prefix(16)).count < 12)
    }

    @Test func idsAreComparedByTheirBytes() {
        #expect(DocumentKey("\u{e9}") != DocumentKey("e\u{301}"))
        #expect(DocumentKey("a\u{0}") > DocumentKey("a"))
        #expect(DocumentKey("b") > DocumentKey("a\u{0}"))
        #expect(DocumentKey(bytes: [0x61, 0xff]).text == "a\u{fffd}")
    }
}
