internal import LosslessJSON

/// A file with faults, on its way to a ``FaultPlan``.
struct FaultPlanFile {
    private let text: [UInt8]
    private let root: JSONValue

    init(_ text: [UInt8]) throws(FaultPlanError) {
        self.text = text
        do { root = try JSONText(text, limits: .files).root } catch {
            throw Self.error(error.description + "; the file must be JSON", at: error, in: text)
        }
    }

    func plan() throws(FaultPlanError) -> FaultPlan {
        try checkMembers(of: root, ["seed", "faults"], "the file")
        var plan = FaultPlan()
        if let seed = root["seed"] { plan.seed = UInt64(try number(seed, "\"seed\"")) }
        guard let list = root["faults"], list.kind == .array else {
            throw error("\"faults\" must be a list of faults", at: root["faults"] ?? root)
        }
        var names: Set<String> = []
        for value in list.elements {
            var fault = try fault(value)
            if value["name"] == nil { fault.name = Self.unused(fault.name, names) }
            guard names.insert(fault.name).inserted else {
                throw error("two faults are named \"\(fault.name)\"; rename one", at: value["name"] ?? value)
            }
            plan.faults.append(fault)
        }
        return plan
    }

    /// `latency`, then `latency 2`.
    private static func unused(_ word: String, _ names: Set<String>) -> String {
        var name = word
        var number = 1
        while names.contains(name) {
            number += 1
            name = "\(word) \(number)"
        }
        return name
    }

    private static let settings = ["name", "on", "method", "feed", "share", "every", "after", "for", "times"]

    private func fault(_ value: JSONValue) throws(FaultPlanError) -> Fault {
        try checkMembers(of: value, Self.settings + FaultWord.allCases.map(\.rawValue), "a fault")
        let actions = value.members.compactMap { member in
            FaultWord(rawValue: member.name.string ?? "").map { (word: $0, member: member) }
        }
        guard let (word, member) = actions.first else {
            throw error("what goes wrong is missing; write one of \(Self.list(FaultWord.allCases))", at: value)
        }
        guard actions.count == 1 else {
            throw error("a fault does one thing; make two faults of this one", at: actions[1].member.name)
        }
        let action = try action(word, member.value)
        let name = try value["name"].map { value throws(FaultPlanError) in try string(value, "\"name\"") }
        return Fault(
            name: name ?? word.rawValue, requests: try requests(value, word), timing: try timing(value, word),
            action: action)
    }

    // MARK: Which requests, and when

    private func requests(_ value: JSONValue, _ word: FaultWord) throws(FaultPlanError) -> RequestSelection {
        var requests = RequestSelection(kinds: word.onlyKind.map { [$0] })
        if let named = value["on"], let kinds = try kinds(named) {
            if let only = word.onlyKind, kinds != [only] {
                throw error("\"\(word.rawValue)\" is for \(only.rawValue) alone; leave \"on\" out", at: named)
            }
            requests.kinds = kinds
        }
        if let method = value["method"] { requests.method = try string(method, "\"method\"").uppercased() }
        if let feed = value["feed"] {
            guard let known = ChangesRequest.Feed(rawValue: try string(feed, "\"feed\"")) else {
                throw error("\"feed\" must be normal, longpoll or continuous", at: feed)
            }
            requests.feed = known
        }
        return requests
    }

    /// Nil for all.
    private func kinds(_ value: JSONValue) throws(FaultPlanError) -> Set<RequestKind>? {
        var kinds: Set<RequestKind> = []
        for element in value.kind == .array ? Array(value.elements) : [value] {
            let word = try string(element, "\"on\"")
            if word == "any" { return nil }
            guard let kind = RequestKind(rawValue: word) else {
                throw error("\"on\" must be any or one of \(Self.list(RequestKind.allCases))", at: element)
            }
            kinds.insert(kind)
        }
        guard !kinds.isEmpty else { throw error("\"on\" is an empty list; leave it out for all requests", at: value) }
        return kinds
    }

