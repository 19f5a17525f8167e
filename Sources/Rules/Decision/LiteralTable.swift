/// Maps byte strings to numbers. A lookup allocates nothing.
///
/// Built once: open addressing over one flat array of bytes.
struct LiteralTable: Sendable {
    private struct Entry: Sendable {
        let start: Int
        let end: Int
        let number: Int
    }

    private let foldsCase: Bool
    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// Entry index plus one; 0 is free. A power of two, at most half full.
    private var slots: [Int32] = []
    /// For each length that a key has, its bit; one for all lengths from 63 on. Most lookups end there.
    private var lengths: UInt64 = 0

    /// - Parameters:
    ///   - numbers: The entries.
    ///   - foldsCase: Whether lookups ignore the case of ASCII letters. The keys must then be in lower case.
    init(_ numbers: [[UInt8]: Int], foldsCase: Bool) {
        self.foldsCase = foldsCase
        var capacity = 4
        while capacity < numbers.count * 2 { capacity *= 2 }
        slots = [Int32](repeating: 0, count: capacity)
        for (key, number) in numbers {
            let entry = Entry(start: bytes.count, end: bytes.count + key.count, number: number)
            bytes += key
            lengths |= Self.bit(of: key.count)
            entries.append(entry)
            var slot = Int(truncatingIfNeeded: Self.hash(key.span, foldsCase: foldsCase)) & (capacity - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (capacity - 1) }
            slots[slot] = Int32(entries.count)
        }
    }

    /// Nil if `key` is missing.
    func number(of key: Span<UInt8>) -> Int? {
        guard lengths & Self.bit(of: key.count) != 0 else { return nil }
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: Self.hash(key, foldsCase: foldsCase)) & mask
        while slots[slot] != 0 {
            let entry = entries[Int(slots[slot]) - 1]
            if isKey(key, of: entry) { return entry.number }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private func isKey(_ key: Span<UInt8>, of entry: Entry) -> Bool {
        guard key.count == entry.end - entry.start else { return false }
        for offset in key.indices where Self.fold(key[offset], foldsCase) != bytes[entry.start + offset] {
            return false
        }
        return true
    }

    private static func bit(of length: Int) -> UInt64 { 1 &<< UInt64(min(length, 63)) }

    /// FNV-1a, 64 bits.
    private static func hash(_ key: Span<UInt8>, foldsCase: Bool) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for offset in key.indices { hash = (hash ^ UInt64(fold(key[offset], foldsCase))) &* 0x100_0000_01B3 }
        // The low bits choose the slot, so the high bits are mixed in.
        return hash ^ hash >> 32
    }

    @inline(__always)
    private static func fold(_ byte: UInt8, _ foldsCase: Bool) -> UInt8 {
        foldsCase && byte &- 0x41 < 26 ? byte | 0x20 : byte
    }
}
