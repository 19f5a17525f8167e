/// Reads the documents of one way of writing them down.
protocol DocumentsReader {
    /// Nil at the end.
    ///
    /// - Throws: ``SourceError`` if reading can't go on.
    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem?
}
