package import GatewayClient

/// A document to write, and what the caller knows it by.
package struct PlannedWrite<Subject: Sendable>: Sendable {
    /// Comes back with the outcome.
    package let subject: Subject
    /// As `_bulk_docs` takes it.
    package let document: BulkDocument

    /// - Parameter subject: Anything that the caller needs once it has the outcome.
    package init(subject: Subject, document: BulkDocument) {
        self.subject = subject
        self.document = document
    }
}

extension Array {
    /// Consecutive groups of at most `count` elements and `bytes` bytes; a larger element is a group of its own.
    package func grouped(count: Int, bytes: Int, size: (Element) -> Int) -> [ArraySlice<Element>] {
        var groups: [ArraySlice<Element>] = []
        var start = startIndex
        var groupBytes = 0
        for (index, element) in enumerated() {
            let size = size(element)
            if index > start, index - start == count || groupBytes + size > bytes {
                groups.append(self[start..<index])
                start = index
                groupBytes = 0
            }
            groupBytes += size
        }
        if start < endIndex { groups.append(self[start...]) }
        return groups
    }
}
