internal import CJQ

/// A program, compiled, in the process that runs it.
///
/// The program's text stands within one of ours, on its first line, so that jq's line numbers are right. What a program
/// could read beside its document and its variables is defined again: the clock gives `$now`, the rest fails.
final class CompiledProgram {
    /// How a run ended.
    enum Ending {
        case finished
        case failed(String)
        case tooMuchOutput
    }

    static let environmentMessage = "a program can't read the environment"

    private var state: OpaquePointer?
    private let namesEnvironment: Bool

    /// - Parameter bindings: An object: what the program knows by a name. Not consumed.
    /// - Throws: what jq says first.
    init(_ text: [UInt8], _ bindings: jv) throws(JQCompileFault) {
        guard !text.contains(0) else { throw JQCompileFault(message: "the program holds a NUL character") }
        // Alone first: what ends our parenthesis early is no program, and messages show the program's own text.
        var known = jv_copy(bindings)
        for name in ["change", "match", "now"] { known = jv_object_set(known, jv_string(name), jv_null()) }
        let bare = try Self.compile(text, arguments: known)
        Self.tearDown(bare)
        namesEnvironment = String(decoding: text, as: UTF8.self).contains("$ENV")
        do throws(JQCompileFault) {
            state = try Self.compile(Self.opening + text + Array("\n)".utf8), arguments: jv_copy(bindings))
        } catch {
            // Nothing but definitions, or nothing at all, stands for `.`.
            state = try Self.compile(Self.opening + text + Array("\n.)".utf8), arguments: jv_copy(bindings))
        }
    }

    deinit { Self.tearDown(state) }

    /// Runs the program over `[document, change, match, now]`, which it consumes.
    ///
    /// - Parameter output: Gets the text of each output; false ends the run.
    func run(_ input: jv, output: (UnsafeRawBufferPointer) -> Bool) -> Ending {
        jq_start(state, input, 0)
        while true {
            let result = jq_next(state)
            guard jv_get_kind(result) != JV_KIND_INVALID else { return ending(result) }
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
        var message = jv_invalid_get_msg(result)
        if jv_get_kind(message) != JV_KIND_STRING { message = jv_dump_string(message, 0) }
        defer { jv_free(message) }
        let text = string(message)
        let explains = namesEnvironment && (text.hasPrefix("Cannot index string") || text.contains("\"a program "))
        return .failed(explains ? "\(Self.environmentMessage) ($ENV): \(text)" : text)
    }
}

// MARK: - Compiling

extension CompiledProgram {
    /// `$ENV` is bound to a string, so that `$ENV.NAME` is an error.
    private static let opening: [UInt8] = {
        let refused = [
            "env": environmentMessage, "halt": "a program can't halt", "halt_error": "a program can't halt",
            "halt_error($code)": "a program can't halt", "input": "a program has one document: there is no input",
            "inputs": "a program has one document: there is no input", "modulemeta": "a program can't use modules",
            "input_filename": "a program has no input file", "input_line_number": "a program has no input file",
            "get_search_list": "a program can't use modules",
        ]
        // Digits in a text are a number that jq may round; a null is no reason for jq 1.6 to fail.
        let inexact = "a text with more digits than jq can hold exactly is no number here"
        let mended =
            "def __tonumber: tonumber; def tonumber: if type == \"string\" and length > 15 then error(\"\(inexact)\") else __tonumber end; "
            + "def __fromjson: fromjson; def fromjson: if type == \"string\" and test(\"[0-9.]{16}\") then error(\"\(inexact)\") else __fromjson end; "
            + "def __error($m): error($m); def error($m): __error(if $m == null then \"null\" else $m end); def error: error(.); "
        let definitions = mended + refused.map { "def \($0): error(\"\($1)\");" }.sorted().joined(separator: " ")
        return Array(
            (". as [$__document, $change, $match, $now] | \"\(environmentMessage)\" as $ENV | def now: $now; def debug: .; def debug($_): .; def stderr: .; "
                + definitions + " $__document | (").utf8)
    }()

    /// - Parameter arguments: An object, which it consumes. Its values are shared, not copied.
    private static func compile(_ text: [UInt8], arguments: jv) throws(JQCompileFault) -> OpaquePointer {
        guard let state = jq_init() else {
            jv_free(arguments)
            throw JQCompileFault(message: "out of memory")
        }
        let messages = CompileMessages()
        let reference = Unmanaged.passUnretained(messages)
        jq_set_error_cb(
            state,
            { reference, message in
                guard let reference else { return jv_free(message) }
                Unmanaged<CompileMessages>.fromOpaque(reference).takeUnretainedValue().add(message)
            }, reference.toOpaque())
        // Where modules would be looked for: nowhere. Without these, jq 1.6 aborts at an `import`.
        jq_set_attr(state, jv_string("JQ_LIBRARY_PATH"), jv_array())
        jq_set_attr(state, jv_string("JQ_ORIGIN"), jv_string("/"))
        jq_set_attr(state, jv_string("PROGRAM_ORIGIN"), jv_string("/"))
        let terminated = text.map { CChar(bitPattern: $0) } + [0]
        let compiled = withExtendedLifetime(messages) { jq_compile_args(state, terminated, arguments) }
        jq_set_error_cb(state, { _, message in jv_free(message) }, nil)
        guard compiled != 0 else {
            tearDown(state)
            throw messages.first ?? JQCompileFault(message: "jq refuses the program")
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
    private(set) var first: JQCompileFault?

    func add(_ message: jv) {
        let formatted = jq_format_error(message)
        defer { jv_free(formatted) }
        guard first == nil, jv_get_kind(formatted) == JV_KIND_STRING else { return }
        first = JQCompileFault(jqMessage: string(formatted))
    }
}

/// The characters of a string. Does not consume it.
private func string(_ value: jv) -> String {
    let count = Int(jv_string_length_bytes(jv_copy(value)))
    return String(
        decoding: UnsafeRawBufferPointer(start: jv_string_value(value), count: count), as: UTF8.self)
}