    private func timing(_ value: JSONValue, _ word: FaultWord) throws(FaultPlanError) -> FaultTiming {
        var timing = FaultTiming()
        if let after = value["after"] { timing.after = try extent(after, "\"after\"") }
        if let stay = value["for"] { timing.stay = try extent(stay, "\"for\"") }
        if let share = value["share"] { timing.frequency = .share(try self.share(share, "\"share\"")) }
        if let every = value["every"] {
            guard value["share"] == nil else { throw error("write \"share\" or \"every\", not both", at: every) }
            timing.frequency = .every(try number(every, "\"every\"", from: 1))
        }
        if let times = value["times"] {
            timing.times = try number(times, "\"times\"", from: 1)
        } else if word.isOnce, case .always = timing.frequency {
            timing.times = 1
        }
        return timing
    }

    private func extent(_ value: JSONValue, _ what: String) throws(FaultPlanError) -> FaultTiming.Extent {
        if value.kind == .number { return .requests(try number(value, what)) }
        guard let time = value.string.flatMap(FaultTime.duration) else {
            throw error("\(what) must be a number of requests, or a time such as \"10s\"", at: value)
        }
        return .time(time)
    }
}

// MARK: Single values

extension FaultPlanFile {
    func checkMembers(of value: JSONValue, _ known: [String], _ what: String) throws(FaultPlanError) {
        guard value.kind == .object else { throw error("\(what) must be an object", at: value) }
        var seen: Set<String> = []
        for member in value.members {
            let name = member.name.string ?? ""
            guard known.contains(name) else {
                throw error(
                    "unknown member \"\(name)\"; known are \(known.joined(separator: ", "))", at: member.name)
            }
            guard seen.insert(name).inserted else {
                throw error("\"\(name)\" stands here twice; leave one out", at: member.name)
            }
        }
    }

    func string(_ value: JSONValue, _ what: String) throws(FaultPlanError) -> String {
        guard let text = value.string, !text.isEmpty else { throw error("\(what) must be a string", at: value) }
        return text
    }

    func number(_ value: JSONValue, _ what: String, from least: Int = 0) throws(FaultPlanError) -> Int {
        guard let number = value.integer, (least...FaultPlan.largestNumber).contains(number) else {
            throw error("\(what) must be a whole number of \(least) or more", at: value)
        }
        return number
    }

    func share(_ value: JSONValue, _ what: String) throws(FaultPlanError) -> Double {
        guard value.kind == .number, let share = Double(String(decoding: value.bytes, as: UTF8.self)),
            (0...1).contains(share)
        else { throw error("\(what) must be a number of 0 to 1", at: value) }
        return share
    }

    func time(_ value: JSONValue, _ what: String) throws(FaultPlanError) -> Duration {
        guard let time = value.string.flatMap(FaultTime.duration) else {
            throw error("\(what) must be a time such as \"200ms\", \"10s\" or \"5m\"", at: value)
        }
        return time
    }

    func flag(_ value: JSONValue, _ what: String) throws(FaultPlanError) {
        guard value.bool == true else { throw error("\(what) must be true; leave the fault out otherwise", at: value) }
    }

    func error(_ reason: String, at value: JSONValue) -> FaultPlanError {
        Self.error(reason, at: JSONFault(.unexpectedEnd, at: value.range.lowerBound), in: text)
    }

    private static func error(_ reason: String, at place: JSONFault, in text: [UInt8]) -> FaultPlanError {
        let (line, column) = place.position(in: text.span)
        return FaultPlanError(offset: place.offset, line: line, column: column, reason: reason)
    }

    private static func list<Word: RawRepresentable<String>>(_ words: [Word]) -> String {
        words.map(\.rawValue).joined(separator: ", ")
    }
}

/// A time as the file has it: `200ms`, `10s`, `5m`, `1h`.
enum FaultTime {
    static func milliseconds(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits), count <= 1_000_000_000 else { return nil }
        switch text.dropFirst(digits.count) {
        case "ms": return count
        case "s": return count * 1_000
        case "m": return count * 60_000
        case "h": return count * 3_600_000
        default: return nil
        }
    }

    static func duration(_ text: String) -> Duration? { milliseconds(text).map { .milliseconds($0) } }
}
