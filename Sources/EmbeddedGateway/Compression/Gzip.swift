/// The gzip format around a deflated text.
///
/// - Note: Source: RFC 1952.
enum Gzip {
    enum Fault: Error, Equatable {
        /// The text does not begin as gzip does.
        case noHeader
        /// It ends within the header.
        case cutHeader
        /// It ends within the data or the checksum.
        case cut
        case corrupt
        /// What comes out is longer than it may be.
        case tooLong
    }

    /// - Parameter limit: Most bytes that may come out: a few kilobytes can hold gigabytes.
    static func unpack(_ packed: [UInt8], limit: Int) throws(Fault) -> [UInt8] {
        var result: [UInt8] = []
        var at = 0
        repeat {
            at = try bodyStart(packed, at)
            var inflater = Inflater(packed, from: at, limit: limit - result.count)
            let part = try inflater.run()
            at = inflater.end
            guard at + 8 <= packed.count else { throw .cut }
            let isWhole =
                number(packed, at) == Checksum.crc32(part)
                && number(packed, at + 4) == UInt32(truncatingIfNeeded: part.count)
            guard isWhole else { throw .corrupt }
            at += 8
            result += part
        } while at < packed.count
        return result
    }

    static func pack(_ text: [UInt8]) -> [UInt8] {
        var stream = GzipStream()
        return stream.pack(text) + stream.finish()
    }

    private static let headerLength = 10

    /// Passes over the header and its optional parts.
    private static func bodyStart(_ packed: [UInt8], _ start: Int) throws(Fault) -> Int {
        guard packed.count >= start + headerLength else { throw .cutHeader }
        guard packed[start] == 0x1F, packed[start + 1] == 0x8B, packed[start + 2] == 8 else { throw .noHeader }
        let flags = packed[start + 3]
        var at = start + headerLength
        if flags & 4 != 0 {
            guard at + 2 <= packed.count else { throw .cutHeader }
            at += 2 + Int(packed[at]) + Int(packed[at + 1]) << 8
        }
        for flag: UInt8 in [8, 16] where flags & flag != 0 {
            guard at <= packed.count, let end = packed[at...].firstIndex(of: 0) else { throw .cutHeader }
            at = end + 1
        }
        if flags & 2 != 0 { at += 2 }
        guard at <= packed.count else { throw .cutHeader }
        return at
    }

    private static func number(_ bytes: [UInt8], _ at: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << UInt32(8 * $1) }
    }
}

/// A gzip text that is made while it is sent: what was packed can be unpacked at once.
struct GzipStream {
    private var checksum = Checksum()
    private var count: UInt32 = 0
    private var isBegun = false

    mutating func pack(_ text: [UInt8]) -> [UInt8] {
        checksum.add(text)
        count &+= UInt32(truncatingIfNeeded: text.count)
        return begin() + Deflater.block(text)
    }

    /// The end of the text; nothing may follow.
    mutating func finish() -> [UInt8] {
        begin() + Deflater.lastBlock + Self.bytes(checksum.value) + Self.bytes(count)
    }

    /// Deflated, no name, no time, made on Unix.
    private mutating func begin() -> [UInt8] {
        defer { isBegun = true }
        return isBegun ? [] : [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
    }
}

/// The cyclic redundancy check of gzip.
///
/// - Note: Source: RFC 1952, section 8.
struct Checksum {
    private var state: UInt32 = .max

    var value: UInt32 { ~state }

    mutating func add(_ bytes: [UInt8]) {
        let table = Self.table
        for byte in bytes { state = table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8 }
    }

    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var checksum = Checksum()
        checksum.add(bytes)
        return checksum.value
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }
}
