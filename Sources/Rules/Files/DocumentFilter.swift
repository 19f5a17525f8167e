internal import LosslessJSON

/// A selector beside the rules: documents that it does not match are left alone, as they came.
package struct DocumentFilter: Sendable {
    let selector: Selector
    /// For ``RuleSet/hash``.
    let canonical: [UInt8]

    /// - Parameters:
    ///   - text: A Mango selector as JSON.
    ///   - name: Where it comes from, for faults.
    /// - Throws: ``RuleFilesError``.
    package init(_ text: String, name: String) throws(RuleFilesError) {
        let faults = SourceFaults(path: name)
        let node = JSONSource.read(Array(text.utf8), faults: faults)
        guard let node, let selector = SelectorReader.read(node, faults: faults) else {
            throw RuleFilesError(kind: .invalid, faults: faults.faults)
        }
        self.selector = selector
        canonical = node.json
    }
}
