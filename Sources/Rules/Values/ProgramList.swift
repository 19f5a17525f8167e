internal import JQ

/// The jq programs of all rule files of a set, without duplicates.
///
/// They are compiled together once all files are read. A program that does not compile is an error at each of its uses.
final class ProgramList {
    private struct Use {
        let program: Int
        let path: String
        let position: SourcePosition
        /// The bytes of the file if it is YAML, else empty.
        let file: [UInt8]
    }

    /// Programs are the same if they have the same text and variables.
    private struct Key: Hashable {
        let program: JQProgram
        let variables: [String]

        var text: String { program.text }
        var allVariables: [String] { variables + program.locals }
    }

    private var programs: [Key] = []
    private var indexes: [Key: Int] = [:]
    private var uses: [Use] = []

    var all: [JQProgram] { programs.map(\.program) }

    /// Adds a program and returns its index in ``all``.
    ///
    /// - Parameter variables: Its `$NAME` variables besides the common ones and its own.
    func add(
        _ program: JQProgram, variables: [String] = [], path: String, at position: SourcePosition,
        in file: [UInt8] = []
    ) -> Int {
        let key = Key(program: program, variables: variables)
        let index = indexes[key] ?? programs.count
        if index == programs.count {
            programs.append(key)
            indexes[key] = index
        }
        uses.append(Use(program: index, path: path, position: position, file: file))
        return index
    }

    /// Compiles all programs and returns the errors. Blocks for about 50 ms for each 64 programs.
    func compile() -> [RuleFileError] {
        guard !programs.isEmpty else { return [] }
        let results: [Int: JQCompileError]
        do throws(JQError) { results = try check() } catch {
            let use = uses[0]
            return [
                RuleFileError(
                    path: use.path, position: use.position, message: "jq programs can't be compiled here: \(error)")
            ]
        }
        let complaints = complaints(results)
        return uses.compactMap { use in
            complaints[use.program].map { Self.error($0, of: programs[use.program].text, use) }
        }
    }

    /// The most programs in which the unexpected token is searched, each with several attempts.
    private static let searchLimit = 20

    private func complaints(_ errors: [Int: JQCompileError]) -> [Int: ProgramComplaint] {
        var complaints: [Int: ProgramComplaint] = [:]
        for (index, error) in errors.sorted(by: { $0.key < $1.key }) {
            let (text, variables) = (programs[index].text, programs[index].allVariables)
            let isSearched = complaints.count < Self.searchLimit
            let token =
                isSearched
                ? SyntaxErrorSearch.unexpectedToken(error, ProgramTokens(text), variables: variables) : nil
            let known = (JQBinding.common + variables).map { "$" + $0 }
            complaints[index] = ProgramComplaint(error, text, variables: known, unexpected: token)
        }
        return complaints
    }

    /// Located at the line and column of the file, as far as these are known.
    private static func error(_ complaint: ProgramComplaint, of program: String, _ use: Use) -> RuleFileError {
        var position = use.position
        var line = ""
        if let place = complaint.place {
            if let written = WrittenText(program, at: use.position, in: use.file) {
                position = written.position(line: place.line, offset: place.offset)
            } else {
                line = "line \(place.line): "
            }
        }
        return RuleFileError(
            path: use.path, position: position,
            message: "not a jq program: \(line)\(DisplayText.plain(complaint.message, limit: 250)); \(complaint.remedy)"
        )
    }

    /// The errors of the programs that do not compile, by index.
    private func check() throws(JQError) -> [Int: JQCompileError] {
        var errors: [Int: JQCompileError] = [:]
        for variables in Set(programs.map(\.allVariables)) {
            let indexes = programs.indices.filter { programs[$0].allVariables == variables }
            let results = try JQCompiler.check(indexes.map { programs[$0].text }, variables: variables)
            for (index, error) in zip(indexes, results) { errors[index] = error }
        }
        return errors
    }
}
