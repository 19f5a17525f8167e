internal import LosslessJSON

/// Parses an answer of many rows as it arrives, in pieces of any size.
///
/// `{"NAME":VALUE,"ROWS":[ROW,ROW,…],"NAME":VALUE,…}`, with any white space in between: gateways send line feeds as
/// heartbeats in the middle of the array. Each complete row is checked and put on the batch's tape in one pass. The end
/// of a row that contains invalid JSON is still found, so that one bad document never stops all others.
struct RowsParser<Fields: RowFields> {
    private enum State {
        case start, memberNameOrEnd, memberName, rowOrEnd, row, afterRow, afterMember, end
    }

    /// No gateway stores larger documents; longer text is not a row.
    private static var rowLimit: Int { 1 << 27 }
    /// In bytes. No other member of a gateway's answer is longer, name and white space included.
    static var memberLimit: Int { 1 << 20 }

    private var state = State.start
    /// Bytes that are not in a batch yet. Those before `position` have been processed.
    private var buffer: [UInt8] = []
    private var position = 0
    /// Set while the row at `position` is incomplete.
    private var frame: JSONFrame?

    /// An answer without rows contains an empty array; an answer without the array is malformed.
    private var hasRows = false

    /// The value of the member that ``RowFields/keptMemberName`` names; nil until it has arrived.
    private(set) var keptValue: JSONText?

    /// The error after the rows of the last batch.
    private var rowError: JSONError?

    /// Whether the closing bracket has arrived, so that the answer is complete.
    var isComplete: Bool { state == .end }

    mutating func append(_ chunk: [UInt8]) {
        if buffer.isEmpty {
            buffer = chunk
        } else {
            buffer.makeRoomIfLarge()
            buffer.append(contentsOf: chunk)
        }
    }

    /// All complete rows that have arrived since the last batch; nil if there are none.
    ///
    /// - Throws: `JSONError` if this is not such an answer; its offset counts from the end of the last batch.
    mutating func nextBatch() throws(JSONError) -> GatheredRows<Fields>? {
        if let rowError { throw rowError }
        guard buffer.count <= Self.rowLimit else { throw JSONError(.tooLong(limit: Self.rowLimit), at: 0) }
        let bytes = buffer
        // A long row arrives in many pieces. Nothing is copied or allocated until it is complete.
        if frame != nil, frame?.findEnd(in: bytes.span) == nil { return nil }
        var builder = BatchBuilder<Fields>(expectedBytes: bytes.count)
        do throws(JSONError) { while try step(bytes, &builder) {} } catch {
            // The rows before the error are valid.
            guard !builder.rows.isEmpty else { throw error }
            rowError = JSONError(error.reason, at: max(0, error.offset - position))
        }
        // Drops processed bytes and white space between rows: heartbeats must not accumulate.
        if position > 0 { buffer = Array(bytes[position...]) }
        frame?.shift(by: position)
        position = 0
        return builder.rows.isEmpty ? nil : builder.batch(of: bytes)
    }

