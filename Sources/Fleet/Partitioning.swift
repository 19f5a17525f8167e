/// How documents are assigned to partitions, and partitions to members. The same in every process and version.
package enum Partitioning {
    /// How many partitions a new log gets.
    package static let defaultPartitions = 64

    /// FNV-1a, 64 bits.
    ///
    /// - Note: Source: draft-eastlake-fnv, test vectors in appendix C.
    package static func fnv1a(_ bytes: some Sequence<UInt8>, from start: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        var hash = start
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }

    /// The partition of a document: FNV-1a of its UTF-8, modulo the number of partitions.
    package static func partition(of id: DocumentKey, among partitions: Int) -> Int {
        Int(fnv1a(id.bytes) % UInt64(partitions))
    }

    /// How many partitions a member may have: an equal share, rounded up.
    package static func share(of partitions: Int, among members: Int) -> Int {
        members <= 1 ? partitions : (partitions + members - 1) / members
    }

    /// Sorts partitions by this owner's preference, the highest first: rendezvous hashing. Members that choose at the
    /// same time seldom choose the same partitions.
    package static func rendezvous(_ partitions: [Int], for owner: String) -> [Int] {
        let start = fnv1a(owner.utf8)
        return partitions.map { (weight: mixed(start ^ UInt64($0)), partition: $0) }
            .sorted { ($0.weight, $0.partition) > ($1.weight, $1.partition) }
            .map(\.partition)
    }

    /// Spreads small differences over all bits: the last steps of SplitMix64.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
