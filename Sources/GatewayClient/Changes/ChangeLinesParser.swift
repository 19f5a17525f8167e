internal import LosslessJSON

/// Parses a continuous changes feed: one row per line, empty lines as heartbeats, and lines with only `last_seq`, after
/// which more rows may follow.
struct ChangeLinesParser {
    /// No gateway stores larger documents; longer text is not a row.
    private static let lineLimit = 1 << 27

    /// Bytes that are in no batch yet.
    private var buffer: [UInt8] = []
    /// The buffer has no line feed before this offset.
    private var searched = 0

    /// The sequence of the last row or `last_seq` line, whichever came later.
    private(set) var lastSequence: SequenceID?

    /// Whether the last line is complete.
    var isAtLineEnd: Bool { buffer.isEmpty }

    mutating func append(_ chunk: [UInt8]) {
        if buffer.isEmpty {
            buffer = chunk
            return
        }
        buffer.makeRoomIfLarge()
        buffer += chunk
    }

    /// All rows whose line is complete; nil if there are none.
    ///
    /// - Parameter preceding: The sequence before the first row of the feed.
    /// - Throws: `JSONError` if a line is not a row; its offset counts from the end of the last batch.
    mutating func nextBatch(after preceding: () -> SequenceID? = { nil }) throws(JSONError) -> ChangesBatch? {
        guard let end = buffer[searched...].lastIndex(of: UInt8(ascii: "\n")) else {
            searched = buffer.count
            guard searched <= Self.lineLimit else { throw JSONError(.tooLong(limit: Self.lineLimit), at: 0) }
            return nil
        }
        var lines = Array(buffer[(end + 1)...])
        buffer.removeSubrange((end + 1)...)
        swap(&lines, &buffer)
        searched = buffer.count
        return try batch(of: lines, after: preceding)
    }

    private mutating func batch(
        of lines: [UInt8], after preceding: () -> SequenceID?
    ) throws(JSONError) -> ChangesBatch? {
        var builder = BatchBuilder<Change.Fields>(expectedBytes: lines.count)
        var at = skipWhitespace(lines.span, from: 0)
        var answered: SequenceID?
        while at < lines.count {
            let line = at..<(lines[at...].firstIndex(of: UInt8(ascii: "\n")) ?? lines.count)
            let end = try Self.end(ofObjectIn: lines, line)
            answered = Self.lastSequence(in: lines[at..<end])
            if answered == nil { try builder.appendFramedRow(in: lines, at..<end) }
            at = skipWhitespace(lines.span, from: line.upperBound)
        }
        let batch =
            builder.rows.isEmpty
            ? nil : ChangesBatch(builder.batch(of: lines), after: lastSequence ?? preceding())
        lastSequence = answered ?? batch?.last?.sequence ?? lastSequence
        return batch
    }

    /// The end of the object, which must fill the line apart from white space.
    private static func end(ofObjectIn lines: [UInt8], _ line: Range<Int>) throws(JSONError) -> Int {
        let text = lines.span.extracting(0..<line.upperBound)
        guard text[line.lowerBound] == UInt8(ascii: "{") else {
            throw JSONError(.unexpectedByte(text[line.lowerBound], expected: .value), at: line.lowerBound)
        }
        var frame = JSONFrame(start: line.lowerBound)
        guard let end = frame.findEnd(in: text) else { throw JSONError(.unexpectedEnd, at: line.upperBound) }
        let next = skipWhitespace(text, from: end)
        guard next == line.upperBound else {
            throw JSONError(.unexpectedByte(text[next], expected: .endOfText), at: next)
        }
        return end
    }

    /// The sequence in `{"last_seq":…,"pending":0}`; nil for a row.
    private static func lastSequence(in line: ArraySlice<UInt8>) -> SequenceID? {
        guard line.starts(with: #"{"last_seq""#.utf8), let text = try? JSONText(Array(line)) else { return nil }
        return text.root["last_seq"].flatMap { SequenceID($0) }
    }
}
