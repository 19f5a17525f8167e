internal import CJQ

/// A compiled program, in the process that runs it.
///
/// The program's text is embedded in a wrapper, on the wrapper's first line so that jq's line numbers are right. The
/// wrapper redefines all functions that could read more than the document and the variables: the clock returns `$now`,
/// the others fail.
final class CompiledProgram {
    /// How a run ended.
    enum Ending {
        case finished
        case failed(String)
        /// An output contains a number that is not finite: which number, and where.
        case notFinite(String)
        case tooMuchOutput
    }

    static let environmentMessage = "a program can't read the environment"

    private var state: OpaquePointer?
    private let functions = ProgramFunctions()
    private let namesEnvironment: Bool

    /// Compiles a program that has passed ``check(_:_:)``, as all programs of rule files have.
    ///
    /// - Parameters:
    ///   - bindings: An object with the variables' values by name. Not consumed.
    ///   - locals: Variables whose values are passed with each run.
    /// - Throws: The first error that jq reports.
    init(_ text: [UInt8], _ bindings: jv, locals: [String] = []) throws(JQCompileError) {
        guard !text.contains(0) else { throw Self.nulError }
        namesEnvironment = String(decoding: text, as: UTF8.self).contains("$ENV")
        do throws(JQCompileError) {
            state = try Self.compile(
                Self.opening(locals) + text + Array("\n\n)".utf8), arguments: jv_copy(bindings))
        } catch {
            // Error messages must show the program's own text.
            try Self.compileAlone(text, bindings, locals: locals)
            // A program that is empty, or only defines functions, means `.`.
            state = try Self.compile(
                Self.opening(locals) + text + Array("\n\n.)".utf8), arguments: jv_copy(bindings))
        }
        functions.serve(state)
    }

    deinit { Self.tearDown(state) }

    /// Runs the program over `[document, change, match, now]`, which it consumes. With local variables, the first
    /// element is a list of the document and an object of their values.
    ///
    /// - Parameter output: Receives the text of each output; returning false ends the run.
    func run(_ input: jv, output: (UnsafeRawBufferPointer) -> Bool) -> Ending {
        jq_start(state, input, 0)
        while true {
            let result = jq_next(state)
            guard jv_get_kind(result) != JV_KIND_INVALID else { return ending(result) }
            if let number = NonFiniteNumber(in: result) {
                jv_free(result)
                return .notFinite(number.description)
            }
            let text = jv_dump_string(result, 0)
            defer { jv_free(text) }
            let count = Int(jv_string_length_bytes(jv_copy(text)))
            guard output(UnsafeRawBufferPointer(start: jv_string_value(text), count: count)) else {
                return .tooMuchOutput
            }
        }
    }

    private func ending(_ result: jv) -> Ending {
        guard jq_halted(state) == 0 else {
            jv_free(result)
            return .failed("a program can't halt")
        }
        guard jv_invalid_has_msg(jv_copy(result)) != 0 else {
            jv_free(result)
            return .finished
        }
        let message = jv_invalid_get_msg(result)
        defer { jv_free(message) }
        let text = message.text.map(NonFiniteNumber.named) ?? message.json
        let explains = namesEnvironment && (text.hasPrefix("Cannot index string") || text.contains("\"a program "))
        return .failed(explains ? "\(Self.environmentMessage) ($ENV): \(text)" : text)
    }
}

// MARK: - Compiling

extension CompiledProgram {
    /// `$ENV` is bound to a string, so that `$ENV.NAME` is an error.
    private static func opening(_ locals: [String]) -> [UInt8] {
        let head = locals.isEmpty ? "$__document" : "[$__document, $__locals]"
        let variables = locals.map { "$__locals.\($0) as $\($0) | " }.joined()
        return Array((". as [\(head)" + definitions + variables + "$__document | (").utf8)
    }

    /// Between the input and the local variables.
    private static let definitions: String = {
        let refused = [
            "env": environmentMessage, "halt": "a program can't halt", "halt_error": "a program can't halt",
            "halt_error($code)": "a program can't halt", "input": "a program gets one document and no other input",
            "inputs": "a program gets one document and no other input", "modulemeta": "a program can't use modules",
            "input_filename": "a program has no input file", "input_line_number": "a program has no input file",
            "get_search_list": "a program can't use modules",
        ]
        return ", $change, $match, $now] | \"\(environmentMessage)\" as $ENV | def now: $now; "
            + ProgramPrelude.definitions + ProgramPrelude.silenced
            + refused.map { "def \($0): error(\"\($1)\");" }.sorted().joined(separator: " ") + " "
    }()

    private static let nulError = JQCompileError(message: "the program contains a NUL character")

