extension [UInt8] {
    /// Texts of at least this many bytes are large.
    private static var large: Int { 1 << 20 }
    /// More bytes than the largest document that a gateway stores.
    private static var roomForLarge: Int { 64 << 20 }

    /// Must be called before each append to a text that arrives in pieces.
    ///
    /// Reserves 64 MiB at once for a large text. Reserved memory costs nothing until it is written. An array that grows
    /// by doubling would hold the text twice while it copies.
    package mutating func makeRoomIfLarge() {
        guard count >= Self.large, capacity < Self.roomForLarge else { return }
        reserveCapacity(Self.roomForLarge)
    }
}
