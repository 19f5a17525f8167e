internal import LosslessJSON

/// Where a request goes: `url`, and the `path` that replaces its path and query for each document.
struct OutsideTarget: Sendable {
    /// Scheme, host and port: see ``OutsideAddress``.
    let origin: String
    private let usualPath: String
    private let path: TextTemplate?

    var programs: [Int] { path?.programs ?? [] }

    /// Nil without a valid `url`. Reports errors if the URL is computed or not valid, or the path is wrong.
    ///
    /// - Parameter whom: What a document can't choose, for messages: `the server`.
    init?(_ object: SourceObject, _ reading: RuleReading, recipient: String) {
        path = reading.text(object, "path")
        if let path = path?.literal, let node = object.node("path"),
            let error = OutsideAddress.error(inLiteralPath: path)
        {
            reading.errors.report(at: node.position, error)
        }
        guard let address = Self.address(object, recipient) else { return nil }
        (origin, usualPath) = (address.origin, address.path)
    }

    private static func address(_ object: SourceObject, _ recipient: String) -> OutsideAddress? {
        guard let node = object.node("url") else { return nil }
        if node.isComputed {
            object.errors.report(
                at: node.position,
                "'url' can't be computed: a document must not choose \(recipient); write out the scheme, host and "
                    + "port, and compute the rest with path: { jq: … }")
            return nil
        }
        guard let text = object.optionalText("url") else { return nil }
        do throws(OutsideAddress.InvalidURL) { return try OutsideAddress(text) } catch {
            object.errors.report(at: node.position, error.message)
            return nil
        }
    }

    /// Path and query for one document. Nil if the program of `path` gives nothing.
    ///
    /// - Parameters:
    ///   - outputs: For each of ``programs``, its outputs.
    ///   - action: The name of the action, for messages.
    func path(_ outputs: [[JSONText]], of action: String) throws(ActionError) -> String? {
        guard let path else { return usualPath }
        guard let computed = try path.text(outputs, of: "the path") else { return nil }
        if let error = OutsideAddress.error(inPath: computed) { throw .failed("\(action): \(error)") }
        return computed
    }
}
