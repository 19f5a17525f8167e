internal import LosslessJSON

/// What a rule does to the changed document, or to other documents because of it. ``ActionRegistry`` lists all actions.
///
/// Most members have a default that suits an action that only edits the document.
protocol Action: Sendable {
    // MARK: In the rule file

    /// The action's key.
    static var name: String { get }
    /// Names that other tools use for the action.
    static var synonyms: [String] { get }
    /// The keys of the action's value. Empty if the names in it are those of a document.
    static var keys: [String] { get }
    /// The keys that tests of rules can't judge: limits, files, credentials, and what is done with later answers.
    static var untestedKeys: Set<String> { get }
    /// Whether the action may appear in the `then` of `related`.
    static var isAllowedInRelated: Bool { get }
    /// Whether no action can follow this one.
    static var isLast: Bool { get }
    /// Why the action can't have `for_each`. Nil if it can.
    static var forEachError: String? { get }
    /// The error messages of an action that must be the only one of its rule. Nil if it may have siblings.
    static var onlyActionErrors: OnlyActionErrors? { get }

    /// Reads the action's value. Nil, with errors, if the value is wrong.
    init?(_ node: SourceNode, _ reading: RuleReading)

    // MARK: Decisions

    /// The phase of a decision in which its rules run.
    static var phase: DecisionPhase { get }
    /// The jq programs whose outputs ``apply(to:_:)`` needs, as indexes in the ``ProgramList``.
    var programs: [Int] { get }

    /// - Parameter outputs: For each of ``programs``, its outputs for the draft.
    /// - Throws: ``ActionError`` if the edit is ambiguous or the place that it edits does not exist.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError)

    // MARK: Queries about a rule set

    /// Whether its effect is outside the database.
    static var isOutside: Bool { get }
    /// Whether it writes documents other than the changed one.
    static var writesOthers: Bool { get }
    /// Whether it sets or removes the expiry of a document, related ones included.
    var setsExpiry: Bool { get }
    /// The keyspaces that the action names.
    var otherKeyspaces: Set<String> { get }
    /// The files with credentials that the action names.
    var outsideFiles: OutsideFiles { get }

    /// Writes everything that decisions depend on, for the hash of the rule set. Default: the list element as written.
    func writeCanonical(of element: SourceNode, to writer: inout JSONWriter)

    // MARK: Checks. The argument is its value in the rule file

    /// Records what the action does to members of the document. Default: an editing action may change all members.
    func add(_ argument: SourceNode, to prediction: inout RulePrediction)
    /// Warns of what a gateway will refuse, and of side effects. Default: warns of writes to a tombstone.
    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning]
    /// Warnings if the action writes or removes one part of a blob and leaves the other.
    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message]
    /// The members whose values are each computed by a separate program.
    func computedMembers(_ argument: SourceNode) -> [ComputedMember]
    /// The members that one program sets together.
    func jointlyComputedNames(_ argument: SourceNode) -> [String]
    /// The effects whose success depends on the kind of database.
    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: LocatedWrite.Kind)]
    /// What the action certainly does to other documents, if the checks are to follow it from rule to rule.
    func link(_ element: SourceNode, rule: Int) -> RuleLink?
}

/// A warning of one action.
typealias ActionWarning = (position: SourcePosition, code: RuleWarning.Code, message: String)

extension Action {
    static var synonyms: [String] { [] }
    static var keys: [String] { [] }
    static var untestedKeys: Set<String> { [] }
    static var isAllowedInRelated: Bool { true }
    static var isLast: Bool { false }
    static var forEachError: String? { nil }
    static var onlyActionErrors: OnlyActionErrors? { nil }
    static var phase: DecisionPhase { .editing }
    static var isOutside: Bool { false }
    static var writesOthers: Bool { false }

    var name: String { Self.name }
    var programs: [Int] { [] }
    var setsExpiry: Bool { false }
    var otherKeyspaces: Set<String> { [] }
    var outsideFiles: OutsideFiles { OutsideFiles() }

    func writeCanonical(of element: SourceNode, to writer: inout JSONWriter) { writer.raw(element.json) }

    /// Whether the action only changes the document.
    private static var edits: Bool { phase == .editing && !isOutside && !writesOthers }

    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        if Self.edits { prediction.mayEditEverything = true }
        if Self.isOutside || Self.writesOthers { prediction.writesOther = true }
    }

    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning] {
        Self.edits ? ActionCheck.writesDeleted(element, rule) : []
    }

    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] { [] }
    func computedMembers(_ argument: SourceNode) -> [ComputedMember] { [] }
    func jointlyComputedNames(_ argument: SourceNode) -> [String] { [] }
    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: LocatedWrite.Kind)] { [] }
    func link(_ element: SourceNode, rule: Int) -> RuleLink? { nil }
}

/// The phases of a decision.
enum DecisionPhase: Sendable {
    /// First, if the document has several leaf revisions.
    case resolving
    case editing
    /// Last: counts the document as the other rules left it.
    case counting
}

/// The messages for an action that must be the only one of its rule, and is not.
struct OnlyActionErrors: Sendable {
    /// The rule has other actions.
    let others: String
    /// The rule has `at`, or its file `every`.
    let time: String
    /// The rule fires on deletions.
    let deletions: String
    /// The rule has `changed`, `enter` or `leave`.
    let edges: String
}

/// Why an action was not carried out.
enum ActionError: Error, Equatable {
    /// A `test` of a JSON Patch failed: the rule does not fire.
    case doesNotApply
    /// The action needs the answer to this request, and can then be tried again. It has done nothing.
    case needs(DownloadRequest)
    case failed(String)

    init(_ error: JSONEditError) { self = .failed(error.description) }
}
