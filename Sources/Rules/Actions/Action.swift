internal import LosslessJSON

/// What a rule does to a document, or to others because of it. ``ActionRegistry`` lists all.
///
/// Most members have a default, which is right for an action that only edits the document.
protocol Action: Sendable {
    // MARK: In the rule file

    /// Its key.
    static var name: String { get }
    /// Names that other tools use for it.
    static var synonyms: [String] { get }
    /// Whether it may stand in the `then` of `related`.
    static var mayBeRelated: Bool { get }
    /// Whether no action can follow it.
    static var isLast: Bool { get }
    /// Why it can't have `for_each`; nil: it can.
    static var elementsRefusal: String? { get }
    /// The messages of an action that must be the rule's only one; nil: others may stand beside it.
    static var soleRefusals: SoleRefusals? { get }

    /// Reads its value; nil, with errors, if that is wrong.
    init?(_ node: SourceNode, _ reading: RuleReading)

    // MARK: Decisions

    /// Which turn of a decision its rules take.
    static var turn: DecisionTurn { get }
    /// The jq programs whose outputs ``apply(to:_:)`` needs, as indexes in the ``ProgramList``.
    var programs: [Int] { get }

    /// - Parameter outputs: For each of ``programs`` its outputs for the draft.
    /// - Throws: ``ActionError`` if the edit is ambiguous or its place does not exist.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError)

    // MARK: What is asked about a rule set

    /// Whether its effect is outside the database.
    static var isOutside: Bool { get }
    /// Whether it writes documents other than the changed one.
    static var writesOthers: Bool { get }
    /// Whether it sets or removes the expiry of a document, related ones included.
    var setsExpiry: Bool { get }
    /// The keyspaces that it names.
    var otherKeyspaces: Set<String> { get }
    /// The files that it names to prove who the bot is.
    var outsideFiles: OutsideFiles { get }

    /// Writes what decisions depend on, for the hash of the rule set. By default, that is the list element as written.
    func writeCanonical(of element: SourceNode, to writer: inout JSONWriter)

    // MARK: Checks. The argument is its value in the rule file

    /// Says what it does to members of the document. By default, an action that edits it may touch all.
    func add(_ argument: SourceNode, to outlook: inout RuleOutlook)
    /// What a gateway will refuse, or what it does besides what it says. By default, what would write to a tombstone.
    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning]
    /// Whether it writes or removes one part of a blob and leaves the other.
    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message]
    /// The members whose values a program computes for each alone.
    func computedMembers(_ argument: SourceNode) -> [ComputedMember]
    /// The members that one program sets together.
    func jointlyComputedNames(_ argument: SourceNode) -> [String]
    /// The effects whose success depends on the kind of database.
    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: PlacedWrite.Kind)]
    /// What it certainly does to other documents, if it is to be followed from rule to rule.
    func link(_ element: SourceNode, rule: Int) -> RuleLink?
}

/// A warning of one action.
typealias ActionWarning = (position: SourcePosition, code: RuleWarning.Code, message: String)

extension Action {
    static var synonyms: [String] { [] }
    static var mayBeRelated: Bool { true }
    static var isLast: Bool { false }
    static var elementsRefusal: String? { nil }
    static var soleRefusals: SoleRefusals? { nil }
    static var turn: DecisionTurn { .editing }
    static var isOutside: Bool { false }
    static var writesOthers: Bool { false }

    var name: String { Self.name }
    var programs: [Int] { [] }
    var setsExpiry: Bool { false }
    var otherKeyspaces: Set<String> { [] }
    var outsideFiles: OutsideFiles { OutsideFiles() }

    func writeCanonical(of element: SourceNode, to writer: inout JSONWriter) { writer.raw(element.json) }

    /// Whether all that it does is to change the document.
    private static var edits: Bool { turn == .editing && !isOutside && !writesOthers }

    func add(_ argument: SourceNode, to outlook: inout RuleOutlook) {
        if Self.edits { outlook.touchesEverything = true }
        if Self.isOutside || Self.writesOthers { outlook.writesOther = true }
    }

    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning] {
        Self.edits ? ActionCheck.writesDeleted(element, rule) : []
    }

    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] { [] }
    func computedMembers(_ argument: SourceNode) -> [ComputedMember] { [] }
    func jointlyComputedNames(_ argument: SourceNode) -> [String] { [] }
    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: PlacedWrite.Kind)] { [] }
    func link(_ element: SourceNode, rule: Int) -> RuleLink? { nil }
}

/// The turns that rules take in a decision.
enum DecisionTurn: Sendable {
    /// First, if the document has several leaf revisions.
    case resolving
    case editing
    /// Last: what counts is the document as the other rules leave it.
    case counting
}

/// The messages for a rule with more than an action that must be alone in it.
struct SoleRefusals: Sendable {
    /// There are other actions.
    let others: String
    /// The rule has `at`, or its file `every`.
    let time: String
    /// The rule is for deletions.
    let deletions: String
}

/// Why an action was not carried out.
enum ActionError: Error, Equatable {
    /// A `test` of a JSON Patch failed: the rule does not fire.
    case doesNotApply
    /// The action needs the answer to this, and can then be tried again. It has done nothing.
    case needs(DownloadRequest)
    case failed(String)

    init(_ error: JSONEditError) { self = .failed(error.description) }
}
