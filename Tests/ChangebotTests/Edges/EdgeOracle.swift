import Foundation
import GatewayClient
import LosslessJSON

/// An event of the rules of ``EdgeOracleTests``.
struct EdgeEvent: Sendable {
    let rule: String
    let document: DocumentID
    let revision: String
    /// The JSON of the compared value before and now.
    let before: String
    let now: String
    let matches: Bool
    let id: String
    /// How many processes were killed before it arrived.
    let kills: Int

    init?(_ body: [UInt8], id: String, kills: Int) {
        guard let values = (try? JSONText(body)).map({ Array($0.root.elements) }), values.count == 6 else { return nil }
        func json(_ place: Int) -> String { String(decoding: values[place].bytes, as: UTF8.self) }
        (rule, document) = (values[0].string ?? "", DocumentID(values[1].string ?? ""))
        (revision, before, now) = (values[2].string ?? "", json(3), json(4))
        (matches, self.id, self.kills) = (values[5].bool == true, id, kills)
    }
}

/// Derives from the events what each rule remembers, and finds edges that are missing, repeated or without a
/// difference.
///
/// What was seen last before a kill, or before a write that met a conflict, may not have been recorded. The rule then
/// remembers either state, and the oracle follows both.
struct EdgeOracle {
    /// What the rules may remember of a document.
    private struct Memory: Hashable {
        var matched = false
        /// Nil: the rule with `changed` has not seen the document.
        var value: String?

        func after(_ state: EdgeState) -> Memory {
            Memory(matched: state.matches, value: state.isTask ? state.done : value)
        }

        /// The rules that fire for a document in this state.
        func expected(_ state: EdgeState) -> Set<String> {
            var rules: Set<String> = []
            if state.isTask, let value, value != state.done { rules.insert("changed") }
            if state.matches, !matched { rules.formUnion(["finished", "both"]) }
            if !state.matches, matched { rules.formUnion(["reopened", "both"]) }
            return rules
        }
    }

    /// The events of one look at a document.
    private struct Look {
        let revision: String
        let kills: Int
        var rules: Set<String> = []
    }

    private struct Chain: Hashable {
        let rule: String
        let document: DocumentID

        /// Whether a look whose events were sent may not have been recorded.
        ///
        /// - Parameter next: The number of kills at the next event.
        func mayBeLost(_ event: EdgeEvent, next: Int) -> Bool {
            // A rule writes the documents with c.
            next != event.kills || document.text.hasSuffix("c")
        }
    }

    private static let unknown = "unknown"

    private(set) var faults: [String] = []
    private(set) var counts: [String: Int] = [:]
    private(set) var repeated = 0
    private var round = 0
    private var values: [Chain: Set<String>] = [:]
    private var memories: [DocumentID: Set<Memory>] = [:]
    private var seen: [String: EdgeEvent] = [:]
    /// The ids of edges that were certainly recorded.
    private var recorded: Set<String> = []
    private let state: (DocumentID, String) -> EdgeState?

    /// - Parameter state: The content of a revision, if a client wrote it.
    init(_ state: @escaping (DocumentID, String) -> EdgeState?) { self.state = state }

    /// Takes the events since the last time. Afterwards, all is recorded, and each rule remembers the current states.
    mutating func settle(_ events: [EdgeEvent], kills: Int, _ current: [DocumentID: EdgeState]) {
        for event in events { check(event) }
        var chains = Dictionary(grouping: events) { Chain(rule: $0.rule, document: $0.document) }
        for (chain, events) in chains where chain.rule != "look" { checkIDs(chain, events, kills) }
        for id in current.keys {
            for rule in ["changed", "both", "echoed"] where rule != "echoed" || id.text.hasSuffix("c") {
                let chain = Chain(rule: rule, document: id)
                follow(chain, chains.removeValue(forKey: chain) ?? [], kills)
            }
        }
        for (id, state) in current { end(id, state, events.filter { $0.document == id }) }
        let looks = Dictionary(grouping: events.filter { $0.document.text.hasSuffix("a") }, by: \.document)
        for (id, state) in current where id.text.hasSuffix("a") { follow(looks[id] ?? [], of: id, kills, state) }
        round += 1
    }

    private mutating func report(_ problem: String, _ chain: Chain, _ events: [EdgeEvent]) {
        let list = events.map { "\($0.rule)@\($0.revision):\($0.before)>\($0.now):\($0.kills):\($0.id.suffix(6))" }
        faults.append("round \(round), \(chain.document) \(chain.rule): \(problem); \(list.joined(separator: " "))")
    }

