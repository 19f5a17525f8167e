internal import JQ
internal import Locking

/// The jq programs of all rule files of a set, without duplicates.
///
/// They are compiled together after all files are read. A program that does not compile is an error at each of its
/// uses.
final class ProgramList {
    private struct Use {
        let program: Int
        let path: String
        let position: SourcePosition
        /// The bytes of a YAML file. Empty for JSON.
        let file: [UInt8]
        /// Where it is in another file. Nil if it is in the rule file.
        let place: BodyFilePlace?
    }

    /// Programs are the same if they have the same text and variables.
    private struct Key: Hashable, Sendable {
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
    /// - Parameters:
    ///   - variables: Its additional `$NAME` variables, except its own locals.
    ///   - place: Where it is in another file that the rule file names at `position`.
    func add(
        _ program: JQProgram, variables: [String] = [], path: String, at position: SourcePosition,
        in file: [UInt8] = [], inFile place: BodyFilePlace? = nil
    ) -> Int {
        let key = Key(program: program, variables: variables)
        let index = indexes[key] ?? programs.count
        if index == programs.count {
            programs.append(key)
            indexes[key] = index
        }
        uses.append(Use(program: index, path: path, position: position, file: file, place: place))
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
        let diagnoses = diagnoses(results)
        return uses.compactMap { use in
            diagnoses[use.program].map { diagnosis in
                if let place = use.place { return diagnosis.error(in: place, path: use.path, at: use.position) }
                return diagnosis.error(of: programs[use.program].text, path: use.path, at: use.position, in: use.file)
            }
        }
    }

    /// The maximum number of programs whose unexpected token is searched. Each search takes several attempts.
    private static let searchLimit = 20

    private func diagnoses(_ errors: [Int: JQCompileError]) -> [Int: ProgramDiagnosis] {
        var diagnoses: [Int: ProgramDiagnosis] = [:]
        for (index, error) in errors.sorted(by: { $0.key < $1.key }) {
            let program = programs[index]
            diagnoses[index] =
                diagnoses.count < Self.searchLimit
                ? Self.searched(error, program)
                : ProgramDiagnosis(
                    error, program.text, variables: ProgramDiagnosis.known(program.allVariables), unexpected: nil)
        }
        return diagnoses
    }

    /// Diagnoses of programs, so that an editor that reads a file after each change does not repeat their searches.
    private static let searches = Locked<[Key: ProgramDiagnosis]>([:])
    /// Above it, all are forgotten.
    private static let searchesLimit = 200

    private static func searched(_ error: JQCompileError, _ program: Key) -> ProgramDiagnosis {
        if let known = searches.withLock({ $0[program] }) { return known }
        let diagnosis = ProgramDiagnosis(searching: error, in: program.text, variables: program.allVariables)
        searches.withLock { searches in
            if searches.count >= searchesLimit { searches = [:] }
            searches[program] = diagnosis
        }
        return diagnosis
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
