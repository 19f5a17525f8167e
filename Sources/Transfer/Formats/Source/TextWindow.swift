internal import LosslessJSON

/// The part of an input that is being looked at: what has come and is not done with.
///
/// Offsets count from the first byte that is not done with.
struct TextWindow: ~Copyable {
    /// From here on taking a document hands over the memory it stands in, instead of a copy.
    private static let large = 1 << 20

    private var input: InputBytes
    private var bytes: [UInt8] = []
    /// All before it is done with.
    private var position = 0
    /// The place of the first byte that is not done with.
    private(set) var place = TextPlace()
    private var isAtEnd = false
    /// What ended the input before its end.
    private var failure: SourceError.Reason?

    init(_ input: consuming InputBytes) { self.input = input }

    var count: Int { bytes.count - position }
    var bytesRead: Int { input.bytesRead }

    subscript(offset: Int) -> UInt8 { bytes[position + offset] }

    /// Waits for more. False if there is none: see ``finish()``.
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

    /// To be called where there is no more. Throws if that is not the input's own end.
    ///
    /// - Parameter broken: What is left of the last document.
    func finish(leaving broken: SourceFault? = nil) throws(SourceError) {
        if let failure { throw SourceError(failure, at: place, broken: broken) }
    }

    /// Calls `body` with the first `limit` bytes, or all if there are fewer.
    func withText<Result>(upTo limit: Int = .max, _ body: (Span<UInt8>) -> Result) -> Result {
        body(bytes.span.extracting(position..<position + min(limit, count)))
    }

    /// - Returns: The offset behind the value.
    func scan(into tape: inout JSONTape, upTo limit: Int = .max, from start: Int = 0) throws(JSONFault) -> Int {
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

    /// The next `count` bytes, which are done with then.
    mutating func take(_ count: Int) -> [UInt8] {
        place = place(of: count)
        let end = position + count
        guard count >= Self.large else {
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

    /// Drops JSON's white space. Returns the byte behind it; nil at the end.
    mutating func skipWhitespace() -> UInt8? {
        while true {
            let next = LosslessJSON.skipWhitespace(bytes.span, from: position)
            if next > position { drop(next - position) }
            if position < bytes.count { return bytes[position] }
            guard fill() else { return nil }
        }
    }

    /// Drops a byte order mark: editors put it at the beginning of a file.
    mutating func skipMark() {
        while count < 3, fill() {}
        guard bytes[position...].starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        place.advanceOverMark()
        position += 3
    }
}
