internal import LosslessJSON

/// Takes the answer of `_changes` apart as it arrives, in whatever pieces the network cuts it into.
///
/// `{"results":[ROW,ROW,…],"last_seq":SEQ,…}`, with any white space in between: gateways send line feeds as heartbeats
/// in the middle of the array. Each complete row is checked and put on the batch's tape in one pass. A row whose body
/// is not JSON is still told from its neighbours, so that one bad document never stops a feed.
struct ChangesParser {
    private enum State {
        case start, memberNameOrEnd, memberName, rowOrEnd, row, afterRow, afterMember, end
    }

    /// Beyond any document that a gateway stores; what is longer is not a row.
    private static let rowLimit = 1 << 27

    private var state = State.start
    /// Bytes that no batch has taken yet. All before `position` is done with.
    private var buffer: [UInt8] = []
    private var position = 0
    /// Set while the row at `position` is incomplete.
    private var frame: JSONFrame?

    /// An answer without rows is one with an empty array, not one without it.
    private var hasResults = false

    /// `last_seq`: where the next request goes on. Nil until it came.
    private(set) var lastSequence: SequenceID?

    /// The closing bracket came: nothing is missing.
    var isComplete: Bool { state == .end }

    mutating func append(_ chunk: [UInt8]) {
        if buffer.isEmpty {
            buffer = chunk
        } else {
            buffer.append(contentsOf: chunk)
        }
    }

    /// All complete rows that have arrived and were not handed out before; nil if there are none.
    ///
    /// - Throws: ``JSONFault`` if this is no answer of `_changes`; its offset counts from the last batch.
    mutating func nextBatch() throws(JSONFault) -> ChangesBatch? {
        let bytes = buffer
        guard bytes.count <= Self.rowLimit else { throw JSONFault(.tooLong(limit: Self.rowLimit), at: 0) }
        var builder = BatchBuilder(expectedBytes: bytes.count)
        while try step(bytes, &builder) {}
        // What a batch has taken, and white space between rows, is gone for good: heartbeats must not pile up.
        buffer = Array(bytes[position...])
        frame?.shift(by: position)
        position = 0
        return builder.rows.isEmpty ? nil : builder.batch(of: bytes)
    }

    /// Reads one piece of the grammar. False if the bytes for it are not all there.
    private mutating func step(_ bytes: [UInt8], _ builder: inout BatchBuilder) throws(JSONFault) -> Bool {
        let at = skipWhitespace(bytes.span, from: position)
        position = at
        guard at < bytes.count else { return false }
        let byte = bytes[at]
        switch (state, byte) {
        case (.start, UInt8(ascii: "{")): return advance(to: .memberNameOrEnd, at: at + 1)
        case (.start, _): throw JSONFault(.unexpectedByte(byte, expected: .value), at: at)
        case (.memberNameOrEnd, UInt8(ascii: "}")), (.afterMember, UInt8(ascii: "}")):
            guard hasResults else { throw JSONFault(.unexpectedByte(byte, expected: .memberName), at: at) }
            return advance(to: .end, at: at + 1)
        case (.afterMember, UInt8(ascii: ",")): return advance(to: .memberName, at: at + 1)
        case (.afterMember, _): throw JSONFault(.unexpectedByte(byte, expected: .commaOrEndOfObject), at: at)
        case (.memberNameOrEnd, _), (.memberName, _): return try readMember(of: bytes, from: at)
        case (.rowOrEnd, UInt8(ascii: "]")), (.afterRow, UInt8(ascii: "]")):
            return advance(to: .afterMember, at: at + 1)
        case (.afterRow, UInt8(ascii: ",")): return advance(to: .row, at: at + 1)
        case (.afterRow, _): throw JSONFault(.unexpectedByte(byte, expected: .commaOrEndOfArray), at: at)
        case (.rowOrEnd, _), (.row, _): return try readRow(of: bytes, from: at, into: &builder)
        case (.end, _): throw JSONFault(.unexpectedByte(byte, expected: .endOfText), at: at)
        }
    }

    private mutating func advance(to state: State, at position: Int) -> Bool {
        self.state = state
        self.position = position
        return true
    }

    /// A member of the answer itself: the opening of `results`, or any other with its value and the byte behind it.
    private mutating func readMember(of bytes: [UInt8], from start: Int) throws(JSONFault) -> Bool {
        let text = bytes.span
        var tape = JSONTape()
        guard let nameEnd = try complete({ () throws(JSONFault) in try tape.scanValue(in: text, from: start) }) else {
            return false
        }
        let colon = skipWhitespace(text, from: nameEnd)
        let valueStart = skipWhitespace(text, from: colon + 1)
        guard valueStart < text.count else { return false }
        guard text[colon] == UInt8(ascii: ":") else {
            throw JSONFault(.unexpectedByte(text[colon], expected: .colon), at: colon)
        }
        let name = bytes[start..<nameEnd]
        if name.elementsEqual(#""results""#.utf8) {
            guard text[valueStart] == UInt8(ascii: "[") else {
                throw JSONFault(.unexpectedByte(text[valueStart], expected: .value), at: valueStart)
            }
            hasResults = true
            return advance(to: .rowOrEnd, at: valueStart + 1)
        }
        let node = tape.count
        guard let end = try complete({ () throws(JSONFault) in try tape.scanValue(in: text, from: valueStart) }),
            end < text.count
        else { return false }
        if name.elementsEqual(#""last_seq""#.utf8) {
            lastSequence = SequenceID(JSONText(bytes: bytes, tape: tape).value(at: node))
        }
        return advance(to: .afterMember, at: end)
    }

    private mutating func readRow(
        of bytes: [UInt8], from start: Int, into builder: inout BatchBuilder
    ) throws(JSONFault) -> Bool {
        if frame == nil {
            do throws(JSONFault) {
                return advance(to: .afterRow, at: try builder.appendRow(in: bytes, from: start))
            } catch {
                guard bytes[start] == UInt8(ascii: "{") else { throw error }
                // Incomplete, or not JSON inside: either way find its end first.
                frame = JSONFrame(start: start)
            }
        }
        guard let end = frame?.findEnd(in: bytes.span) else { return false }
        frame = nil
        try builder.appendFramedRow(in: bytes, start..<end)
        return advance(to: .afterRow, at: end)
    }

    /// Nil if the value goes on beyond the bytes that have arrived.
    private func complete(_ scan: () throws(JSONFault) -> Int) throws(JSONFault) -> Int? {
        do throws(JSONFault) { return try scan() } catch {
            if error.reason == .unexpectedEnd { return nil }
            throw error
        }
    }
}
