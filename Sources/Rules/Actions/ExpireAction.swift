internal import Encodings
internal import LosslessJSON

/// Sets when Sync Gateway removes the document (`_exp`), or removes its expiry.
///
/// A duration counts from now, and applies only to documents without an expiry. Setting it at each change would cause a
/// write at each change, and that write is again a change. A time is set whenever the document has a different one.
struct ExpireAction: Action {
    static let name = "expire"
    static let synonyms = ["_exp", "exp", "expiry", "ttl", "expires"]

    fileprivate enum NewExpiry: Sendable {
        /// In seconds.
        case after(Int)
        /// In seconds since 1970.
        case at(Int)
        case never
    }

    private static let removal = "never"
    private static let units = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    /// 100 years.
    private static let longest = 36_525 * 86_400
    private static let place = JSONPointer(tokens: [DocumentExpiry.member])
    private static let remedy = "write a time from now (30d, 12h), a date (2027-01-31T00:00:00Z), or never"

    private let literal: NewExpiry?
    private let computed: Template?

    /// Reads `expire: 30d`, `expire: 2027-01-31T00:00:00Z`, `expire: never` or `expire: { jq: PROGRAM }`. Nil, with an
    /// error, for anything else.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        if node.isComputed {
            guard let template = Template(node, reading) else { return nil }
            (literal, computed) = (nil, template)
            return
        }
        guard let text = node.text else {
            reading.errors.reportKind(of: node, "'expire' must be text, or { jq: PROGRAM }", remedy: Self.remedy)
            return nil
        }
        guard let newExpiry = Self.newExpiry(text) else {
            reading.errors.report(at: node.position, "'expire' is '\(text)', which is not a time; \(Self.remedy)")
            return nil
        }
        if let reason = newExpiry.impossible {
            reading.errors.report(at: node.position, "'expire' is '\(text)', \(reason)")
            return nil
        }
        (literal, computed) = (newExpiry, nil)
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
        var newExpiry = value.root.string.flatMap(Self.newExpiry)
        if value.root.kind == .number, let number = Double(String(decoding: value.bytes, as: UTF8.self)) {
            guard number.magnitude < 1e15 else { throw .failed("expire: \(value.excerpt) seconds is not a time") }
            newExpiry = .at(Int(number.rounded(.up)))
        }
        guard let newExpiry else {
            throw .failed(
                "expire: the program gives \(value.excerpt), which is not a time; it must give seconds since 1970, a "
                    + "date, a time from now such as \"30d\", or \"never\"")
        }
        if let reason = newExpiry.impossible { throw .failed("expire: the program gives \(value.excerpt), \(reason)") }
        return newExpiry
    }

    private static func newExpiry(_ text: String) -> NewExpiry? {
        if text == removal { return .never }
        if let date = try? ISODate(text) { return .at(date.secondsRoundedUp) }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), let unit = units[String(text.dropFirst(digits.count))],
            (1...longest / unit).contains(number)
        else { return nil }
        return .after(number * unit)
    }
}

extension ExpireAction.NewExpiry {
    /// Why no document can expire at this time. Nil if one can.
    fileprivate var impossible: String? {
        guard case .at(let time) = self else { return nil }
        if time > DocumentExpiry.last {
            return "which is after 2106-02-07, the last time that Sync Gateway can store; seconds since 1970 are "
                + "expected, so divide milliseconds by 1000"
        }
        if time <= DocumentExpiry.longestRelative {
            return "which is 1970 or before; for a time from now, write it as text with its unit: 30d, 12h"
        }
        return nil
    }
}

// MARK: - Checks

extension ExpireAction {
    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        let touch: RulePrediction.Touch =
            argument.isComputed ? .unknown : argument.text == Self.removal ? .removed : .attached
        prediction.touched.append(([DocumentExpiry.member], touch))
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