    /// Reads one element of the grammar. False if not all of its bytes have arrived.
    private mutating func step(_ bytes: [UInt8], _ builder: inout BatchBuilder<Fields>) throws(JSONError) -> Bool {
        let at = skipWhitespace(bytes.span, from: position)
        position = at
        guard at < bytes.count else { return false }
        let byte = bytes[at]
        switch (state, byte) {
        case (.start, UInt8(ascii: "{")): return advance(to: .memberNameOrEnd, at: at + 1)
        case (.start, _): throw JSONError(.unexpectedByte(byte, expected: .value), at: at)
        case (.memberNameOrEnd, UInt8(ascii: "}")), (.afterMember, UInt8(ascii: "}")):
            guard hasRows else { throw JSONError(.unexpectedByte(byte, expected: .memberName), at: at) }
            return advance(to: .end, at: at + 1)
        case (.afterMember, UInt8(ascii: ",")): return advance(to: .memberName, at: at + 1)
        case (.afterMember, _): throw JSONError(.unexpectedByte(byte, expected: .commaOrEndOfObject), at: at)
        case (.memberNameOrEnd, _), (.memberName, _): return try readMember(of: bytes, from: at)
        case (.rowOrEnd, UInt8(ascii: "]")), (.afterRow, UInt8(ascii: "]")):
            return advance(to: .afterMember, at: at + 1)
        case (.afterRow, UInt8(ascii: ",")): return advance(to: .row, at: at + 1)
        case (.afterRow, _): throw JSONError(.unexpectedByte(byte, expected: .commaOrEndOfArray), at: at)
        case (.rowOrEnd, _), (.row, _): return try readRow(of: bytes, from: at, into: &builder)
        case (.end, _): throw JSONError(.unexpectedByte(byte, expected: .endOfText), at: at)
        }
    }

    private mutating func advance(to state: State, at position: Int) -> Bool {
        self.state = state
        self.position = position
        return true
    }

    /// Reads a member of the answer itself: the start of the rows, or another member with its value and the byte after
    /// it.
    private mutating func readMember(of bytes: [UInt8], from start: Int) throws(JSONError) -> Bool {
        // Nothing is read beyond the limit: an endless member must not be scanned repeatedly.
        let limit = start + Self.memberLimit
        let text = bytes.span.extracting(0..<min(bytes.count, limit))
        do throws(JSONError) {
            if try readMember(in: text, of: bytes, from: start) { return true }
        } catch {
            guard error.reason == .unexpectedEnd else { throw error }
        }
        guard bytes.count < limit else { throw JSONError(.tooLong(limit: Self.memberLimit), at: start) }
        return false
    }

    /// - Throws: `.unexpectedEnd` if the member continues beyond `text`.
    private mutating func readMember(
        in text: Span<UInt8>, of bytes: [UInt8], from start: Int
    ) throws(JSONError) -> Bool {
        var tape = JSONTape()
        let nameEnd = try tape.scanValue(in: text, from: start)
        let colon = skipWhitespace(text, from: nameEnd)
        guard colon < text.count else { return false }
        guard text[colon] == UInt8(ascii: ":") else {
            throw JSONError(.unexpectedByte(text[colon], expected: .colon), at: colon)
        }
        let valueStart = skipWhitespace(text, from: colon + 1)
        guard valueStart < text.count else { return false }
        if tape.isString(0, Fields.rowsMemberName, in: bytes) {
            guard text[valueStart] == UInt8(ascii: "[") else {
                throw JSONError(.unexpectedByte(text[valueStart], expected: .value), at: valueStart)
            }
            hasRows = true
            return advance(to: .rowOrEnd, at: valueStart + 1)
        }
        let value = tape.count
        let end = try tape.scanValue(in: text, from: valueStart)
        // A number may continue in the next chunk.
        guard end < text.count else { return false }
        if let name = Fields.keptMemberName, tape.isString(0, name, in: bytes) {
            keptValue = JSONText(bytes: bytes, tape: tape).value(at: value).copied()
        }
        return advance(to: .afterMember, at: end)
    }

    private mutating func readRow(
        of bytes: [UInt8], from start: Int, into builder: inout BatchBuilder<Fields>
    ) throws(JSONError) -> Bool {
        if frame == nil {
            do throws(JSONError) {
                return advance(to: .afterRow, at: try builder.appendRow(in: bytes, from: start))
            } catch {
                guard bytes[start] == UInt8(ascii: "{") else { throw error }
                // Incomplete or invalid: in both cases, find its end first.
                frame = JSONFrame(start: start)
            }
        }
        guard let end = frame?.findEnd(in: bytes.span) else { return false }
        frame = nil
        try builder.appendFramedRow(in: bytes, start..<end)
        return advance(to: .afterRow, at: end)
    }
}
