internal import CPCRE2
internal import LosslessJSON

/// A compiled pattern. Pattern and subject are bytes: no UTF mode, as in CouchDB.
///
/// - Note: Source: CouchDB 3.5 `mango_selector` (`re:run` without options).
final class RegularExpression: @unchecked Sendable {
    struct CompileError: Error {
        let message: String
        /// The position in the pattern, in bytes.
        let offset: Int
    }

    let pattern: String
    /// Immutable once compiled; PCRE2 lets any number of threads match with it.
    private let code: OpaquePointer

    init(_ pattern: String) throws(CompileError) {
        self.pattern = pattern
        let context = pcre2_compile_context_create_8(nil)
        defer { pcre2_compile_context_free_8(context) }
        pcre2_set_newline_8(context, UInt32(PCRE2_NEWLINE_LF))
        pcre2_set_bsr_8(context, UInt32(PCRE2_BSR_UNICODE))
        var status: Int32 = 0
        var offset = 0
        let bytes = Array(pattern.utf8)
        guard let plain = pcre2_compile_8(bytes, bytes.count, 0, &status, &offset, context) else {
            throw CompileError(message: Self.message(for: status), offset: offset)
        }
        let timed = Self.isTimed(bytes) ? Self.callout + bytes : []
        if let code = pcre2_compile_8(timed, timed.count, 0, &status, &offset, context), !timed.isEmpty {
            pcre2_code_free_8(plain)
            self.code = code
        } else {
            self.code = plain
        }
        // Patterns without JIT support run in the interpreter. All patterns do if the system forbids memory that is
        // both writable and executable, as systemd does with MemoryDenyWriteExecute=.
        pcre2_jit_compile_8(code, UInt32(PCRE2_JIT_COMPLETE))
    }

    /// Whether the pattern runs as machine code instead of in the interpreter.
    var isMachineCode: Bool {
        var size = 0
        return pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_JITSIZE), &size) == 0 && size > 0
    }

    deinit { pcre2_code_free_8(code) }

    /// Prefix of a pattern that makes PCRE2 call ``MatchClock`` at each start position. The match limit applies only to
    /// a single start position, and a text has many.
    private static let callout = Array("(?C1)".utf8)

    /// Settings such as `(*UTF)` must come first in a pattern. Such patterns are matched without a time limit.
    private static func isTimed(_ pattern: [UInt8]) -> Bool { !pattern.starts(with: "(*".utf8) }

    /// Whether the pattern is found in a string. False for other values. Allocates only to resolve escapes.
    ///
    /// - Throws: ``MatchError/regexLimit(pattern:)``, where CouchDB reports no match.
    ///   ``MatchError/regexMemory(pattern:)`` and ``MatchError/regexTime(pattern:)``, where CouchDB has no limit.
    func matches(_ value: JSONValue, _ scratch: MatchScratch) throws(MatchError) -> Bool {
        guard value.kind == .string else { return false }
        let status: Int32
        if value.isEscaped {
            let characters = value.utf8 ?? []
            status = search(characters.span, scratch)
        } else {
            status = value.withRawContent { search($0, scratch) }
        }
        if status >= 0 { return true }
        switch status {
        case PCRE2_ERROR_NOMATCH: return false
        case PCRE2_ERROR_HEAPLIMIT, PCRE2_ERROR_NOMEMORY, PCRE2_ERROR_JIT_STACKLIMIT:
            throw .regexMemory(pattern: pattern)
        case PCRE2_ERROR_CALLOUT: throw .regexTime(pattern: pattern)
        default: throw .regexLimit(pattern: pattern)
        }
    }

    /// - Returns: PCRE2's status.
    private func search(_ subject: Span<UInt8>, _ scratch: MatchScratch) -> Int32 {
        subject.withUnsafeBufferPointer { subject in
            let status = match(subject, 0, scratch.matchData, scratch)
            guard status == PCRE2_ERROR_JIT_STACKLIMIT else { return status }
            // Separate match data, so that the interpreter's allocations are freed afterwards: they may be a thousand
            // times larger than usual.
            let matchData = pcre2_match_data_create_8(1, nil)
            defer { pcre2_match_data_free_8(matchData) }
            return match(subject, UInt32(PCRE2_NO_JIT), matchData, scratch)
        }
    }

    private func match(
        _ subject: UnsafeBufferPointer<UInt8>, _ options: UInt32, _ matchData: OpaquePointer?, _ scratch: MatchScratch
    ) -> Int32 {
        scratch.clock.reset()
        return pcre2_match_8(code, subject.baseAddress, subject.count, 0, options, matchData, scratch.matchContext)
    }

    /// All named groups with the text that each matched, sorted by name. Nil if the pattern is not found.
    ///
    /// The caller must repair invalid UTF-8: a pattern on bytes may cut a character.
    func namedGroups(in value: JSONValue, _ scratch: MatchScratch) -> [(name: String, text: [UInt8]?)]? {
        guard let subject = value.utf8 else { return nil }
        let names = names
        guard !names.isEmpty else { return [] }
        let matchData = pcre2_match_data_create_from_pattern_8(code, nil)
        defer { pcre2_match_data_free_8(matchData) }
        let status = subject.withUnsafeBufferPointer { subject in
            // Compiled code has a stack of fixed size; the interpreter can use memory up to the heap limit.
            let status = match(subject, 0, matchData, scratch)
            return status == PCRE2_ERROR_JIT_STACKLIMIT
                ? match(subject, UInt32(PCRE2_NO_JIT), matchData, scratch) : status
        }
        guard status > 0 else { return nil }
        let pairs = pcre2_get_ovector_count_8(matchData)
        guard let places = pcre2_get_ovector_pointer_8(matchData) else { return nil }
        return names.map { name, group in
            guard group < Int(pairs) else { return (name, nil) }
            let (start, end) = (places[2 * group], places[2 * group + 1])
            // A group that did not participate has the offset PCRE2_UNSET: all bits set.
            guard start >= 0, start <= end, end <= subject.count else { return (name, nil) }
            return (name, Array(subject[start..<end]))
        }
    }

    /// The names of its groups, sorted.
    var groupNames: [String] { names.map(\.name) }

    /// The named groups with their numbers, sorted by name.
    private var names: [(name: String, group: Int)] {
        var count: UInt32 = 0
        var entrySize: UInt32 = 0
        var table: UnsafePointer<UInt8>?
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_NAMECOUNT), &count)
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_NAMEENTRYSIZE), &entrySize)
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_NAMETABLE), &table)
        guard let table else { return [] }
        // Each table entry is the group's number, high byte first, and its name with a NUL.
        return (0..<Int(count)).map { index in
            let entry = table + index * Int(entrySize)
            return (String(cString: entry + 2), Int(entry[0]) << 8 | Int(entry[1]))
        }
    }

    private static func message(for status: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = pcre2_get_error_message_8(status, &buffer, buffer.count)
        return String(decoding: buffer.prefix(Int(max(0, count))), as: UTF8.self)
    }
}

