internal import LosslessJSON

/// What is known of what a rule does to a document, before any document is seen.
struct RuleOutlook: Sendable {
    enum Touch: Sendable {
        /// The member has this value.
        case set(JSONText)
        /// The member is gone.
        case removed
        /// The attachment is there.
        case attached
        /// The member may be anything, also what it was: a program decides.
        case unknown
    }

    /// What becomes of members, in the order in which it happens. A path names members of objects, never elements of
    /// lists: a change within a list is an unknown one of the list.
    var touched: [(path: [String], touch: Touch)] = []
    /// A whole merge or patch is computed: all members may be touched that rules of this kind may write.
    var touchesEverything = false
    var kind = RuleFileKind.rules
    /// The document becomes a tombstone.
    var deletes = false
    /// Something happens outside the document.
    var writesOther = false
    /// An action asks something of its own before it does anything: the `test` of a patch.
    var isGuarded = false

    /// Whether the document itself may be another one afterwards.
    var touchesDocument: Bool { touchesEverything || !touched.isEmpty }
}

/// What is known about one field afterwards.
enum FieldOutlook {
    /// What it was.
    case untouched
    /// What it was if it lay in an object. What held it is an object now, and may have been none.
    case beside
    case value(JSONValue)
    case missing
    /// The path leads into what has no members.
    case noSuchPlace
    /// There, with whatever value.
    case present
    case unknown
}

extension RuleOutlook {
    /// What the field is after the rule has done its work.
    func outlook(for path: FieldPath) -> FieldOutlook {
        var isBeside = false
        for (names, touch) in touched.reversed() {
            guard let outlook = Self.outlook(for: path.steps, names, touch) else { continue }
            guard case .beside = outlook else { return isBeside ? .unknown : outlook }
            isBeside = true
        }
        let member = String(decoding: path.steps[0].name, as: UTF8.self)
        if touchesEverything, kind.mayWrite(member) { return .unknown }
        return isBeside ? .beside : .untouched
    }

    /// Nil if the two paths have nothing in common.
    private static func outlook(for steps: [FieldPath.Step], _ names: [String], _ touch: Touch) -> FieldOutlook? {
        let common = zip(steps, names).prefix { $0.name.elementsEqual($1.utf8) }.count
        guard common == min(steps.count, names.count) else {
            // What stands beside an attachment is safe: attachments always lie in an object.
            if common == 0 || names[0] == "_attachments" { return nil }
            // A list that becomes an object loses its elements.
            return steps[common].position == nil ? .beside : .unknown
        }
        if names.count > steps.count {
            switch touch {
            case .set, .attached: return .present
            case .removed, .unknown: return .unknown
            }
        }
        let below = Array(steps[names.count...])
        switch touch {
        case .removed: return .missing
        case .unknown: return .unknown
        case .attached: return below.isEmpty ? .present : .unknown
        case .set(let text):
            switch FieldPath.look(along: below, in: text.root) {
            case .found(let value): return .value(value)
            case .missing: return .missing
            case .bad: return .noSuchPlace
            }
        }
    }

    /// Whether a selector that holds may not hold afterwards; or, if it is refuted, the other way round.
    func touches(_ selector: Selector, isRefuted: Bool = false) -> Bool {
        switch selector {
        case .all(let selectors), .any(let selectors), .none(let selectors):
            selectors.contains { touches($0, isRefuted: isRefuted) }
        case .not(let selector): touches(selector, isRefuted: isRefuted)
        case .field(let path, _):
            switch outlook(for: path) {
            case .untouched: false
            // What holds now lies in an object. What does not may lie nowhere, and there no condition holds.
            case .beside: isRefuted
            default: true
            }
        case .value: touchesDocument
        }
    }
}

extension FieldPath {
    private init(steps: [Step]) {
        self.steps = steps
        isID = false
    }

    /// Members of members. Not for `_id`, which rules can't touch.
    init(names: [String]) { self.init(steps: names.map { Step(name: Array($0.utf8), position: Int($0)) }) }

    /// Leads to the value that is looked at.
    static let itself = FieldPath(steps: [])

    static func look(along steps: [Step], in value: JSONValue) -> Lookup {
        FieldPath(steps: steps).look(in: value)
    }

    /// Whether this leads into what `other` leads to.
    func isBelow(_ other: FieldPath) -> Bool {
        steps.count > other.steps.count && zip(steps, other.steps).allSatisfy { $0.name == $1.name }
    }
}
