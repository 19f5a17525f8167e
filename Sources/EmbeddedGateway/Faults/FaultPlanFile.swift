internal import LosslessJSON

/// Parses a fault file into a ``FaultPlan``.
struct FaultPlanFile {
    private let text: [UInt8]
    private let root: JSONValue

    init(_ text: [UInt8]) throws(FaultPlanMistake) {
        self.text = text
        do { root = try JSONText(text, limits: .files).root } catch {
            throw Self.error(error.description + "; the file must be JSON", at: error, in: text)
        }
    }

    /// - Throws: ``FaultPlanError`` with all mistakes.
    func plan() throws(FaultPlanError) -> FaultPlan {
        let mistakes = FaultPlanMistakes()
        let plan = plan(mistakes)
        guard mistakes.found.isEmpty else { throw FaultPlanError(mistakes: mistakes.inOrder) }
        return plan
    }

    private func plan(_ mistakes: FaultPlanMistakes) -> FaultPlan {
        var plan = FaultPlan()
        guard checkMembers(of: root, ["seed", "faults"], "the file", mistakes) else { return plan }
        if let seed = root["seed"] {
            mistakes.gather { () throws(FaultPlanMistake) in plan.seed = UInt64(try number(seed, "\"seed\"")) }
        }
        guard let list = root["faults"], list.kind == .array else {
            mistakes.add(error("\"faults\" must be a list of faults", at: root["faults"] ?? root))
            return plan
        }
        var names: Set<String> = []
        for value in list.elements {
            guard var fault = fault(value, mistakes) else { continue }
            if value["name"] == nil { fault.name = Self.unused(fault.name, names) }
            if !names.insert(fault.name).inserted {
                mistakes.add(error("two faults are named \"\(fault.name)\"; rename one", at: value["name"] ?? value))
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

    /// Nil, after adding mistakes, if the value is not a valid fault.
    private func fault(_ value: JSONValue, _ mistakes: FaultPlanMistakes) -> Fault? {
        let before = mistakes.found.count
        guard checkMembers(of: value, Self.settings + FaultActionName.allCases.map(\.rawValue), "a fault", mistakes)
        else {
            return nil
        }
        let actions = value.members.compactMap { member in
            FaultActionName(rawValue: member.name.string ?? "").map { (word: $0, member: member) }
        }
        guard let (word, member) = actions.first else {
            // An unknown member, already reported, may be a misspelt action.
            if mistakes.found.count == before {
                let words = Self.list(FaultActionName.allCases)
                mistakes.add(error("the fault's effect is missing; write one of \(words)", at: value))
            }
            return nil
        }
        for other in actions.dropFirst() where other.word != word {
            mistakes.add(error("a fault can do only one thing; split this one into two", at: other.member.name))
        }
        let action = mistakes.gather { () throws(FaultPlanMistake) in try self.action(word, member.value) }
        let name = value["name"].map { value in
            mistakes.gather { () throws(FaultPlanMistake) in try string(value, "\"name\"") } ?? word.rawValue
        }
        let requests = requests(value, word, mistakes)
        let timing = timing(value, word, mistakes)
        guard let action else { return nil }
        return Fault(name: name ?? word.rawValue, requests: requests, timing: timing, action: action)
    }

    // MARK: Which requests, and when

    private func requests(_ value: JSONValue, _ word: FaultActionName, _ mistakes: FaultPlanMistakes)
        -> RequestSelection
    {
        var requests = RequestSelection(kinds: word.onlyKind.map { [$0] })
        mistakes.gather { () throws(FaultPlanMistake) in
            guard let named = value["on"], let kinds = try kinds(named) else { return }
            if let only = word.onlyKind, kinds != [only] {
                throw error("\"\(word.rawValue)\" applies only to \(only.rawValue); leave \"on\" out", at: named)
            }
            requests.kinds = kinds
        }
        mistakes.gather { () throws(FaultPlanMistake) in
            if let method = value["method"] { requests.method = try string(method, "\"method\"").uppercased() }
        }
        mistakes.gather { () throws(FaultPlanMistake) in
            guard let feed = value["feed"] else { return }
            guard let known = FeedRequest.Feed(rawValue: try string(feed, "\"feed\"")) else {
                throw error("\"feed\" must be normal, longpoll or continuous", at: feed)
            }
            requests.feed = known
        }
        return requests
    }

    /// Nil for all.
    private func kinds(_ value: JSONValue) throws(FaultPlanMistake) -> Set<RequestKind>? {
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

    private func timing(_ value: JSONValue, _ word: FaultActionName, _ mistakes: FaultPlanMistakes) -> FaultTiming {
        var timing = FaultTiming()
        mistakes.gather { () throws(FaultPlanMistake) in
            if let after = value["after"] { timing.after = try extent(after, "\"after\"") }
        }
        mistakes.gather { () throws(FaultPlanMistake) in
            if let duration = value["for"] { timing.duration = try extent(duration, "\"for\"") }
        }
        mistakes.gather { () throws(FaultPlanMistake) in
            if let share = value["share"] { timing.frequency = .share(try self.share(share, "\"share\"")) }
        }
        mistakes.gather { () throws(FaultPlanMistake) in
            guard let every = value["every"] else { return }
            guard value["share"] == nil else { throw error("write \"share\" or \"every\", not both", at: every) }
            timing.frequency = .every(try number(every, "\"every\"", from: 1))
        }
        if let times = value["times"] {
            mistakes.gather { () throws(FaultPlanMistake) in timing.times = try number(times, "\"times\"", from: 1) }
        } else if word.isOnce, case .always = timing.frequency {
            timing.times = 1
        }
        return timing
    }

    private func extent(_ value: JSONValue, _ what: String) throws(FaultPlanMistake) -> FaultTiming.Extent {
        if value.kind == .number { return .requests(try number(value, what)) }
        guard let time = value.string.flatMap(FaultTime.duration) else {
            throw error("\(what) must be a number of requests, or a time such as \"10s\"", at: value)
        }
        return .time(time)
    }
}

// MARK: Single values

extension FaultPlanFile {
    /// Returns whether the value is an object. Adds mistakes for unknown and repeated members, but the rest can be
    /// read.
    private func checkMembers(
        of value: JSONValue, _ known: [String], _ what: String, _ mistakes: FaultPlanMistakes
    ) -> Bool {
        guard value.kind == .object else {
            mistakes.add(error("\(what) must be an object", at: value))
            return false
        }
        for mistake in wrongMembers(of: value, known) { mistakes.add(mistake) }
        return true
    }

    func checkMembers(of value: JSONValue, _ known: [String], _ what: String) throws(FaultPlanMistake) {
        guard value.kind == .object else { throw error("\(what) must be an object", at: value) }
        if let mistake = wrongMembers(of: value, known).first { throw mistake }
    }

    private func wrongMembers(of value: JSONValue, _ known: [String]) -> [FaultPlanMistake] {
        var seen: Set<String> = []
        return value.members.compactMap { member in
            let name = member.name.string ?? ""
            guard known.contains(name) else {
                return error("unknown member \"\(name)\"; known are \(known.joined(separator: ", "))", at: member.name)
            }
            return seen.insert(name).inserted
                ? nil : error("\"\(name)\" is given twice; remove one", at: member.name)
        }
    }

    func string(_ value: JSONValue, _ what: String) throws(FaultPlanMistake) -> String {
        guard let text = value.string, !text.isEmpty else { throw error("\(what) must be a string", at: value) }
        return text
    }

    func number(_ value: JSONValue, _ what: String, from least: Int = 0) throws(FaultPlanMistake) -> Int {
        guard let number = value.integer, (least...FaultPlan.maxNumber).contains(number) else {
            throw error("\(what) must be a whole number of \(least) or more", at: value)
        }
        return number
    }

    func share(_ value: JSONValue, _ what: String) throws(FaultPlanMistake) -> Double {
        guard value.kind == .number, let share = Double(String(decoding: value.bytes, as: UTF8.self)),
            (0...1).contains(share)
        else { throw error("\(what) must be a number from 0 to 1", at: value) }
        return share
    }

    func time(_ value: JSONValue, _ what: String) throws(FaultPlanMistake) -> Duration {
        guard let time = value.string.flatMap(FaultTime.duration) else {
            throw error("\(what) must be a time such as \"200ms\", \"10s\" or \"5m\"", at: value)
        }
        return time
    }

    func flag(_ value: JSONValue, _ what: String) throws(FaultPlanMistake) {
        guard value.bool == true else {
            throw error("\(what) must be true; to turn the fault off, remove it", at: value)
        }
    }

    func error(_ reason: String, at value: JSONValue) -> FaultPlanMistake {
        Self.error(reason, at: JSONError(.unexpectedEnd, at: value.range.lowerBound), in: text)
    }

    private static func error(_ reason: String, at place: JSONError, in text: [UInt8]) -> FaultPlanMistake {
        let (line, column) = place.position(in: text.span)
        return FaultPlanMistake(offset: place.offset, line: line, column: column, reason: reason)
    }

    private static func list<Word: RawRepresentable<String>>(_ words: [Word]) -> String {
        words.map(\.rawValue).joined(separator: ", ")
    }
}

/// A time in a fault file: `200ms`, `10s`, `5m`, `1h`.
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
