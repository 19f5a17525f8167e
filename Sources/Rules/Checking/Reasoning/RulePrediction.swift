internal import LosslessJSON

/// The effects of a rule, as far as they are known before any document is seen.
struct RulePrediction: Sendable {
    enum Edit: Sendable {
        /// The member has this value.
        case set(JSONText)
        /// The member no longer exists.
        case removed
        /// The attachment, or the expiry, exists.
        case attached
        /// The member may have any value, even its old one: a program decides.
        case unknown
    }

    /// The changes to members, in order. A path names members of objects, never elements of lists: a change inside a
    /// list is an unknown change of the list.
    var edits: [(path: [String], edit: Edit)] = []
    /// Whether a whole merge or patch is computed: it may change all members that rules of this kind may write.
    var mayEditEverything = false
    var kind = RuleFileKind.rules
    /// Whether the document becomes a tombstone.
    var deletes = false
    /// Whether the rule acts outside the document.
    var writesOther = false
    /// Whether an action checks a condition first, such as the `test` of a patch.
    var isGuarded = false

    /// Whether the rule may change the document.
    var mayEditDocument: Bool { mayEditEverything || !edits.isEmpty }
}

/// What is known about one field after a rule has acted.
enum FieldPrediction {
    /// It has its old value.
    case unchanged
    /// It has its old value if its parent was an object. The parent is an object now, but may not have been one before.
    case keptIfParentWasObject
    case value(JSONValue)
    case missing
    /// The path leads into a value without members.
    case noSuchPlace
    /// It exists; its value is unknown.
    case present
    case unknown
}

extension RulePrediction {
    /// What is known about the field after the rule has acted.
    func prediction(for path: FieldPath) -> FieldPrediction {
        var parentMayHaveChanged = false
        for (names, edit) in edits.reversed() {
            guard let prediction = Self.prediction(for: path.steps, names, edit) else { continue }
            guard case .keptIfParentWasObject = prediction else { return parentMayHaveChanged ? .unknown : prediction }
            parentMayHaveChanged = true
        }
        let member = String(decoding: path.steps[0].name, as: UTF8.self)
        if mayEditEverything, kind.mayWrite(member) { return .unknown }
        return parentMayHaveChanged ? .keptIfParentWasObject : .unchanged
    }

    /// Nil if the paths don't overlap.
    private static func prediction(for steps: [FieldPath.Step], _ names: [String], _ edit: Edit) -> FieldPrediction? {
        let common = zip(steps, names).prefix { $0.name.elementsEqual($1.utf8) }.count
        guard common == min(steps.count, names.count) else {
            // Other attachments stay: `_attachments` is always an object.
            if common == 0 || names[0] == "_attachments" { return nil }
            // A list that becomes an object loses its elements.
            return steps[common].position == nil ? .keptIfParentWasObject : .unknown
        }
        if names.count > steps.count {
            switch edit {
            case .set, .attached: return .present
            case .removed, .unknown: return .unknown
            }
        }
        let below = Array(steps[names.count...])
        switch edit {
        case .removed: return .missing
        case .unknown: return .unknown
        case .attached: return below.isEmpty ? .present : .unknown
        case .set(let text):
            switch FieldPath.lookUp(along: below, in: text.root) {
            case .found(let value): return .value(value)
            case .missing: return .missing
            case .bad: return .noSuchPlace
            }
        }
    }

    /// Whether a selector that holds may stop holding, or a refuted one may start to hold.
    func mayChange(_ selector: Selector, isRefuted: Bool = false) -> Bool {
        switch selector {
        case .all(let selectors), .any(let selectors), .none(let selectors):
            selectors.contains { mayChange($0, isRefuted: isRefuted) }
        case .not(let selector): mayChange(selector, isRefuted: isRefuted)
        case .field(let path, _):
            switch prediction(for: path) {
            case .unchanged: false
            // A field with a condition that holds is in an object. Without a parent object, no condition holds.
            case .keptIfParentWasObject: isRefuted
            default: true
            }
        case .value: mayEditDocument
        }
    }
}

extension FieldPath {
    private init(steps: [Step]) {
        self.steps = steps
        isID = false
    }

    /// A path of member names. Not for `_id`, which rules can't change.
    init(names: [String]) { self.init(steps: names.map { Step(name: Array($0.utf8), position: Int($0)) }) }

    /// The path to the value itself.
    static let root = FieldPath(steps: [])

    static func lookUp(along steps: [Step], in value: JSONValue) -> Lookup {
        FieldPath(steps: steps).lookUp(in: value)
    }

    /// Whether this path leads into the value of `other`.
    func isBelow(_ other: FieldPath) -> Bool {
        steps.count > other.steps.count && zip(steps, other.steps).allSatisfy { $0.name == $1.name }
    }
}
