/// Writes one document a line. Holds nothing between two calls: writing can go on anywhere behind a line.
package struct NDJSONWriter: Sendable {
    package init() {}

    /// Appends the document's line: its bytes as they are, but for line breaks between its parts, which become spaces.
    package func write(_ document: ArraySlice<UInt8>, to output: inout [UInt8]) {
        output.appendOnOneLine(document)
        output.append(UInt8(ascii: "\n"))
    }

    package func write(_ document: [UInt8], to output: inout [UInt8]) { write(document[...], to: &output) }
}

extension [UInt8] {
    /// Line breaks never stand within a string of JSON: where there is one, any white space will do.
    mutating func appendOnOneLine(_ document: ArraySlice<UInt8>) {
        let start = count
        append(contentsOf: document)
        var index = start
        while index < count {
            if self[index] == UInt8(ascii: "\n") || self[index] == UInt8(ascii: "\r") { self[index] = 0x20 }
            index += 1
        }
    }
}
