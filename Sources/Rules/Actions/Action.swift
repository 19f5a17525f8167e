internal import LosslessJSON

/// What a rule does to a document, or to others because of it.
enum Action: Sendable {
    case attach(AttachAction)
    case detach(DetachAction)
    case merge(MergeAction)
    case patch(PatchAction)
    case expire(ExpireAction)
    case delete
    case put(PutAction)
    case emit(EmitAction)
    case related(RelatedAction)
    case webhook(WebhookAction)
    case aggregate(AggregateAction)
    case resolve(ResolveAction)

    /// The keys that an action may have in a rule file.
    static let names = [
        "attach", "detach", "merge", "patch", "expire", "delete", "put", "related", "emit", "webhook", "aggregate",
        "resolve",
    ]

    /// Its key in rule files.
    var name: String {
        switch self {
        case .attach: "attach"
        case .detach: "detach"
        case .merge: "merge"
        case .patch: "patch"
        case .expire: "expire"
        case .delete: "delete"
        case .put: "put"
        case .emit: "emit"
        case .related: "related"
        case .webhook: "webhook"
        case .aggregate: "aggregate"
        case .resolve: "resolve"
        }
    }

    /// Whether its effect is outside the database.
    var isOutside: Bool {
        switch self {
        case .emit, .webhook: true
        case .attach, .detach, .merge, .patch, .expire, .delete, .put, .related, .aggregate, .resolve: false
        }
    }

    /// The jq programs whose outputs ``apply(to:_:)`` needs, as indexes in the ``ProgramList``.
    var programs: [Int] {
        switch self {
        case .attach(let action): action.programs
        case .detach(let action): action.place.template.programs
        case .merge(let action): action.patch.programs
        case .patch(let action): action.programs
        case .expire(let action): action.programs
        case .delete: []
        case .put(let action): action.programs
        case .emit(let action): action.programs
        case .related(let action): action.programs
        case .webhook(let action): action.programs
        case .aggregate(let action): action.programs
        // Its program runs over all leaves, in a pool of its own.
        case .resolve: []
        }
    }

    /// - Parameter outputs: For each of ``programs`` its outputs for the draft.
    /// - Throws: ``ActionError`` if the edit is ambiguous or its place does not exist.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        switch self {
        case .attach(let action): try action.apply(to: &draft, outputs)
        case .detach(let action): try action.apply(to: &draft, outputs)
        case .merge(let action): try action.apply(to: &draft, outputs)
        case .patch(let action): try action.apply(to: &draft, outputs)
        case .expire(let action): try action.apply(to: &draft, outputs)
        case .delete: try draft.delete()
        case .put(let action): try action.apply(to: &draft, outputs)
        case .emit(let action): try action.apply(to: &draft, outputs)
        case .related(let action): try action.apply(to: &draft, outputs)
        case .webhook(let action): try action.apply(to: &draft, outputs)
        case .aggregate(let action): try action.apply(to: &draft, outputs)
        case .resolve(let action): action.apply(to: &draft)
        }
    }
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

// MARK: - Reading

extension Action {
    /// Reads an action; nil, with errors, if it is not one.
    static func read(_ member: SourceNode.Member, _ reading: RuleReading) -> Action? {
        switch member.name {
        case "attach": return AttachAction(member.value, reading).map { .attach($0) }
        case "detach": return DetachAction(member.value, reading).map { .detach($0) }
        case "merge": return MergeAction(member.value, reading).map { .merge($0) }
        case "patch": return PatchAction(member.value, reading).map { .patch($0) }
        case "expire": return ExpireAction(member.value, reading).map { .expire($0) }
        case "delete": return readDelete(member.value, reading)
        case "put": return PutAction(member.value, reading).map { .put($0) }
        case "emit": return EmitAction(member.value, reading).map { .emit($0) }
        case "related": return RelatedAction(member.value, reading).map { .related($0) }
        case "webhook": return WebhookAction(member.value, reading).map { .webhook($0) }
        case "aggregate": return AggregateAction(member.value, reading).map { .aggregate($0) }
        case "resolve": return ResolveAction(member.value, reading).map { .resolve($0) }
        default: return nil
        }
    }

    private static func readDelete(_ node: SourceNode, _ reading: RuleReading) -> Action? {
        switch node.content {
        case .null, .bool(true): return .delete
        case .object(let members) where members.isEmpty: return .delete
        default:
            reading.errors.reportKind(of: node, "delete takes nothing", remedy: "write delete: {}")
            return nil
        }
    }
}
