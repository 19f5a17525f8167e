/// Writes one array of documents, a document a line: `[`, the documents with commas between them, `]`.
///
/// What it has written is JSON only after ``finish(to:)``.
package struct JSONArrayWriter: Sendable {
    private var hasElements: Bool

    /// - Parameter hasElements: Whether writing goes on behind an element that was written before.
    package init(hasElements: Bool = false) { self.hasElements = hasElements }

    /// Appends the document: its bytes as they are, but for line breaks between its parts, which become spaces.
    package mutating func write(_ document: ArraySlice<UInt8>, to output: inout [UInt8]) {
        output.append(contentsOf: hasElements ? ",\n".utf8 : "[\n".utf8)
        output.appendOnOneLine(document)
        hasElements = true
    }

    package mutating func write(_ document: [UInt8], to output: inout [UInt8]) { write(document[...], to: &output) }

    /// Appends the array's end.
    package mutating func finish(to output: inout [UInt8]) {
        output.append(contentsOf: hasElements ? "\n]\n".utf8 : "[]\n".utf8)
        hasElements = false
    }
}
