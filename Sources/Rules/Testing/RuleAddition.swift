/// Adds the rules and tests of one YAML rule file to another. All other lines stay as they are.
package struct RuleAddition {
    /// Why they can't be added.
    package struct Refusal: Error, CustomStringConvertible {
        /// `FILE:LINE:COLUMN: what is wrong and what to do`.
        package let description: String
    }

    private let path: String
    private let bytes: [UInt8]

    /// - Parameters:
    ///   - path: The file, for messages.
    ///   - bytes: Its content. The rules may have errors, but it must be YAML.
    package init(path: String, bytes: [UInt8]) { (self.path, self.bytes) = (path, bytes) }

    /// The content of the file with the rules and tests of another file at the ends of its lists. If the file is empty,
    /// or has only comments, the other file.
    ///
    /// - Parameter other: A file in which each rule and test begins with `- ` on a line of its own.
    /// - Throws: ``Refusal`` if the file is JSON, is not valid YAML, or its lists are written in brackets.
    package func adding(_ other: [UInt8]) throws(Refusal) -> [UInt8] {
        guard !isBlank else { return other }
        var changed = bytes
        for (key, noun) in [("rules", "rule"), ("tests", "test")] {
            let elements = ListAddition(path: "", bytes: other, key: key, noun: noun).elements()
            guard !elements.isEmpty else { continue }
            do throws(ListAddition.Refusal) {
                changed = try ListAddition(path: path, bytes: changed, key: key, noun: noun).adding(elements)
            } catch {
                throw Refusal(
                    description:
                        "\(path):\(error.position.line):\(error.position.column): \(error.reason); correct it, or "
                        + "remove it")
            }
        }
        return changed
    }

    private var isBlank: Bool {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).allSatisfy { line in
            let text = line.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
            return text.isEmpty || text.hasPrefix("#")
        }
    }
}
