internal import LosslessJSON

/// The part of an input that was read but not consumed yet.
///
/// Offsets count from the first byte that is not consumed.
struct TextWindow: ~Copyable {
    /// Documents of at least this size are moved out of the buffer, not copied.
    private static let minMovedBytes = 1 << 20

    private var input: InputBytes
    private var bytes: [UInt8] = []
    /// Everything before this offset is already consumed.
    private var position = 0
    /// The place of the first byte that is not consumed.
    private(set) var place = TextPlace()
    private var isAtEnd = false
    /// The error that ended the input early.
    private var failure: SourceError.Reason?

    init(_ input: consuming InputBytes) { self.input = input }

    var count: Int { bytes.count - position }
    var bytesRead: Int { input.bytesRead }

    /// Bytes of the input, compressed or not, that the consumed text came from. Compressed bytes are divided evenly
    /// among the text that they produced.
    var bytesConsumed: Double {
        guard input.textCount > 0 else { return 0 }
        return Double(input.bytesDecoded) * (1 - Double(count) / Double(input.textCount))
    }

    subscript(offset: Int) -> UInt8 { bytes[position + offset] }

    /// Blocks until there is more input. Returns false at the end: then call ``finish(leaving:)``.
    mutating func fill() -> Bool {
        guard !isAtEnd else { return false }
        if position > 0 {
            bytes.removeSubrange(..<position)
            position = 0
        }
        let count = bytes.count
        bytes.makeRoomIfLarge()
        do throws(SourceError) { isAtEnd = try !input.read(into: &bytes) } catch {
            isAtEnd = true
            failure = error.reason
        }
        return bytes.count > count
    }

    /// Call when there is no more input. Throws if an error ended it.
    ///
    /// - Parameter broken: The incomplete last document.
    func finish(leaving broken: SourceDocumentError? = nil) throws(SourceError) {
        if let failure { throw SourceError(failure, at: place, broken: broken) }
    }

    /// Calls `body` with the first `limit` bytes, or all if there are fewer.
    func withText<Result>(upTo limit: Int = .max, _ body: (Span<UInt8>) -> Result) -> Result {
        body(bytes.span.extracting(position..<position + min(limit, count)))
    }

    /// - Returns: The offset after the value.
    func scan(into tape: inout JSONTape, upTo limit: Int = .max, from start: Int = 0) throws(JSONError) -> Int {
        try tape.scanValue(in: bytes.span.extracting(position..<position + min(limit, count)), from: start)
    }

    func place(of offset: Int) -> TextPlace {
        var place = place
        place.advance(over: bytes.span.extracting(position..<position + min(offset, count)))
        return place
    }

    func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
        bytes[position + range.lowerBound..<position + range.upperBound]
    }

    mutating func drop(_ count: Int) {
        place = place(of: count)
        position += count
    }

    /// Consumes and returns the next `count` bytes.
    mutating func take(_ count: Int) -> [UInt8] {
        place = place(of: count)
        let end = position + count
        guard count >= Self.minMovedBytes else {
            defer { position = end }
            return Array(bytes[position..<end])
        }
        let rest = Array(bytes[end...])
        bytes.removeSubrange(end...)
        bytes.removeSubrange(..<position)
        position = 0
        defer { bytes = rest }
        return bytes
    }

    /// Drops JSON's white space. Returns the byte after it, not consumed; nil at the end.
    mutating func skipWhitespace() -> UInt8? {
        while true {
            let next = LosslessJSON.skipWhitespace(bytes.span, from: position)
            if next > position { drop(next - position) }
            if position < bytes.count { return bytes[position] }
            guard fill() else { return nil }
        }
    }

    /// Drops a byte order mark, which editors put at the beginning of a file.
    mutating func skipMark() {
        while count < 3, fill() {}
        guard isAtMark else { return }
        place.skipByteOrderMark()
        position += 3
    }

    /// Whether the text begins with a byte order mark.
    var isAtMark: Bool { bytes[position...].starts(with: Self.mark) }
    static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
}
