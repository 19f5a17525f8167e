internal import CJQ

/// A compiled program, in the process that runs it. ``ProgramWrapper`` says what jq compiles.
final class CompiledProgram {
    /// How a run ended.
    enum Ending {
        case finished
        case failed(String)
        /// An output contains a number that is not finite: which number, and where.
        case notFinite(String)
        case tooMuchOutput
    }

    private let compiled: CompiledText
    /// Its number in a text with several programs.
    private let number: Int?
    private let namesEnvironment: Bool

    private init(_ source: ProgramSource, _ compiled: CompiledText, number: Int? = nil) {
        (self.compiled, self.number) = (compiled, number)
        namesEnvironment = source.contains("$ENV")
    }

    /// Compiles a program that has passed ``check(_:_:)``, as all programs of rule files have.
    ///
    /// - Parameter bindings: An object with the variables' values by name. Not consumed.
    /// - Throws: The first error that jq reports.
    convenience init(_ source: ProgramSource, _ bindings: jv) throws(JQCompileError) {
        guard !source.text.contains(0) else { throw Self.nulError }
        let compiled: CompiledText
        do throws(JQCompileError) {
            compiled = try CompiledText(ProgramWrapper.text(of: source), arguments: jv_copy(bindings))
        } catch {
            // Error messages must show the program's own text.
            try Self.compileAlone(source.text, bindings, locals: source.locals)
            // A program that is empty, or only defines functions, means `.`.
            compiled = try CompiledText(ProgramWrapper.text(of: source, end: "."), arguments: jv_copy(bindings))
        }
        self.init(source, compiled)
    }

    /// Compiles several programs as one text. They must have passed ``check(_:_:)``.
    ///
    /// - Throws: An error that may not refer to the program's own text. Then compile each program alone.
    static func together(_ sources: [ProgramSource], _ bindings: jv) throws(JQCompileError) -> [CompiledProgram] {
        guard !sources.contains(where: { $0.text.contains(0) }) else { throw nulError }
        let compiled = try CompiledText(ProgramWrapper.text(of: sources), arguments: jv_copy(bindings))
        return sources.enumerated().map { CompiledProgram($1, compiled, number: $0) }
    }

    /// Runs the program over `[document, change, match, now]`, which it consumes. With local variables, the first
    /// element is a list of the document and an object of their values.
    ///
    /// - Parameter output: Receives the text of each output; returning false ends the run.
    func run(_ input: jv, output: (UnsafeRawBufferPointer) -> Bool) -> Ending {
        let state = compiled.state
        jq_start(state, number.map { jv_array_append(input, jv_number(Double($0))) } ?? input, 0)
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
        guard jq_halted(compiled.state) == 0 else {
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
        return .failed(explains ? "\(ProgramWrapper.environmentMessage) ($ENV): \(text)" : text)
    }
}

// MARK: - Compiling

extension CompiledProgram {
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
            _ = try CompiledProgram(ProgramSource(text: program, locals: []), bindings)
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
        _ = try CompiledText(text, arguments: known)
    }
}