    /// Checks that each of the programs compiles without a wrapper, so that it can't close the wrapper's parenthesis.
    ///
    /// - Parameter bindings: As for ``init(_:_:)``.
    /// - Throws: The first error that jq reports. If several programs are checked, they may fail only in combination,
    ///   for example because one of them is empty. Then check each one separately.
    static func check(_ programs: ArraySlice<[UInt8]>, _ bindings: jv) throws(JQCompileError) {
        guard !programs.contains(where: { $0.contains(0) }) else { throw nulError }
        guard let program = programs.first else { return }
        do throws(JQCompileError) { try compileTogether(programs, bindings) } catch {
            guard programs.count == 1 else { throw error }
            // The message must refer to the program's own text, which may be empty or only define functions.
            try compileAlone(program, bindings)
            // A program that begins with a directive, such as `module`, compiles only alone.
            _ = try CompiledProgram(program, bindings)
        }
    }

    /// Compiles all programs as one text, each in two kinds of brackets. Together, because jq spends most of the time
    /// on its own definitions.
    ///
    /// A program can close one kind of bracket and open it again, but with the other kind that is an error. The empty
    /// line ends a comment that continues on the next line. The text around the closing bracket is a comment, or else
    /// an error in a string that is still open.
    private static func compileTogether(_ programs: ArraySlice<[UInt8]>, _ bindings: jv) throws(JQCompileError) {
        let texts = [("(", ")"), ("[", "]")].flatMap { opening, closing in
            let end = Array("\n\n# \\(|)\n\(closing) # \\(|)\n".utf8)
            return programs.map { Array("\(opening)\n".utf8) + $0 + end }
        }
        let text = Array(texts.joined(separator: ",".utf8))
        try compileUnwrapped(Array(ProgramPrelude.declarations.utf8) + text, bindings)
    }

    /// Compiles a program without the wrapper.
    private static func compileAlone(
        _ text: [UInt8], _ bindings: jv, locals: [String] = []
    ) throws(JQCompileError) {
        do throws(JQCompileError) { try compileUnwrapped(text, bindings, locals: locals) } catch {
            // jq does not know the functions of the prelude, but a directive must come first.
            guard ProgramPrelude.names.contains(where: error.message.hasPrefix) else { throw error }
            try compileUnwrapped(Array(ProgramPrelude.declarations.utf8) + text, bindings, locals: locals)
        }
    }

    private static func compileUnwrapped(
        _ text: [UInt8], _ bindings: jv, locals: [String] = []
    ) throws(JQCompileError) {
        var known = jv_copy(bindings)
        for name in ["change", "match", "now"] + locals { known = jv_object_set(known, jv_string(name), jv_null()) }
        tearDown(try compile(text, arguments: known))
    }

    /// - Parameter arguments: An object. Consumed; its values are shared, not copied.
    private static func compile(_ text: [UInt8], arguments: jv) throws(JQCompileError) -> OpaquePointer {
        guard let state = jq_init() else {
            jv_free(arguments)
            throw JQCompileError(message: "out of memory")
        }
        let messages = CompileMessages()
        let reference = Unmanaged.passUnretained(messages)
        jq_set_error_cb(
            state,
            { reference, message in
                guard let reference else { return jv_free(message) }
                Unmanaged<CompileMessages>.fromOpaque(reference).takeUnretainedValue().add(message)
            }, reference.toOpaque())
        // Modules are not searched anywhere. Without these attributes, jq 1.6 aborts at an `import`.
        jq_set_attr(state, jv_string("JQ_LIBRARY_PATH"), jv_array())
        jq_set_attr(state, jv_string("JQ_ORIGIN"), jv_string("/"))
        jq_set_attr(state, jv_string("PROGRAM_ORIGIN"), jv_string("/"))
        let terminated = text.map { CChar(bitPattern: $0) } + [0]
        let compiled = withExtendedLifetime(messages) { jq_compile_args(state, terminated, arguments) }
        jq_set_error_cb(state, { _, message in jv_free(message) }, nil)
        guard compiled != 0 else {
            tearDown(state)
            throw messages.first ?? JQCompileError(message: "jq rejected the program")
        }
        return state
    }

    private static func tearDown(_ state: OpaquePointer?) {
        var state = state
        if state != nil { jq_teardown(&state) }
    }
}

/// Keeps the first message of a compilation.
private final class CompileMessages {
    private(set) var first: JQCompileError?

    func add(_ message: jv) {
        let formatted = jq_format_error(message)
        defer { jv_free(formatted) }
        guard first == nil, jv_get_kind(formatted) == JV_KIND_STRING else { return }
        first = JQCompileError(jqMessage: string(formatted))
    }
}

/// The content of a jq string, which is not consumed.
func string(_ value: jv) -> String {
    let count = Int(jv_string_length_bytes(jv_copy(value)))
    return String(
        decoding: UnsafeRawBufferPointer(start: jv_string_value(value), count: count), as: UTF8.self)
}
