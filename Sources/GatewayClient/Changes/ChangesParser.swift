internal import LosslessJSON

/// Takes the answer of `_changes` apart: `{"results":[ROW,ROW,…],"last_seq":SEQ,…}`.
struct ChangesParser {
    private var parser = RowsParser<Change.Fields>()

    /// `last_seq`: where the next request goes on. Nil until it came.
    var lastSequence: SequenceID? { parser.keptValue.flatMap { SequenceID($0.root) } }

    /// The closing bracket came: nothing is missing.
    var isComplete: Bool { parser.isComplete }

    mutating func append(_ chunk: [UInt8]) { parser.append(chunk) }

    /// All complete rows that have arrived and were not handed out before; nil if there are none.
    ///
    /// - Throws: ``JSONFault`` if this is no answer of `_changes`; its offset counts from the last batch.
    mutating func nextBatch() throws(JSONFault) -> ChangesBatch? { try parser.nextBatch().map(ChangesBatch.init) }
}
