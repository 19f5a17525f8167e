internal import LosslessJSON

/// Parses the answer of `_changes`: `{"results":[ROW,ROW,…],"last_seq":SEQ,…}`, or one row per line.
struct ChangesParser {
    private enum Form {
        case answer(RowsParser<Change.Fields>)
        case lines(ChangeLinesParser)
    }

    private var form: Form

    init(isContinuous: Bool = false) { form = isContinuous ? .lines(ChangeLinesParser()) : .answer(RowsParser()) }

    /// `last_seq`: where the next request continues. Nil until it has arrived; for a continuous feed, that of the last
    /// row.
    var lastSequence: SequenceID? {
        switch form {
        case .answer(let parser): parser.keptValue.flatMap { SequenceID($0.root) }
        case .lines(let parser): parser.lastSequence
        }
    }

    /// Whether nothing is missing: the closing bracket has arrived, or a continuous feed is between two lines.
    var isComplete: Bool {
        switch form {
        case .answer(let parser): parser.isComplete
        case .lines(let parser): parser.isAtLineEnd
        }
    }

    mutating func append(_ chunk: [UInt8]) {
        // The parser is taken out and put back, so that its buffer has one owner and is not copied.
        switch form {
        case .answer(var parser):
            form = .lines(ChangeLinesParser())
            parser.append(chunk)
            form = .answer(parser)
        case .lines(var parser):
            form = .answer(RowsParser())
            parser.append(chunk)
            form = .lines(parser)
        }
    }

    /// All complete rows that have arrived since the last batch; nil if there are none.
    ///
    /// - Throws: ``JSONError`` if this is not an answer of `_changes`; its offset counts from the end of the last
    ///   batch. The parser can't be used afterwards.
    mutating func nextBatch() throws(JSONError) -> ChangesBatch? {
        switch form {
        case .answer(var parser):
            form = .lines(ChangeLinesParser())
            let rows = try parser.nextBatch()
            form = .answer(parser)
            return rows.map(ChangesBatch.init)
        case .lines(var parser):
            form = .answer(RowsParser())
            let batch = try parser.nextBatch()
            form = .lines(parser)
            return batch
        }
    }
}
