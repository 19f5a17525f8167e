/// Reads the documents of one way of writing them down.
protocol DocumentsReader {
    /// The row that names the columns, without its line break; nil if the documents are in no table.
    var header: [UInt8]? { get }

    /// Nil at the end.
    ///
    /// - Throws: ``SourceError`` if reading can't go on.
    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem?
}

extension DocumentsReader {
    var header: [UInt8]? { nil }
}