/// Why a selector can't be evaluated for a document: an error of the decision, not a mismatch.
enum MatchError: Error, Equatable, CustomStringConvertible {
    case regexLimit(pattern: String)
    case regexMemory(pattern: String)
    case regexTime(pattern: String)
    case divisionByZero

    var description: String {
        switch self {
        case .regexLimit(let pattern):
            "the regular expression '\(pattern)' needed more than \(MatchScratch.matchLimit) steps and was stopped; "
                + "make it less ambiguous"
        case .regexMemory(let pattern):
            "the regular expression '\(pattern)' needs more than \(MatchScratch.heapLimit >> 20) MiB of memory for this "
                + "document and was stopped; make it less ambiguous"
        case .regexTime(let pattern):
            "the regular expression '\(pattern)' took longer than \(MatchClock.limit) for this document and was stopped; "
                + "make it less ambiguous"
        case .divisionByZero: "$mod can't divide by 0"
        }
    }
}

/// Buffers for matching: one per task, never shared.
final class MatchScratch {
    /// The default of PCRE2 and of Erlang.
    static let matchLimit: UInt32 = 10_000_000
    /// The maximum number of bytes that PCRE2's interpreter may allocate for one match: some hundred bytes for each
    /// alternative that it has not tried yet.
    static let heapLimit = 64 << 20

    /// Captures are not read, so one pair of offsets suffices for every pattern.
    let matchData = pcre2_match_data_create_8(1, nil)
    let matchContext = pcre2_match_context_create_8(nil)
    let clock = MatchClock()
    private let stack = pcre2_jit_stack_create_8(32 << 10, 1 << 20, nil)

    init() {
        clock.watch(matchContext)
        pcre2_set_match_limit_8(matchContext, Self.matchLimit)
        pcre2_set_heap_limit_8(matchContext, UInt32(Self.heapLimit >> 10))
        pcre2_jit_stack_assign_8(matchContext, nil, UnsafeMutableRawPointer(stack))
    }

    deinit {
        pcre2_jit_stack_free_8(stack)
        pcre2_match_context_free_8(matchContext)
        pcre2_match_data_free_8(matchData)
    }
}