    /// What can be said of an event alone, and of its id.
    private mutating func check(_ event: EdgeEvent) {
        counts[event.rule, default: 0] += 1
        let chain = Chain(rule: event.rule, document: event.document)
        if let written = state(event.document, event.revision), event.rule != "look", event.rule != "echoed",
            written.matches != event.matches || (written.isTask && written.done != event.now)
        {
            report("other content than was written", chain, [event])
        }
        switch event.rule {
        case "changed", "echoed": if event.before == event.now { report("no difference", chain, [event]) }
        case "finished": if !event.matches { report("no difference", chain, [event]) }
        case "reopened": if event.matches { report("no difference", chain, [event]) }
        default: break
        }
    }

    /// An id returns only after a kill, for the same edge, and never once the edge is recorded.
    private mutating func checkIDs(_ chain: Chain, _ events: [EdgeEvent], _ kills: Int) {
        for (place, event) in events.enumerated() {
            if let first = seen[event.id] {
                repeated += 1
                let isSame =
                    first.rule == event.rule && first.document == event.document && first.before == event.before
                    && first.matches == event.matches && (event.rule != "changed" || first.now == event.now)
                if recorded.contains(event.id) || !isSame { report("id used twice", chain, [first] + events) }
            }
            seen[event.id] = event
            let next = place + 1 < events.count ? events[place + 1].kills : kills
            if !chain.mayBeLost(event, next: next) { recorded.insert(event.id) }
        }
    }

    /// Each event begins where the one before it ended.
    private mutating func follow(_ chain: Chain, _ events: [EdgeEvent], _ kills: Int) {
        let isMatch = chain.rule == "both"
        var possible = values[chain] ?? [isMatch ? "false" : Self.unknown]
        for (place, event) in events.enumerated() {
            let before = isMatch ? "\(!event.matches)" : event.before
            if !possible.contains(before), !possible.contains(Self.unknown) {
                report("begins at \(before), not at one of \(possible.sorted())", chain, events)
            }
            let next = place + 1 < events.count ? events[place + 1].kills : kills
            possible = chain.mayBeLost(event, next: next) ? [before] : []
            possible.insert(isMatch ? "\(event.matches)" : event.now)
        }
        values[chain] = possible
    }

    /// The last state is known.
    private mutating func end(_ id: DocumentID, _ state: EdgeState, _ events: [EdgeEvent]) {
        func end(_ rule: String, _ value: String) {
            let chain = Chain(rule: rule, document: id)
            let possible = values[chain] ?? []
            if !possible.contains(value), !possible.contains(Self.unknown) {
                report("the last edge to \(value) is missing after \(possible.sorted())", chain, events)
            }
            values[chain] = [value]
        }
        end("both", "\(state.matches)")
        if state.isTask { end("changed", state.done) }
        if state.isTask, id.text.hasSuffix("c") { end("echoed", state.echo) }
    }

    /// At each look, exactly those rules fire whose memory differs.
    private mutating func follow(_ events: [EdgeEvent], of id: DocumentID, _ kills: Int, _ current: EdgeState) {
        var looks: [Look] = []
        for event in events {
            // Another member may be killed between two events of one look.
            if event.rule == "look" || looks.last?.revision != event.revision
                || looks.last?.rules.contains(event.rule) == true
            {
                looks.append(Look(revision: event.revision, kills: event.kills))
            }
            if event.rule != "look" { looks[looks.count - 1].rules.insert(event.rule) }
        }
        var possible = memories[id] ?? [Memory()]
        for (place, look) in looks.enumerated() {
            guard let state = state(id, look.revision) else {
                report("unknown revision \(look.revision)", Chain(rule: "look", document: id), events)
                continue
            }
            let next = place + 1 < looks.count ? looks[place + 1].kills : kills
            let mayBeLost = next != look.kills
            let fits = possible.filter { memory in
                let expected = memory.expected(state)
                return mayBeLost ? look.rules.isSubset(of: expected) : look.rules == expected
            }
            if fits.isEmpty {
                let expected = Set(possible.map { $0.expected(state) })
                report("at \(look) expected \(expected)", Chain(rule: "look", document: id), events)
            }
            let after = Set((fits.isEmpty ? possible : fits).map { $0.after(state) })
            possible = mayBeLost ? after.union(possible) : after
        }
        let last = possible.map { $0.after(current) }
        if !last.contains(where: possible.contains) {
            report("the last look is missing before \(current)", Chain(rule: "look", document: id), events)
        }
        memories[id] = Set(last)
    }
}
