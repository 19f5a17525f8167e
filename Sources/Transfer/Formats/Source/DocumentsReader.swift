/// Reads documents of one format.
protocol DocumentsReader {
    /// The header row without its line break; nil if the documents are not in a table.
    var header: [UInt8]? { get }

    /// Nil at the end.
    ///
    /// - Throws: ``SourceError`` if reading can't continue.
    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem?
}

extension DocumentsReader {
    var header: [UInt8]? { nil }
}
