internal import CPCRE2
internal import LosslessJSON

/// A compiled pattern. Pattern and subject are bytes: no UTF mode, as in CouchDB.
///
/// - Note: Source: CouchDB 3.5 `mango_selector` (`re:run` without options).
final class RegularExpression: @unchecked Sendable {
    struct Fault: Error {
        let message: String
        /// Bytes of the pattern before the place.
        let offset: Int
    }

    let pattern: String
    /// Immutable once compiled; PCRE2 lets any number of threads match with it.
    private let code: OpaquePointer

    init(_ pattern: String) throws(Fault) {
        self.pattern = pattern
        let context = pcre2_compile_context_create_8(nil)
        defer { pcre2_compile_context_free_8(context) }
        pcre2_set_newline_8(context, UInt32(PCRE2_NEWLINE_LF))
        pcre2_set_bsr_8(context, UInt32(PCRE2_BSR_UNICODE))
        var status: Int32 = 0
        var offset = 0
        let bytes = Array(pattern.utf8)
        guard let code = pcre2_compile_8(bytes, bytes.count, 0, &status, &offset, context) else {
            throw Fault(message: Self.message(for: status), offset: offset)
        }
        self.code = code
        // Where there is no JIT for a pattern, the interpreter does it.
        pcre2_jit_compile_8(code, UInt32(PCRE2_JIT_COMPLETE))
    }

    deinit { pcre2_code_free_8(code) }

    /// Whether the pattern is found in a string; false for all other values. Allocates only to resolve escapes.
    ///
    /// - Throws: ``MatchFault/regexLimit(pattern:)``; CouchDB says false there.
    func matches(_ value: JSONValue, _ scratch: MatchScratch) throws(MatchFault) -> Bool {
        guard value.kind == .string else { return false }
        let status: Int32
        if value.isEscaped {
            let characters = value.utf8 ?? []
            status = search(characters.span, scratch)
        } else {
            status = value.withRawContent { search($0, scratch) }
        }
        if status >= 0 { return true }
        if status == PCRE2_ERROR_NOMATCH { return false }
        throw .regexLimit(pattern: pattern)
    }

    /// PCRE2's status.
    private func search(_ subject: Span<UInt8>, _ scratch: MatchScratch) -> Int32 {
        subject.withUnsafeBufferPointer { subject in
            pcre2_match_8(code, subject.baseAddress, subject.count, 0, 0, scratch.matchData, scratch.matchContext)
        }
    }

    private static func message(for status: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = pcre2_get_error_message_8(status, &buffer, buffer.count)
        return String(decoding: buffer.prefix(Int(max(0, count))), as: UTF8.self)
    }
}

/// Why a selector gives no answer for a document: an error of the decision, never a plain "does not match".
enum MatchFault: Error, Equatable, CustomStringConvertible {
    case regexLimit(pattern: String)
    case divisionByZero

    var description: String {
        switch self {
        case .regexLimit(let pattern):
            "the regular expression '\(pattern)' tried \(MatchScratch.matchLimit) ways and was stopped; "
                + "make it less ambiguous"
        case .divisionByZero: "$mod can't divide by 0"
        }
    }
}

/// What matching writes to: one for each task, never shared.
final class MatchScratch {
    /// PCRE2's and Erlang's default.
    static let matchLimit: UInt32 = 10_000_000

    /// No capture is ever read, so one pair of offsets is enough for every pattern.
    let matchData = pcre2_match_data_create_8(1, nil)
    let matchContext = pcre2_match_context_create_8(nil)
    private let stack = pcre2_jit_stack_create_8(32 << 10, 1 << 20, nil)

    init() {
        pcre2_set_match_limit_8(matchContext, Self.matchLimit)
        pcre2_jit_stack_assign_8(matchContext, nil, UnsafeMutableRawPointer(stack))
    }

    deinit {
        pcre2_jit_stack_free_8(stack)
        pcre2_match_context_free_8(matchContext)
        pcre2_match_data_free_8(matchData)
    }
}
