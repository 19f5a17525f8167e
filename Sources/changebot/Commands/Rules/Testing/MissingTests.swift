internal import Encodings
internal import Rules

/// Adds the tests that mutants show to be missing to the rule files.
struct MissingTests {
    private let mutants: MutantRun

    init(_ mutants: MutantRun) { self.mutants = mutants }

    /// Writes each file that needs tests. A file is replaced as a whole.
    ///
    /// - Throws: ``CommandError`` with 65 if tests can't be added to a file, after the others were written.
    func write(isQuiet: Bool) throws {
        var refusals: [String] = []
        for file in mutants.files {
            let tests = Self.distinct(file.survivors.compactMap(\.missingTest))
            if tests.isEmpty { continue }
            let addition = RuleFileAddition(path: file.path, bytes: try InputLines.whole(file.path))
            let bytes: [UInt8]
            do throws(RuleFileAddition.Refusal) { bytes = try addition.adding(tests: tests) } catch {
                refusals.append(error.description)
                continue
            }
            try OutputFile.write(bytes, to: file.path)
            if !isQuiet { Console.complain("\(file.path): added \(tests.count.counted("test"))") }
        }
        if !refusals.isEmpty { throw CommandError(.invalidData, listing: refusals) }
    }

    /// Several mutants may need the same document. The name then tells the first of them.
    private static func distinct(_ tests: [[String]]) -> [[String]] {
        var seen: Set<[String]> = []
        return tests.filter { seen.insert(Array($0.dropFirst())).inserted }
    }
}
