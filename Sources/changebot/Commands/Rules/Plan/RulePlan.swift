internal import LosslessJSON
internal import Rules

/// A document to decide with both versions of the rules.
enum PlannedDocument {
    case document(JSONText)
    /// It can't be read, for this reason.
    case unreadable(id: String, String)
}

/// Decides documents with two versions of rules, and compares the decisions.
struct RulePlan {
    /// A document for which the two versions differ.
    struct Difference {
        let old: DecisionReport
        let new: DecisionReport
        /// The names of the rules that cause it: those that fire in one version only, or are not the same in both. If there
        /// are none, all that fire.
        let rules: [String]
    }

    /// The number of documents for which the versions differ.
    struct Differences {
        /// Only touched with the new version.
        var added = 0
        /// Only touched with the old version.
        var removed = 0
        /// Touched with both, in another way.
        var changed = 0
        /// Because of a rule, by its name.
        var byRule: [String: Int] = [:]

        var count: Int { added + removed + changed }
    }

    /// One of the two versions.
    struct Version {
        private let ruleSet: RuleSet
        private let decider: Decider
        /// Whether rules are left out, because they fire only for later changes.
        let omitsRules: Bool
        /// The names of the rules, in order.
        var names: [String] { ruleSet.names }
        /// Of all rules, also those that are left out: a hash of each definition, by the rule's name.
        let fingerprints: [String: String]
        /// For how many documents each rule fires, by its index.
        private(set) var fired: [Int]
        /// The number of documents that it would write, delete, or use for an effect.
        private(set) var touched = 0
        /// The number of documents that would become dead letters.
        private(set) var failed = 0

        init(_ ruleSet: RuleSet) {
            self.ruleSet = ruleSet.withoutComparing()
            omitsRules = !ruleSet.comparing.isEmpty
            fingerprints = ruleSet.fingerprints
            decider = self.ruleSet.makeDecider()
            fired = [Int](repeating: 0, count: self.ruleSet.names.count)
        }

        mutating func reports(_ documents: [JSONText], now: Int) async -> [DecisionReport] {
            let decisions = await decider.decide(on: documents.map { DecisionInput($0) }, now: now)
            return zip(documents, decisions).map { document, decision in
                for rule in decision.fired { fired[rule] += 1 }
                let report = DecisionReport(document, decision, names: names, aggregates: ruleSet.aggregates)
                if decision.error != nil { failed += 1 } else if report.touches { touched += 1 }
                return report
            }
        }
    }

    private(set) var old: Version
    private(set) var new: Version
    private let now: Int
    /// Nil: all documents.
    private let matcher: DocumentMatcher?
    private var gathered = GatheredDocuments<JSONText>()
    /// The number of documents that were read, and match the selector.
    private(set) var documents = 0
    private(set) var differences = Differences()
    /// The documents that could not be read, as `ID: REASON`. At most ``shownUnreadable`` of them.
    private(set) var unreadable: [String] = []
    private(set) var unreadableCount = 0
    private static let shownUnreadable = 10

    /// - Parameters:
    ///   - now: `$now`, in seconds since 1970.
    ///   - filter: Only documents that match it. Nil: all.
    init(old: RuleSet, new: RuleSet, now: Int, filter: DocumentFilter?) {
        self.old = Version(old)
        self.new = Version(new)
        self.now = now
        matcher = filter.map { DocumentMatcher($0) }
    }

    /// Whether one of the versions has rules that are left out.
    var omitsRules: Bool { old.omitsRules || new.omitsRules }

    /// Adds a document to the batch, and decides the batch when it is full.
    ///
    /// - Parameter show: Called with each difference, in the order of the documents.
    mutating func add(_ document: PlannedDocument, _ show: (Difference) throws -> Void) async throws {
        guard isWanted(document) else { return }
        documents += 1
        switch document {
        case .unreadable(let id, let reason):
            unreadableCount += 1
            if unreadable.count < Self.shownUnreadable { unreadable.append("\(id): \(reason)") }
        case .document(let document):
            if let batch = gathered.add(document, byteCount: document.bytes.count) { try await decide(batch, show) }
        }
    }

    /// A document for which the selector can't be decided is wanted, so that it is not overlooked.
    private func isWanted(_ document: PlannedDocument) -> Bool {
        guard let matcher, case .document(let document) = document else { return true }
        return (try? matcher.matches(document.root)) ?? true
    }

    /// Decides the documents that remain after the last batch.
    mutating func decideRest(_ show: (Difference) throws -> Void) async throws {
        try await decide(gathered.takeRest(), show)
    }

    private mutating func decide(_ batch: [JSONText], _ show: (Difference) throws -> Void) async throws {
        let before = await old.reports(batch, now: now)
        let after = await new.reports(batch, now: now)
        for (old, new) in zip(before, after) where !old.hasSameResult(as: new) {
            switch (old.touches, new.touches) {
            case (false, true): differences.added += 1
            case (true, false): differences.removed += 1
            default: differences.changed += 1
            }
            let rules = causes(old.fired, new.fired)
            for rule in rules { differences.byRule[rule, default: 0] += 1 }
            try show(Difference(old: old, new: new, rules: rules))
        }
    }

    private func causes(_ before: [String], _ after: [String]) -> [String] {
        let all = before + after.filter { !before.contains($0) }
        let different = all.filter { rule in
            before.contains(rule) != after.contains(rule) || old.fingerprints[rule] != new.fingerprints[rule]
        }
        return different.isEmpty ? all : different
    }
}
