/// Applies faults to the rows of one feed.
///
/// Works on text, one row per line. Each piece is changed and sent at once, so that no row is held back.
struct RowFaults: Sendable {
    private var duplicates: (share: Double, random: SeededNumbers)?
    private var groups: (count: Int, random: SeededNumbers)?
    private var rowsLeft: Int?
    private let isContinuous: Bool
    private var isFirst = true
    private var lastSequence = ""
    /// Whether the feed was ended early.
    private(set) var isEnded = false

    /// Nil if none of the faults affects rows.
    init?(_ due: [DueFault], isContinuous: Bool) {
        self.isContinuous = isContinuous
        for fault in due {
            switch fault.action {
            case .duplicate(let share): duplicates = (share, fault.random)
            case .reorder(let count): groups = (count, fault.random)
            case .lastSequenceEarly(let count): rowsLeft = count
            default: break
            }
        }
        if duplicates == nil, groups == nil, rowsLeft == nil { return nil }
    }

    /// - Parameter text: Complete lines.
    mutating func withFaults(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rows: [FeedRow] = []
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for line in lines.dropLast() {
            if let row = FeedRow(line) {
                rows.append(row)
                continue
            }
            append(&rows, to: &result)
            if isEnded { return result }
            result += line
            result.append(UInt8(ascii: "\n"))
        }
        append(&rows, to: &result)
        return isEnded ? result : result + (lines.last ?? [])
    }

    private mutating func append(_ rows: inout [FeedRow], to text: inout [UInt8]) {
        defer { rows = [] }
        for row in shuffled(repeated(rows)) {
            if rowsLeft == 0 { break }
            rowsLeft = rowsLeft.map { $0 - 1 }
            if !isFirst, !isContinuous { text.append(UInt8(ascii: ",")) }
            isFirst = false
            lastSequence = row.sequence
            text += row.text
            text.append(UInt8(ascii: "\n"))
        }
        guard rowsLeft == 0, !rows.isEmpty else { return }
        isEnded = true
        text += (isContinuous ? "{\"last_seq\":\"\(lastSequence)\"}\n" : "],\n\"last_seq\":\"\(lastSequence)\"}\n").utf8
    }

    private mutating func repeated(_ rows: [FeedRow]) -> [FeedRow] {
        rows.flatMap { row in
            guard let share = duplicates?.share, let draw = duplicates?.random.share(), draw < share else {
                return [row]
            }
            return [row, row]
        }
    }

    private mutating func shuffled(_ rows: [FeedRow]) -> [FeedRow] {
        guard let count = groups?.count else { return rows }
        var result: [FeedRow] = []
        for start in stride(from: 0, to: rows.count, by: count) {
            var group = Array(rows[start..<min(start + count, rows.count)])
            groups?.random.shuffle(&group)
            result += FeedRow.withLowSequences(group)
        }
        return result
    }
}

/// A row of a feed as text.
struct FeedRow: Sendable {
    private static let opening = Array("{\"seq\":".utf8)
    /// Without the preceding comma and the following line feed.
    private(set) var text: [UInt8]
    /// The form in which a client may send it back.
    private(set) var sequence: String

    /// Nil if the line is not a row.
    init?(_ line: ArraySlice<UInt8>) {
        let line = line.first == UInt8(ascii: ",") ? line.dropFirst() : line
        guard line.starts(with: Self.opening) else { return nil }
        let value = line.dropFirst(Self.opening.count).prefix { $0 != UInt8(ascii: ",") }
        text = Array(line)
        sequence = FeedPosition.unquoted(String(decoding: value, as: UTF8.self))
    }

    /// Marks rows that are out of order: they get the sequence `LOW::SEQUENCE` while a change above `LOW` is still
    /// missing. A client that resumes from any of them misses nothing.
    ///
    /// - Note: Source: Sync Gateway does this for sequences that arrive late.
    static func withLowSequences(_ rows: [FeedRow]) -> [FeedRow] {
        var rows = rows
        var lowest = Int.max
        for place in rows.indices.reversed() {
            guard let number = Int(rows[place].sequence) else { continue }
            if lowest < number { rows[place].setSequence("\(lowest - 1)::\(number)") }
            lowest = min(lowest, number)
        }
        return rows
    }

    private mutating func setSequence(_ sequence: String) {
        let rest = text.drop { $0 != UInt8(ascii: ",") }
        text = Self.opening + Array("\"\(sequence)\"".utf8) + rest
        self.sequence = sequence
    }
}
