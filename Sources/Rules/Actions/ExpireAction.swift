internal import Encodings
internal import LosslessJSON

/// Sets when Sync Gateway removes the document (`_exp`), or removes its expiry.
///
/// A duration counts from now, and applies only to documents without an expiry. Setting it at each change would cause a
/// write at each change, and that write is again a change. A time is set whenever the document has a different one.
struct ExpireAction: Action {
    static let name = "expire"
    static let synonyms = ["_exp", "exp", "expiry", "ttl", "expires"]

    private enum NewExpiry: Sendable {
        /// In seconds.
        case after(Int)
        /// In seconds since 1970.
        case at(Int)
        case never
    }

    private static let removal = "never"
    private static let units = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    /// 100 years.
    private static let maxSeconds = 36_525 * 86_400
    private static let place = JSONPointer(tokens: [DocumentExpiry.member])
    private static let remedy = TimeReading.Limits.writtenExpiry.textRemedy

    private let literal: NewExpiry?
    private let computed: Template?

    /// Reads `expire: 30d`, `expire: 2027-01-31T00:00:00Z`, `expire: never` or `expire: { jq: PROGRAM }`. Nil, with an
    /// error, for anything else.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        if let program = node.computation?.program {
            if let date = TimeReading.bareDate(program) {
                reading.errors.report(
                    at: program.position,
                    "'expire' has a jq program, in which \(date) is not a date; write the date without a program: "
                        + "expire: \(date)")
                return nil
            }
            guard let template = Template(node, reading) else { return nil }
            (literal, computed) = (nil, template)
            return
        }
        switch node.content {
        case .string(let text):
            switch Self.newExpiry(text, .writtenExpiry) {
            case .success(let newExpiry): (literal, computed) = (newExpiry, nil)
            case .failure(let refusal):
                let reason = Self.mistake(text) ?? refusal.reason
                reading.errors.report(at: node.position, "'expire' is '\(DisplayText.plain(text))', \(reason)")
                return nil
            }
        case .number(let digits):
            let reason = Self.mistake(digits) ?? "which is not a time; \(Self.remedy)"
            reading.errors.report(at: node.position, "'expire' is \(digits), \(reason)")
            return nil
        default:
            reading.errors.reportKind(of: node, "'expire' must be text, or { jq: PROGRAM }", remedy: Self.remedy)
            return nil
        }
    }

    /// What is probably meant by a value that is not a time: a number without a unit, or a program. Nil if nothing.
    private static func mistake(_ text: String) -> String? {
        if let date = TimeReading.date(ofSeconds: text, .expiry) {
            return "which is a number of seconds or milliseconds since 1970; write the date: \(date)"
        }
        if let number = Int(text), number > 0 {
            return "a number without a unit; write \(number)d for days, or \(number)h, \(number)m or \(number)s"
        }
        guard ForgottenProgram.isProgram(text) else { return nil }
        return "which is plain text, not a program; write expire: { jq: '\(DisplayText.plain(text))' }"
    }

    var programs: [Int] { computed?.programs ?? [] }

    var setsExpiry: Bool { true }

    /// Whether the document expires at a date, which is set again whenever the document has another expiry.
    var setsDate: Bool { if case .at? = literal { true } else { computed != nil } }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        guard let newExpiry = try newExpiry(outputs) else { return }
        let current = draft.document.root[DocumentExpiry.member].flatMap { $0.kind == .null ? nil : $0 }
        do throws(JSONEditError) {
            switch newExpiry {
            case .never: if current != nil { draft.document = try draft.document.removing(Self.place) }
            case .after(let seconds): if current == nil { try set(draft.now + seconds, in: &draft) }
            case .at(let time): if current?.expiry(now: draft.now) != time { try set(time, in: &draft) }
            }
        } catch {
            throw ActionError(error)
        }
    }

    private func set(_ time: Int, in draft: inout Draft) throws(JSONEditError) {
        var writer = JSONWriter()
        writer.string(Timestamp.text(min(time, DocumentExpiry.last)))
        draft.document = try draft.document.setting(Self.place, to: writer.bytes)
    }

    /// Nil if the program gives nothing, null or false: the expiry stays as it is.
    private func newExpiry(_ outputs: [[JSONText]]) throws(ActionError) -> NewExpiry? {
        guard let computed else { return literal }
        guard let value = try computed.value(outputs, of: "expire"), value.root.kind != .false else { return nil }
        let newExpiry: Result<NewExpiry, Refusal> =
            value.root.string.map { Self.newExpiry($0, .expiry) } ?? Self.time(TimeReading(value.root, .expiry))
        switch newExpiry {
        case .success(let newExpiry): return newExpiry
        case .failure(let refusal):
            throw .failed("expire: the program gives \(value.excerpt), \(refusal.reason)")
        }
    }

    /// Why a value is not a time. Follows the value.
    private struct Refusal: Error {
        let reason: String
    }

    private static func newExpiry(_ text: String, _ limits: TimeReading.Limits) -> Result<NewExpiry, Refusal> {
        if text == removal { return .success(.never) }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        if let number = Int(digits), let unit = units[String(text.dropFirst(digits.count))] {
            guard (1...maxSeconds / unit).contains(number) else {
                return .failure(
                    Refusal(reason: "which is not between 1s and 100 years; write a time from now such as 30d"))
            }
            return .success(.after(number * unit))
        }
        return time(TimeReading(text: text, limits))
    }

    private static func time(_ reading: TimeReading) -> Result<NewExpiry, Refusal> {
        switch reading {
        case .time(let time): .success(.at(time))
        case .refused(let reason): .failure(Refusal(reason: reason))
        }
    }
}

// MARK: - Checks

extension ExpireAction {
    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        let edit: RulePrediction.Edit =
            argument.isComputed ? .unknown : argument.text == Self.removal ? .removed : .attached
        prediction.edits.append(([DocumentExpiry.member], edit))
    }

    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: LocatedWrite.Kind)] {
        [(element.position, .expiry)]
    }
}

extension JSONValue {
    /// The time that an `_exp` names, in seconds since 1970.
    fileprivate func expiry(now: Int) -> Int? {
        if let text = string { return DocumentExpiry.time(ofText: text, now: now) }
        guard kind == .number, let number = Double(String(decoding: bytes, as: UTF8.self)) else { return nil }
        return DocumentExpiry.time(ofNumber: number, now: now)
    }
}

extension Rule {
    /// Whether its selectors name `_exp`, which appears neither in the feed nor in a list of documents.
    var testsExpiry: Bool { when.names(DocumentExpiry.member) || unless?.names(DocumentExpiry.member) == true }
}

extension Selector {
    /// Whether the selector has a condition on this member of the document, or on a value inside it.
    fileprivate func names(_ member: String) -> Bool {
        switch self {
        case .all(let selectors), .any(let selectors), .none(let selectors): selectors.contains { $0.names(member) }
        case .not(let selector): selector.names(member)
        case .field(let path, _): path.steps.first.map { $0.name.elementsEqual(member.utf8) } ?? false
        case .value: false
        }
    }
}
