/// The text that jq compiles: one or more programs, in a wrapper.
///
/// The wrapper's input is `[document, change, match, now]`, and then the number of the program if there are several. For
/// a program with local variables, the first element is a list of the document and an object of their values.
///
/// The wrapper redefines all functions that could read more than the document and the variables: the clock returns
/// `$now`, the others fail.
enum ProgramWrapper {
    static let environmentMessage = "a program can't read the environment"

    /// One program, on the first line so that jq's line numbers are right.
    ///
    /// - Parameter end: What follows the program.
    static func text(of program: ProgramSource, end: String = "") -> [UInt8] {
        opening(inputs: inputs) + branch(program, end: end)
    }

    /// Several programs. Each has its own scope.
    static func text(of programs: [ProgramSource]) -> [UInt8] {
        opening(inputs: inputs + ["$__program"]) + branches(programs[...])
    }

    private static let inputs = ["$__input", "$change", "$match", "$now"]

    /// Comparing halves, so that a program starts soon even if there are many.
    private static func branches(_ programs: ArraySlice<ProgramSource>) -> [UInt8] {
        guard programs.count > 1 else { return programs.first.map { branch($0) } ?? [] }
        let middle = programs.startIndex + programs.count / 2
        return Array("if $__program < \(middle) then ".utf8) + branches(programs[..<middle]) + Array(" else ".utf8)
            + branches(programs[middle...]) + Array(" end".utf8)
    }

    private static func branch(_ program: ProgramSource, end: String = "") -> [UInt8] {
        let variables = program.locals.map { "$__locals.\($0) as $\($0) | " }.joined()
        let document = variables.isEmpty ? "$__input" : "$__input as [$__document, $__locals] | \(variables)$__document"
        return Array("\(document) | (".utf8) + program.text + Array("\n\n\(end))".utf8)
    }

    /// `$ENV` is bound to a string, so that `$ENV.NAME` is an error.
    private static func opening(inputs: [String]) -> [UInt8] {
        Array(
            ". as [\(inputs.joined(separator: ", "))] | \"\(environmentMessage)\" as $ENV | def now: $now; \(definitions)"
                .utf8)
    }

    private static let definitions: String = {
        let refused = [
            "env": environmentMessage, "halt": "a program can't halt", "halt_error": "a program can't halt",
            "halt_error($code)": "a program can't halt", "input": "a program gets one document and no other input",
            "inputs": "a program gets one document and no other input", "modulemeta": "a program can't use modules",
            "input_filename": "a program has no input file", "input_line_number": "a program has no input file",
            "get_search_list": "a program can't use modules",
        ]
        return ProgramPrelude.definitions + ProgramPrelude.silenced
            + refused.map { "def \($0): error(\"\($1)\");" }.sorted().joined(separator: " ") + " "
    }()
}
