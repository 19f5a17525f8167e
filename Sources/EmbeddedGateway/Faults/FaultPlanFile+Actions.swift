internal import LosslessJSON

/// The names of the actions in a fault file.
enum FaultActionName: String, CaseIterable {
    case latency, slice, cut, drop, status, hang
    case heartbeatsOnly = "heartbeats_only"
    case lastSequenceEarly = "last_seq_early"
    case duplicate, reorder, rewind
    case sessionExpired = "session_expired"
    case refuseDocuments = "refuse_documents"
    case reset, offline

    /// The only kind of request that it applies to. Nil for all.
    var onlyKind: RequestKind? {
        switch self {
        case .heartbeatsOnly, .lastSequenceEarly, .duplicate, .reorder, .rewind: .changes
        case .refuseDocuments: .bulkDocuments
        default: nil
        }
    }

    /// Whether it happens once by default.
    var isOnce: Bool { self == .reset || self == .offline }
}

extension FaultPlanFile {
    func action(_ word: FaultActionName, _ value: JSONValue) throws(FaultPlanMistake) -> FaultAction {
        let what = "\"\(word.rawValue)\""
        switch word {
        case .latency: return .latency(try range(value, what, milliseconds))
        case .slice: return try slice(value)
        case .cut:
            return .cut(try range(value, what) { value, what throws(FaultPlanMistake) in try number(value, what) })
        case .drop: return try drop(value)
        case .status: return .status(try status(value))
        case .heartbeatsOnly: return .heartbeatsOnly(try pause(value, what))
        case .lastSequenceEarly: return .lastSequenceEarly(try number(value, what, from: 1))
        case .duplicate: return .duplicate(try share(value, what))
        case .reorder: return .reorder(try number(value, what, from: 2))
        case .rewind: return .rewind(try number(value, what, from: 1))
        case .refuseDocuments: return .refuseDocuments(try refusal(value))
        case .offline: return .offline(try time(value, what))
        case .hang, .sessionExpired, .reset:
            try flag(value, what)
            return word == .hang ? .hang : word == .reset ? .reset : .sessionExpired
        }
    }

    /// Reads one value, or a list of the lowest and the highest value.
    private func range(
        _ value: JSONValue, _ what: String, _ read: (JSONValue, String) throws(FaultPlanMistake) -> Int
    ) throws(FaultPlanMistake) -> ClosedRange<Int> {
        guard value.kind == .array else {
            let bound = try read(value, what)
            return bound...bound
        }
        guard value.childCount == 2, let first = value.element(0), let last = value.element(1) else {
            throw error("\(what) must be one value, or a list [LOWEST, HIGHEST]", at: value)
        }
        let (lowest, highest) = (try read(first, what), try read(last, what))
        guard lowest <= highest else { throw error("\(what): the lowest value comes first", at: value) }
        return lowest...highest
    }

    private func milliseconds(_ value: JSONValue, _ what: String) throws(FaultPlanMistake) -> Int {
        _ = try time(value, what)
        return value.string.flatMap(FaultTime.milliseconds) ?? 0
    }

    private func pause(_ value: JSONValue, _ what: String) throws(FaultPlanMistake) -> Duration {
        let pause = try time(value, what)
        guard pause > .zero else { throw error("\(what) must be longer than 0ms", at: value) }
        return pause
    }

    private func slice(_ value: JSONValue) throws(FaultPlanMistake) -> FaultAction {
        guard value.kind == .object else {
            return .slice(bytes: try number(value, "\"slice\"", from: 1), pause: .zero)
        }
        try checkMembers(of: value, ["bytes", "pause"], "\"slice\"")
        guard let bytes = value["bytes"] else { throw error("\"bytes\" is missing, the size of a piece", at: value) }
        let pause = try value["pause"].map { value throws(FaultPlanMistake) in try time(value, "\"pause\"") }
        return .slice(bytes: try number(bytes, "\"bytes\"", from: 1), pause: pause ?? .zero)
    }

    private func drop(_ value: JSONValue) throws(FaultPlanMistake) -> FaultAction {
        switch value.string {
        case "before": return .dropBefore
        case "after": return .dropAfter
        default:
            throw error("\"drop\" must be \"before\" or \"after\": before or after the request is processed", at: value)
        }
    }

    private func status(_ value: JSONValue) throws(FaultPlanMistake) -> StatusFault {
        guard value.kind == .object else { return StatusFault(code: try code(value)) }
        try checkMembers(of: value, ["code", "retry_after", "body", "content_type"], "\"status\"")
        guard let code = value["code"] else { throw error("\"code\" is missing, such as 503", at: value) }
        var status = StatusFault(code: try self.code(code))
        if let seconds = value["retry_after"] { status.retryAfter = try number(seconds, "\"retry_after\"") }
        if let body = value["body"] {
            guard let text = body.string else { throw error("\"body\" must be a string", at: body) }
            status.body = text
        }
        if let type = value["content_type"] {
            guard status.body != nil else { throw error("\"content_type\" needs a \"body\"", at: type) }
            status.contentType = try string(type, "\"content_type\"")
        }
        return status
    }

    /// 1xx, 204, 205 and 304 are refused: they have no body, and a client would read the body as the next answer.
    private func code(_ value: JSONValue) throws(FaultPlanMistake) -> Int {
        guard let code = value.integer, (200...599).contains(code), ![204, 205, 304].contains(code) else {
            throw error("a status is a number from 200 to 599, but not 204, 205 or 304", at: value)
        }
        return code
    }

    private func refusal(_ value: JSONValue) throws(FaultPlanMistake) -> RefusalFault {
        guard value.kind == .object else { return RefusalFault(share: try share(value, "\"refuse_documents\"")) }
        try checkMembers(of: value, ["share", "status", "reason"], "\"refuse_documents\"")
        var refusal = RefusalFault()
        if let share = value["share"] { refusal.share = try self.share(share, "\"share\"") }
        if let reason = value["reason"] { refusal.reason = try string(reason, "\"reason\"") }
        guard let status = value["status"] else { return refusal }
        refusal.statuses = []
        for element in status.kind == .array ? Array(status.elements) : [status] {
            guard let code = element.integer, (400...599).contains(code) else {
                throw error("\"status\" must be a number from 400 to 599, or a list of such numbers", at: element)
            }
            refusal.statuses.append(code)
        }
        guard !refusal.statuses.isEmpty else { throw error("\"status\" is an empty list", at: status) }
        return refusal
    }
}
