/// Adds tests to a YAML rule file. All other lines stay as they are.
package struct TestAddition {
    /// Why tests can't be added to a file.
    package struct Refusal: Error, CustomStringConvertible {
        /// `FILE:LINE:COLUMN: what is wrong and what to do`.
        package let description: String
    }

    private let path: String
    private let bytes: [UInt8]

    /// - Parameters:
    ///   - path: The file, for messages.
    ///   - bytes: Its content, without errors.
    package init(path: String, bytes: [UInt8]) { (self.path, self.bytes) = (path, bytes) }

    /// The content of the file with more tests at the end of `tests`.
    ///
    /// - Parameter tests: For each test its lines, as ``Mutant/Difference/test``.
    /// - Throws: ``Refusal`` if the file is JSON, or its list of tests is written in brackets.
    package func adding(_ tests: [[String]]) throws(Refusal) -> [UInt8] {
        let changed: [UInt8]
        do throws(ListAddition.Refusal) {
            changed = try ListAddition(path: path, bytes: bytes, key: "tests", noun: "test").adding(tests)
        } catch {
            throw refusal(error.position, error.reason)
        }
        let errors = RuleFile(path: path, bytes: changed).errors
        guard errors.isEmpty else { throw refusal(.start, "the new tests do not fit into this file") }
        return changed
    }

    private func refusal(_ position: SourcePosition, _ reason: String) -> Refusal {
        Refusal(
            description:
                "\(path):\(position.line):\(position.column): \(reason); add the tests above to the file yourself, or "
                + "change it and run the command again")
    }
}
