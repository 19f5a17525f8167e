extension [UInt8] {
    /// Texts that are longer are large.
    private static var large: Int { 1 << 20 }
    /// Beyond any document that a gateway stores.
    private static var roomForLarge: Int { 64 << 20 }

    /// To be called before a text that comes in pieces, and is looked at once it is whole, grows by another one.
    ///
    /// A large text gets all the room at once that it can need. What is not written to takes no memory, whereas growing
    /// by doubling, as arrays do, holds the text twice for a while.
    package mutating func makeRoomIfLarge() {
        guard count >= Self.large, capacity < Self.roomForLarge else { return }
        reserveCapacity(Self.roomForLarge)
    }
}
